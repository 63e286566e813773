//! What the calls of a load test say: 5 s of μ-law that repeat, encoded once.
//!
//! 3 s sound somewhat like a voice (harmonics of 120 Hz, in syllables), 2 s are near silence, so that a node
//! that looks for speech has something to do. Every chunk is a whole message of the interface.

use std::f32::consts::TAU;

use bytes::Bytes;
use callwright_domain::audio::g711;

use super::plan::Plan;
use super::wire::framed;
use crate::client::message;
use crate::client::pace::CHUNKS_PER_SECOND;

/// Chunks until the signal repeats.
const CHUNKS: u64 = 5 * CHUNKS_PER_SECOND;
/// Seconds of each repetition that sound like speech.
const VOICED_SECS: f32 = 3.0;
/// The pitch of the voice, in hertz.
const PITCH: f32 = 120.0;
/// Syllables a second.
const SYLLABLES: f32 = 4.0;
/// Full scale of a harmonic: with all of them the signal stays below -6 dBFS.
const LOUDNESS: f32 = 3_500.0;

/// The messages of one repetition, each with `chunk_bytes` of audio.
pub(super) fn chunks(chunk_bytes: usize) -> Vec<Bytes> {
    let rate = Plan::sample_rate(chunk_bytes);
    let mut position = 0_u32;
    (0..CHUNKS)
        .map(|_| {
            let audio: Bytes = (0..chunk_bytes)
                .map(|_| {
                    position = position.wrapping_add(1);
                    g711::ulaw_encode(sample(seconds(position, rate)))
                })
                .collect();
            framed(&message::audio(audio))
        })
        .collect()
}

/// The chunk for round `round` of the test.
pub(super) fn chunk_of(signal: &[Bytes], round: u64) -> Option<&Bytes> {
    signal.get(usize::try_from(round % CHUNKS).ok()?)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a phase that is off by 10⁻⁷ is not heard"
)]
fn seconds(position: u32, rate: u32) -> f32 {
    position as f32 / rate as f32
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the amplitude is bounded by the constants above"
)]
fn sample(seconds: f32) -> i16 {
    if seconds > VOICED_SECS {
        return 0;
    }
    let syllable = (seconds * SYLLABLES * TAU / 2.0).sin().abs();
    let harmonics = [1.0_f32, 2.0, 3.0, 5.0, 8.0, 13.0];
    let voice: f32 = harmonics
        .iter()
        .map(|harmonic| (seconds * PITCH * harmonic * TAU).sin() / harmonic.sqrt())
        .sum();
    (voice * syllable * LOUDNESS) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_holds_the_audio_asked_for() {
        for bytes in [1, 160, 960] {
            let signal = chunks(bytes);
            assert_eq!(signal.len(), 250);
            assert!(
                signal
                    .iter()
                    .all(|chunk| chunk.len() > bytes && chunk.len() < bytes + 16)
            );
        }
    }

    #[test]
    fn the_signal_is_loud_but_not_too_loud_then_silent() {
        let loudest = |from: u32| {
            (from..from + 800)
                .map(|n| sample(seconds(n, 8_000)).unsigned_abs())
                .max()
        };
        assert!(
            (6_000..16_384).contains(&loudest(800).unwrap()),
            "{:?}",
            loudest(800)
        );
        assert_eq!(loudest(32_000), Some(0));
    }
}
