//! What one block of audio seems to be: the detector's score, held against loudness and against tones.
//!
//! The detector alone is deaf to three things. It takes dialling tones and other lasting tones for
//! speech, it needs a few blocks to fall silent after a sound has ended, and noise that has just begun unsettles it.
//! So a block counts only if it is loud enough, louder than what the last two seconds never fell below, and not
//! made of one or two steady sines.

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
        let power = mean_square(block);
        let least = self.bounds.quietest.max(self.noise.power() * ABOVE_NOISE);
        self.noise.push(power);
        if power < least || score < self.bounds.certain - DOUBT || tones::is_steady(block) {
            return Verdict::Silence;
        }
        if score < self.bounds.certain {
            Verdict::Perhaps
        } else {
            Verdict::Speech
        }
    }
}

fn mean_square(block: &[i16; BLOCK]) -> f32 {
    let sum: i64 = block
        .iter()
        .map(|sample| i64::from(i32::from(*sample) * i32::from(*sample)))
        .sum();
    sum as f32 / BLOCK as f32
}
