//! What sounds like digits and is none.

use proptest::prelude::*;

use super::digits;
use crate::dtmf::bank::FREQUENCIES;
use crate::sound::{VOICES, gain, mixed, noise, pink_noise, resampled, silence, speech, tone};

const RATES: [u32; 3] = [8_000, 11_025, 48_000];

fn nothing_is_pressed(name: &str, hertz: u32, samples: &[f64]) {
    assert_eq!(digits(hertz, samples), "", "{name} at {hertz} Hz");
}

#[test]
fn noise_is_no_digit() {
    for hertz in RATES {
        for seed in 1..4 {
            nothing_is_pressed("white noise", hertz, &noise(hertz, 10_000, -20.0, seed));
            nothing_is_pressed("pink noise", hertz, &pink_noise(hertz, 10_000, -20.0, seed));
        }
    }
}

#[test]
fn speech_is_no_digit_at_any_pitch() {
    for (voice, (name, _)) in VOICES.iter().enumerate() {
        let words = speech(voice, 16_000);
        for percent in (70..=140).step_by(5) {
            let faster = resampled(&words, f64::from(percent), 50.0);
            nothing_is_pressed(&format!("{name} at {percent} %"), 8_000, &faster);
        }
        nothing_is_pressed(name, 48_000, &speech(voice, 48_000));
    }
}

#[test]
fn the_tones_of_the_exchange_are_no_digit() {
    for hertz in RATES {
        for (low, high) in [
            (350.0, 440.0),
            (440.0, 480.0),
            (480.0, 620.0),
            (400.0, 450.0),
            (1_400.0, 2_060.0),
        ] {
            let pair = mixed(
                &tone(hertz, 1_000, low, -13.0),
                &tone(hertz, 1_000, high, -13.0),
            );
            nothing_is_pressed("tones of the exchange", hertz, &pair);
        }
        for frequency in FREQUENCIES {
            nothing_is_pressed("a single tone", hertz, &tone(hertz, 500, frequency, -10.0));
        }
        let same_group = mixed(
            &tone(hertz, 500, 697.0, -13.0),
            &tone(hertz, 500, 852.0, -13.0),
        );
        nothing_is_pressed("two rows", hertz, &same_group);
    }
}

/// A tone with falling partials that glides through three octaves from `from` hertz on.
fn glide(hertz: u32, msec: u32, from: f64, partials: u32) -> Vec<f64> {
    let frames = silence(hertz, msec).len();
    let mut phase = 0.0;
    (0..frames)
        .map(|n| {
            phase += from * 8_f64.powf(n as f64 / frames as f64) / f64::from(hertz);
            (1..=partials)
                .map(|k| (std::f64::consts::TAU * phase * f64::from(k)).sin() / f64::from(k))
                .sum::<f64>()
                * 0.3
        })
        .collect()
}

#[test]
fn gliding_and_chiming_music_is_no_digit() {
    for hertz in [8_000, 44_100] {
        for msec in [400, 1_500, 6_000] {
            for partials in [1, 2, 3, 8] {
                nothing_is_pressed("a glide", hertz, &glide(hertz, msec, 200.0, partials));
            }
        }
        // A scale of tempered triads, each with its octave: the semitones lie up to 3 % from the tones of the keys.
        for semitone in 0..30 {
            let root = 220.0 * 2_f64.powf(f64::from(semitone) / 12.0);
            let chord = [1.0, 1.26, 1.498, 2.0].map(|ratio| tone(hertz, 300, root * ratio, -18.0));
            let chord = chord.iter().fold(Vec::new(), |sum, tone| mixed(&sum, tone));
            nothing_is_pressed("a chord", hertz, &chord);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scraps_of_speech_end_to_end_are_no_digit(
        scraps in prop::collection::vec((0_usize..4, 0_usize..20_000, 40_usize..4_000), 1..8), level in -20.0..6.0_f64,
    ) {
        let mut call = Vec::new();
        for (voice, from, length) in scraps {
            let words = speech(voice, 8_000);
            let from = from.min(words.len() - 1);
            call.extend(words[from..words.len().min(from + length)].iter().map(|sample| sample * gain(level)));
        }
        prop_assert_eq!(digits(8_000, &call), "");
    }
}
