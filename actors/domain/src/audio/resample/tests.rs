use proptest::prelude::*;

use super::*;
use crate::sound;

/// Rates of telephony, of recordings, and one that shares no factor with 16 000.
const RATES: [u32; 9] = [
    8_000, 8_001, 11_025, 16_000, 22_050, 32_000, 44_100, 47_999, 48_000,
];

fn converted(hertz: u32, samples: &[i16]) -> (Vec<i16>, usize) {
    let mut to_16k = To16k::new(sound::rate(hertz));
    let mut out = Vec::new();
    to_16k.push(samples, &mut out);
    (out, to_16k.delay_frames() as usize)
}

/// The amplitude, 0 to 1, of `frequency` in the steady middle of `samples` at 16 000 Hz.
fn amplitude(samples: &[i16], frequency: f64) -> f64 {
    let middle = &samples[1_000..samples.len() - 1_000];
    let (mut re, mut im) = (0.0, 0.0);
    for (n, sample) in middle.iter().enumerate() {
        let phase = std::f64::consts::TAU * frequency * n as f64 / 16_000.0;
        // A window keeps a strong tone from leaking into the measurement of a weak one.
        let window = 1.0 - (std::f64::consts::TAU * (n as f64 + 0.5) / middle.len() as f64).cos();
        re += window * f64::from(*sample) * phase.cos();
        im += window * f64::from(*sample) * phase.sin();
    }
    re.hypot(im) * 2.0 / middle.len() as f64 / 32_768.0
}

#[test]
fn speech_frequencies_keep_their_level_at_every_rate() {
    for hertz in RATES {
        for frequency in [300.0, 1_000.0, 2_500.0, 3_200.0] {
            let tone = sound::quantized(&sound::tone(hertz, 500, frequency, -6.0));
            let level = amplitude(&converted(hertz, &tone).0, frequency) / sound::gain(-6.0);
            assert!(
                (0.94..1.03).contains(&level),
                "{hertz} Hz, tone of {frequency} Hz: {level}"
            );
        }
    }
}

#[test]
fn what_the_output_cannot_hold_does_not_fold_back_into_it() {
    for hertz in [32_000, 44_100, 48_000] {
        for frequency in [10_000.0, 12_500.0, 15_000.0] {
            let tone = sound::quantized(&sound::tone(hertz, 500, frequency, -6.0));
            let folded = amplitude(&converted(hertz, &tone).0, 16_000.0 - frequency);
            assert!(
                folded < 0.01,
                "{hertz} Hz, tone of {frequency} Hz: {folded}"
            );
        }
    }
}

#[test]
fn no_image_appears_above_what_narrow_band_audio_holds() {
    for (hertz, frequency) in [
        (8_000, 1_000.0),
        (8_000, 3_000.0),
        (8_001, 1_000.0),
        (11_025, 3_000.0),
    ] {
        let tone = sound::quantized(&sound::tone(hertz, 500, frequency, -6.0));
        let image = amplitude(&converted(hertz, &tone).0, f64::from(hertz) - frequency);
        assert!(image < 0.005, "{hertz} Hz, tone of {frequency} Hz: {image}");
    }
}

#[test]
fn a_click_comes_out_as_much_later_as_is_said() {
    for hertz in RATES {
        let mut samples = vec![0_i16; hertz as usize / 10];
        let at = hertz as usize / 20;
        samples[at] = 20_000;
        let (out, delay) = converted(hertz, &samples);
        let loudest = (0..out.len())
            .max_by_key(|n| out[*n].unsigned_abs())
            .unwrap();
        let expected = at as f64 * 16_000.0 / f64::from(hertz) + delay as f64;
        assert!(
            (loudest as f64 - expected).abs() <= 1.5,
            "{hertz} Hz: {loudest} instead of {expected}"
        );
    }
}

#[test]
fn a_minute_neither_gains_nor_loses_a_frame() {
    for hertz in RATES {
        let mut to_16k = To16k::new(sound::rate(hertz));
        let (second, mut out, mut made) = (vec![0; hertz as usize], Vec::new(), 0);
        for _ in 0..60 {
            to_16k.push(&second, &mut out);
            made += out.len();
            out.clear();
        }
        let missing = 60 * 16_000 - made;
        assert!(
            missing <= sinc::CHUNK_FRAMES + 64,
            "{hertz} Hz: {missing} frames missing"
        );
    }
}

#[test]
fn full_scale_is_clipped_not_wrapped() {
    for hertz in [8_000, 44_100] {
        let square: Vec<i16> = (0..8_000)
            .map(|n| if n / 11 % 2 == 0 { i16::MAX } else { i16::MIN })
            .collect();
        let (out, delay) = converted(hertz, &square);
        // An overshoot that wrapped would change its sign between two samples of the same half-wave.
        let steps = out[delay..].array_windows::<3>().filter(|[a, b, c]| {
            i32::from(*b) - i32::from(*a) > 40_000 && i32::from(*b) - i32::from(*c) > 40_000
        });
        assert_eq!(steps.count(), 0, "{hertz} Hz");
    }
}

proptest! {
    #[test]
    fn the_cutting_into_chunks_does_not_matter(
        samples in prop::collection::vec(any::<i16>(), 0..3_000),
        size in 1_usize..700,
        hertz in prop::sample::select(RATES.to_vec()),
    ) {
        let mut to_16k = To16k::new(sound::rate(hertz));
        let mut out = Vec::new();
        for chunk in samples.chunks(size) {
            to_16k.push(chunk, &mut out);
        }
        prop_assert_eq!(out, converted(hertz, &samples).0);
    }

    #[test]
    fn every_rate_has_a_resampler_of_its_own(hertz in 8_000_u32..=48_000) {
        let kind = To16k::new(sound::rate(hertz)).0;
        prop_assert_eq!(matches!(kind, Kind::Same), hertz == OUTPUT_RATE);
    }
}
