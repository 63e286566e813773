//! What one block of audio seems to be: the detector's score, held against loudness and against tones.
//!
//! The detector alone is easily deceived. It takes dialling tones and other lasting tones for speech, it
//! needs a few blocks to fall silent after a sound has ended, and noise that has just begun unsettles it. So a block
//! counts only if it is loud enough, louder than what the last two seconds never fell below, and not
//! made of one or two steady sines; and it is certain only if it is no mere hiss.

use super::lanes::product;
use super::noise_floor::NoiseFloor;
use super::segmenter::Verdict;
use super::tones;

/// Samples of one block: 16 ms at 16 000 Hz, what the detector takes at a time.
pub(super) const BLOCK: usize = 256;
/// How far below the score that is certain a doubtful one may lie.
const DOUBT: f32 = 0.15;
/// How much louder than the noise a block has to be: 4 dB. The power of white noise in one block strays from
/// its mean by less than a quarter of that.
const ABOVE_NOISE: f32 = 2.5;

/// Samples between the two that are compared to tell a voice from a hiss. At this distance, half of a period at
/// 4 000 Hz, noise is unlike itself in both bands: that of 8 000 Hz has its first zero of correlation here.
const VOICE_DISTANCE: usize = 2;
/// The correlation at that distance from which there is a voice: three quarters of the certain blocks of speech
/// have more than 0.57, the rest being mostly consonants, and white noise has 0.22 at most.
const VOICE_LIKENESS: f32 = 0.3;

/// The bounds that follow from the sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// The score from which a block is certainly speech.
    certain: f32,
    /// The mean square below which a block is silence, whatever its score.
    quietest: f32,
}

impl Bounds {
    /// The bounds for a sensitivity from 0 to 1: a score of 0.9 to 0.3, and -45 to -75 dBFS.
    pub(super) fn new(sensitivity: f32) -> Self {
        let sensitivity = if sensitivity.is_nan() {
            0.5
        } else {
            sensitivity.clamp(0.0, 1.0)
        };
        let quietest_dbfs = -45.0 - 30.0 * sensitivity;
        Self {
            certain: 0.9 - 0.6 * sensitivity,
            quietest: 32_768.0 * 32_768.0 * 10_f32.powf(quietest_dbfs / 10.0),
        }
    }
}

/// Judges the blocks of one channel, in order.
#[derive(Debug)]
pub(super) struct Judge {
    bounds: Bounds,
    noise: NoiseFloor,
}

impl Judge {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            noise: NoiseFloor::new(),
        }
    }

    /// Changes the bounds from the next block on; what is known of the noise stays.
    pub(super) const fn set(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// The verdict on the next block, which the detector gave `score`, 0 to 1.
    pub(super) fn judge(&mut self, block: &[i16; BLOCK], score: f32) -> Verdict {
        let samples = block.map(f32::from);
        let squares = product(&samples, &samples);
        let power = squares / BLOCK as f32;
        let least = self.bounds.quietest.max(self.noise.power() * ABOVE_NOISE);
        self.noise.push(power);
        if power < least || tones::is_steady(&samples) {
            return Verdict::Silence;
        }
        if score < self.bounds.certain - DOUBT {
            return Verdict::Sound;
        }
        if score < self.bounds.certain || !has_voice(&samples, squares) {
            return Verdict::Perhaps;
        }
        Verdict::Speech
    }
}

/// Whether neighbouring samples resemble each other, as where a larynx vibrates, and not where air only hisses.
fn has_voice(samples: &[f32; BLOCK], squares: f32) -> bool {
    let distant = samples.get(VOICE_DISTANCE..).unwrap_or_default();
    product(samples, distant) > VOICE_LIKENESS * squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sound;

    /// The verdict on the last block of a sound at 16 000 Hz, all of whose blocks score the same.
    fn verdict(samples: &[f64], score: f32, sensitivity: f32) -> Verdict {
        let samples = sound::quantized(samples);
        let mut judge = Judge::new(Bounds::new(sensitivity));
        let blocks = samples.as_chunks::<BLOCK>().0;
        blocks
            .iter()
            .map(|block| judge.judge(block, score))
            .last()
            .unwrap()
    }

    /// A tenth of a second of a voice at `dbfs`, rich in partials, after as much silence.
    fn voice(dbfs: f64) -> Vec<f64> {
        let partials = (1..12)
            .map(|k| sound::tone(16_000, 100, 143.0 * f64::from(k), dbfs - 6.0 - f64::from(k)));
        let voice = partials.fold(Vec::new(), |sum, partial| sound::mixed(&sum, &partial));
        [sound::silence(16_000, 100), voice].concat()
    }

    #[test]
    fn the_score_decides_what_a_voice_is() {
        let table = [
            (0.5, 0.61, Verdict::Speech),
            (0.5, 0.59, Verdict::Perhaps),
            (0.5, 0.46, Verdict::Perhaps),
            (0.5, 0.44, Verdict::Sound),
            (0.0, 0.89, Verdict::Perhaps),
            (0.0, 0.91, Verdict::Speech),
            (1.0, 0.31, Verdict::Speech),
            (7.0, 0.31, Verdict::Speech),
            (f32::NAN, 0.61, Verdict::Speech),
            (f32::NAN, 0.59, Verdict::Perhaps),
        ];
        for (sensitivity, score, expected) in table {
            assert_eq!(
                verdict(&voice(-20.0), score, sensitivity),
                expected,
                "{sensitivity} {score}"
            );
        }
    }

    #[test]
    fn what_is_too_quiet_for_the_sensitivity_is_silence() {
        for (sensitivity, dbfs) in [(0.0, -47.0), (0.5, -62.0), (1.0, -77.0)] {
            assert_eq!(verdict(&voice(dbfs), 1.0, sensitivity), Verdict::Silence);
            assert_eq!(
                verdict(&voice(dbfs + 10.0), 1.0, sensitivity),
                Verdict::Speech
            );
        }
    }

    #[test]
    fn what_is_no_louder_than_before_is_silence_whatever_its_score() {
        let lasting = [voice(-20.0), voice(-20.0)[1_600..].to_vec()].concat();
        assert_eq!(verdict(&lasting[1_600..], 1.0, 0.5), Verdict::Silence);
    }

    #[test]
    fn a_tone_is_silence_and_a_hiss_is_never_certain() {
        let after_silence = |sound: Vec<f64>| [sound::silence(16_000, 100), sound].concat();
        let tone = after_silence(sound::tone(16_000, 100, 440.0, -10.0));
        assert_eq!(verdict(&tone, 1.0, 0.5), Verdict::Silence);
        let hiss = after_silence(sound::noise(16_000, 100, -20.0, 2));
        assert_eq!(verdict(&hiss, 1.0, 0.5), Verdict::Perhaps);
    }
}
