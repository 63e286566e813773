//! Sounds for tests: tones, noises, and speech at any rate and level.

use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};
use std::sync::Mutex;

use crate::audio::{Encoding, SampleRate};

/// Speech of four synthetic voices, 16 000 Hz mono μ-law: `testdata/make.sh`.
pub(crate) const VOICES: [(&str, &[u8]); 4] = [
    ("agent", include_bytes!("../testdata/speech/agent.ulaw")),
    (
        "customer",
        include_bytes!("../testdata/speech/customer.ulaw"),
    ),
    ("german", include_bytes!("../testdata/speech/german.ulaw")),
    ("spanish", include_bytes!("../testdata/speech/spanish.ulaw")),
];
const VOICE_RATE: f64 = 16_000.0;

pub(crate) fn rate(hertz: u32) -> SampleRate {
    SampleRate::new(hertz).unwrap()
}

/// Samples with full scale -1 to 1, as 16 bits, clipped.
pub(crate) fn quantized(samples: &[f64]) -> Vec<i16> {
    samples
        .iter()
        .map(|sample| (sample * 32_768.0).round() as i16)
        .collect()
}

/// The speech of voice `index`, its own leading and trailing silence cut off, at `hertz`.
pub(crate) fn speech(index: usize, hertz: u32) -> Vec<f64> {
    // Every test wants the same few, and making one costs as much as the test.
    static MADE: Mutex<BTreeMap<(usize, u32), Vec<f64>>> = Mutex::new(BTreeMap::new());
    MADE.lock()
        .unwrap()
        .entry((index, hertz))
        .or_insert_with(|| make_speech(index, hertz))
        .clone()
}

fn make_speech(index: usize, hertz: u32) -> Vec<f64> {
    let mut samples = Vec::new();
    Encoding::Ulaw.decode(VOICES[index].1, &mut samples);
    let samples: Vec<_> = samples
        .iter()
        .map(|sample| f64::from(*sample) / 32_768.0)
        .collect();
    let samples = resampled(&samples, VOICE_RATE, f64::from(hertz));
    trimmed(&samples, hertz as usize / 100).to_vec()
}

/// From the first to the last piece of 10 ms that is within 30 dB of the loudest.
fn trimmed(samples: &[f64], piece: usize) -> &[f64] {
    let powers: Vec<_> = samples
        .chunks(piece)
        .map(|samples| samples.iter().map(|sample| sample * sample).sum::<f64>())
        .collect();
    let least = powers.iter().copied().fold(0.0, f64::max) / 1_000.0;
    let first = powers.iter().position(|power| *power > least).unwrap();
    let last = powers.iter().rposition(|power| *power > least).unwrap();
    &samples[first * piece..((last + 1) * piece).min(samples.len())]
}

/// `samples` at another rate, through a windowed sinc. With a false `from` it is played faster or slower.
pub(crate) fn resampled(samples: &[f64], from: f64, to: f64) -> Vec<f64> {
    const REACH: f64 = 16.0;
    let cutoff = (to / from).min(1.0) * 0.95;
    let kernel = |distance: f64| {
        let x = PI * distance * cutoff;
        let sinc = if x.abs() < 1e-9 { 1.0 } else { x.sin() / x };
        cutoff * sinc * (0.5 + 0.5 * (PI * distance / REACH).cos())
    };
    let length = (samples.len() as f64 * to / from) as usize;
    (0..length)
        .map(|n| {
            let at = n as f64 * from / to;
            let first = (at - REACH).ceil().max(0.0) as usize;
            let last = ((at + REACH).floor() as usize).min(samples.len() - 1);
            (first..=last)
                .map(|k| samples[k] * kernel(at - k as f64))
                .sum()
        })
        .collect()
}

pub(crate) fn silence(hertz: u32, msec: u32) -> Vec<f64> {
    vec![0.0; (u64::from(hertz) * u64::from(msec) / 1_000) as usize]
}

/// A sine of `frequency` hertz at `dbfs`, where 0 dBFS reaches full scale.
pub(crate) fn tone(hertz: u32, msec: u32, frequency: f64, dbfs: f64) -> Vec<f64> {
    let amplitude = gain(dbfs);
    let samples = silence(hertz, msec).into_iter().enumerate();
    samples
        .map(|(n, _)| amplitude * (TAU * frequency * n as f64 / f64::from(hertz)).sin())
        .collect()
}

/// White noise with a root mean square of `dbfs` (relative to full scale), the same for the same seed.
pub(crate) fn noise(hertz: u32, msec: u32, dbfs: f64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    // A uniform distribution over -1 to 1 has a mean square of a third.
    let amplitude = gain(dbfs) * 3_f64.sqrt();
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    silence(hertz, msec)
        .into_iter()
        .map(|_| amplitude * next())
        .collect()
}

/// Noise with equal power in every octave, made of white noise by a cascade of first-order smoothings.
pub(crate) fn pink_noise(hertz: u32, msec: u32, dbfs: f64, seed: u64) -> Vec<f64> {
    let mut low = [0.0; 5];
    let pink: Vec<_> = noise(hertz, msec, 0.0, seed)
        .into_iter()
        .map(|white| {
            for (octave, state) in low.iter_mut().enumerate() {
                let share = 0.5_f64.powi(2 * octave as i32);
                *state += share * (white - *state);
            }
            low.iter()
                .enumerate()
                .map(|(octave, state)| state * f64::from(1 << octave))
                .sum()
        })
        .collect();
    let rms = (pink.iter().map(|s: &f64| s * s).sum::<f64>() / pink.len() as f64).sqrt();
    pink.iter()
        .map(|sample| sample * gain(dbfs) / rms)
        .collect()
}

/// The sum of two sounds, as long as the longer one.
pub(crate) fn mixed(one: &[f64], other: &[f64]) -> Vec<f64> {
    let at = |sound: &[f64], n: usize| sound.get(n).copied().unwrap_or_default();
    (0..one.len().max(other.len()))
        .map(|n| at(one, n) + at(other, n))
        .collect()
}

pub(crate) fn gain(db: f64) -> f64 {
    10_f64.powf(db / 20.0)
}
