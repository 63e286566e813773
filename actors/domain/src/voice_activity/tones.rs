//! Tells dialling tones, ringing tones, DTMF and whistles from speech.
//!
//! Samples of two sines, taken at equal distances, obey a symmetric recurrence whatever the sines' levels and phases:
//! `x[n-2k] + x[n+2k] = a·(x[n-k] + x[n+k]) + b·x[n]`, with `a` and `b` that depend on the two frequencies alone.
//! So the best `a` and `b` are fitted by least squares, and where they leave next to nothing unexplained the
//! block holds one or two steady sines. Voices have more partials than two, and a pitch that moves.

use super::judge::BLOCK;
use super::lanes::{LANES, Lanes, accumulate, sum};

/// The distance `k` of the samples: half of a period at 1 000 Hz, so that the telephone's tones, from 300 to
/// 1 700 Hz, lie far apart.
const SPACING: usize = 8;
/// Samples `n` that have all their neighbours within the block.
const MIDDLE: usize = BLOCK - 4 * SPACING;
/// One in so many groups of samples is looked at: the recurrence holds everywhere, so half of them tell enough.
const EVERY: usize = 2;
/// The part of the power that two sines may leave unexplained. What G.711 adds to a tone leaves less; of loud
/// blocks of speech hardly 1 in 50 does.
const UNEXPLAINED: f32 = 0.01;
/// Sums of products of `x[n]`, `y = x[n-k] + x[n+k]` and `z = x[n-2k] + x[n+2k]` over a block.
#[derive(Default)]
struct Products {
    xx: Lanes,
    yy: Lanes,
    zz: Lanes,
    xy: Lanes,
    xz: Lanes,
    yz: Lanes,
}

/// Whether `samples` are made of one or two sines that last all through it, and of hardly anything else.
pub(super) fn is_steady(samples: &[f32; BLOCK]) -> bool {
    let at = |offset: usize| {
        samples
            .get(offset..offset + MIDDLE)
            .unwrap_or_default()
            .as_chunks::<LANES>()
            .0
    };
    let mut sums = Products::default();
    let nearer = at(SPACING).iter().zip(at(3 * SPACING));
    let farther = at(0).iter().zip(at(4 * SPACING));
    let all = at(2 * SPACING).iter().zip(nearer).zip(farther);
    for ((x, near), far) in all.step_by(EVERY) {
        sums.add(x, near, far);
    }
    sums.unexplained() < UNEXPLAINED
}

impl Products {
    fn add(&mut self, x: &Lanes, near: (&Lanes, &Lanes), far: (&Lanes, &Lanes)) {
        let y = sum(near.0, near.1);
        let z = sum(far.0, far.1);
        accumulate(&mut self.xx, x, x);
        accumulate(&mut self.yy, &y, &y);
        accumulate(&mut self.zz, &z, &z);
        accumulate(&mut self.xy, x, &y);
        accumulate(&mut self.xz, x, &z);
        accumulate(&mut self.yz, &y, &z);
    }

    /// The power of `z` that no `a` and `b` explain, relative to the most that it can have.
    fn unexplained(&self) -> f32 {
        let [xx, yy, zz, xy, xz, yz] = [&self.xx, &self.yy, &self.zz, &self.xy, &self.xz, &self.yz]
            .map(|lanes| lanes.iter().sum::<f32>());
        // One sine alone makes x and y proportional. A little on the diagonal keeps the equations solvable.
        let ridge = 1e-5 * xx + 1.0;
        let (xx, yy) = (xx + ridge, yy + ridge);
        let determinant = xx * yy - xy * xy;
        let a = (yz * xx - xz * xy) / determinant;
        let b = (xz * yy - yz * xy) / determinant;
        (zz - a * yz - b * xz) / (4.0 * xx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::Encoding;
    use crate::sound;

    /// How many of the blocks of a sound at 16 000 Hz are steady, and how many there are.
    fn steady(samples: &[i16]) -> (usize, usize) {
        let blocks = samples.as_chunks::<BLOCK>().0;
        (
            blocks
                .iter()
                .filter(|block| is_steady(&block.map(f32::from)))
                .count(),
            blocks.len(),
        )
    }

    fn through_ulaw(samples: &[i16]) -> Vec<i16> {
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        Encoding::Ulaw.encode(samples, &mut bytes);
        Encoding::Ulaw.decode(&bytes, &mut back);
        back
    }

    #[test]
    fn single_tones_are_steady_at_every_frequency_and_through_g711() {
        for frequency in (100..4_000).step_by(50) {
            for dbfs in [-40.0, -20.0, -3.0] {
                let tone = sound::quantized(&sound::tone(16_000, 320, f64::from(frequency), dbfs));
                assert_eq!(
                    steady(&through_ulaw(&tone)),
                    (20, 20),
                    "{frequency} Hz at {dbfs} dBFS"
                );
            }
        }
    }

    #[test]
    fn the_pairs_of_tones_of_a_telephone_are_steady() {
        let pairs = [
            (350.0, 440.0),
            (440.0, 480.0),
            (480.0, 620.0),
            (400.0, 450.0),
            (697.0, 1_209.0),
            (941.0, 1_633.0),
        ];
        for (low, high) in pairs {
            let pair = sound::mixed(
                &sound::tone(16_000, 320, low, -13.0),
                &sound::tone(16_000, 320, high, -15.0),
            );
            assert_eq!(
                steady(&through_ulaw(&sound::quantized(&pair))),
                (20, 20),
                "{low} and {high} Hz"
            );
        }
    }

    #[test]
    fn noise_is_not_steady() {
        let noise = sound::quantized(&sound::noise(16_000, 4_000, -20.0, 5));
        assert_eq!(steady(&noise), (0, 250));
        let pink = sound::quantized(&sound::pink_noise(16_000, 4_000, -20.0, 5));
        assert_eq!(steady(&pink).0, 0);
    }

    #[test]
    fn speech_is_hardly_ever_steady() {
        for voice in 0..4 {
            let speech = sound::quantized(&sound::speech(voice, 16_000));
            let loud: Vec<_> = speech
                .as_chunks::<BLOCK>()
                .0
                .iter()
                .filter(|block| block.iter().any(|sample| sample.unsigned_abs() > 1_000))
                .collect();
            let steady = loud
                .iter()
                .filter(|block| is_steady(&block.map(f32::from)))
                .count();
            assert!(
                loud.len() > 100 && steady * 50 <= loud.len(),
                "voice {voice}: {steady} of {}",
                loud.len()
            );
        }
    }
}
