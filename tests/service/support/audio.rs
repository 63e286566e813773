//! Audio to stream: the sample call, and tones of known lengths.

use std::f64::consts::TAU;
use std::path::PathBuf;

/// A file of `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// The `data` chunk of a WAV file: its audio, byte for byte.
pub(crate) fn wav_data(file: &[u8]) -> &[u8] {
    assert_eq!(&file[..4], b"RIFF");
    let mut rest = &file[12..];
    loop {
        let (head, body) = rest.split_at(8);
        let size = u32::from_le_bytes(head[4..].try_into().unwrap()) as usize;
        if &head[..4] == b"data" {
            return &body[..size];
        }
        rest = &body[size + size % 2..];
    }
}

/// The audio of the sample call: stereo μ-law, 8 000 Hz.
pub(crate) fn fixture_audio() -> Vec<u8> {
    wav_data(&std::fs::read(fixture("call.wav")).unwrap()).to_vec()
}

/// Samples of a sum of sines, each a third of full scale.
pub(crate) fn tone(rate: u32, msec: u32, frequencies: &[f64]) -> Vec<i16> {
    let count = u64::from(rate) * u64::from(msec) / 1000;
    let sample = |index: u64| {
        let time = index as f64 / f64::from(rate);
        let sum: f64 = frequencies
            .iter()
            .map(|hertz| (TAU * hertz * time).sin())
            .sum();
        (sum * f64::from(i16::MAX) / 3.0) as i16
    };
    (0..count).map(sample).collect()
}

/// Samples as 16-bit little-endian bytes.
pub(crate) fn pcm(samples: &[i16]) -> Vec<u8> {
    samples
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect()
}
