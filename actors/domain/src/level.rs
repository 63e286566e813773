//! How loud one channel is: peak and mean power over fixed intervals.

use crate::audio::SampleRate;

/// The magnitude of full scale: a square wave between -32 768 and 32 767 is 0 dBFS in peak and in RMS.
const FULL_SCALE: f64 = 32_768.0;
/// The lowest level that is told, in dBFS. Silence has no logarithm; 16 bits span 20·log10(2^16) = 96.3 dB, so
/// nothing that the format can hold apart from silence lies this low (a single lowest bit is at -90.3).
pub const FLOOR_DBFS: f64 = -96.3;

/// The loudness of one channel over one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The first frame of the interval, counted since the start.
    pub start_frame: u64,
    /// The frame after its last.
    pub end_frame: u64,
    /// The largest magnitude, in dB relative to full scale, -96.3 to 0.
    pub peak_dbfs: f64,
    /// The root of the mean square, in dB relative to a full-scale square wave, -96.3 to 0.
    pub rms_dbfs: f64,
}

/// Measures one mono channel, interval by interval.
#[derive(Debug, Clone)]
pub struct Meter {
    interval_frames: u64,
    start_frame: u64,
    frames: u64,
    peak: u16,
    sum_of_squares: u64,
}

impl Meter {
    /// A meter that gives a reading for every `interval_msec` milliseconds of audio (for every frame where that is 0).
    #[must_use]
    pub fn new(rate: SampleRate, interval_msec: u32) -> Self {
        let interval_frames = rate.frames_in(u64::from(interval_msec)).max(1);
        Self {
            interval_frames,
            start_frame: 0,
            frames: 0,
            peak: 0,
            sum_of_squares: 0,
        }
    }

    /// Takes the next samples of the channel and appends a reading for every interval that they complete.
    pub fn push(&mut self, mut mono: &[i16], out: &mut Vec<Reading>) {
        while !mono.is_empty() {
            let missing = usize::try_from(self.interval_frames - self.frames).unwrap_or(usize::MAX);
            let (taken, rest) = mono.split_at(missing.min(mono.len()));
            self.measure(taken);
            if self.frames == self.interval_frames {
                out.push(self.take_reading());
            }
            mono = rest;
        }
    }

    /// Appends the reading of the last, unfinished interval, if it has begun.
    pub fn finish(&mut self, out: &mut Vec<Reading>) {
        if self.frames > 0 {
            out.push(self.take_reading());
        }
    }

    fn measure(&mut self, samples: &[i16]) {
        let mut peak = self.peak;
        let mut sum = 0_u64;
        for sample in samples {
            let magnitude = sample.unsigned_abs();
            peak = peak.max(magnitude);
            sum += u64::from(magnitude) * u64::from(magnitude);
        }
        self.peak = peak;
        self.sum_of_squares = self.sum_of_squares.saturating_add(sum);
        self.frames += samples.len() as u64;
    }

    fn take_reading(&mut self) -> Reading {
        let rms = (self.sum_of_squares as f64 / self.frames as f64).sqrt();
        let reading = Reading {
            start_frame: self.start_frame,
            end_frame: self.start_frame + self.frames,
            peak_dbfs: dbfs(f64::from(self.peak)),
            rms_dbfs: dbfs(rms),
        };
        *self = Self {
            interval_frames: self.interval_frames,
            start_frame: reading.end_frame,
            frames: 0,
            peak: 0,
            sum_of_squares: 0,
        };
        reading
    }
}

fn dbfs(magnitude: f64) -> f64 {
    // The logarithm of 0 is minus infinity, which the floor lifts too.
    (20.0 * (magnitude / FULL_SCALE).log10()).max(FLOOR_DBFS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn readings(interval_msec: u32, chunks: &[&[i16]]) -> Vec<Reading> {
        let mut meter = Meter::new(SampleRate::new(8_000).unwrap(), interval_msec);
        let mut out = Vec::new();
        for chunk in chunks {
            meter.push(chunk, &mut out);
        }
        meter.finish(&mut out);
        out
    }

    fn square(magnitude: i16) -> Vec<i16> {
        (0..800)
            .map(|n| if n % 16 < 8 { magnitude } else { -magnitude })
            .collect()
    }

    fn sine(amplitude: f64) -> Vec<i16> {
        (0..800)
            .map(|n| {
                ((f64::from(n) / 8.0 * std::f64::consts::TAU).sin() * amplitude).round() as i16
            })
            .collect()
    }

    #[test]
    fn levels_are_relative_to_a_full_scale_square_wave() {
        let table = [
            ("the loudest square wave", vec![i16::MIN; 800], 0.0, 0.0),
            (
                "a square wave at half of full scale",
                square(16_384),
                -6.02,
                -6.02,
            ),
            ("a sine at half of full scale", sine(16_384.0), -6.02, -9.03),
            ("the lowest bit", square(1), -90.31, -90.31),
            ("silence", vec![0; 800], -96.3, -96.3),
        ];
        for (name, samples, peak, rms) in table {
            let [reading] = readings(100, &[&samples])[..] else {
                panic!("{name}: not one reading")
            };
            assert!(
                (reading.peak_dbfs - peak).abs() < 0.01,
                "{name}: {reading:?}"
            );
            assert!((reading.rms_dbfs - rms).abs() < 0.01, "{name}: {reading:?}");
        }
    }

    #[test]
    fn every_interval_is_told_and_the_last_partial_one_at_the_end() {
        let spans: Vec<_> = readings(20, &[&[0; 100], &[0; 300], &[0; 50]])
            .iter()
            .map(|reading| (reading.start_frame, reading.end_frame))
            .collect();
        assert_eq!(spans, [(0, 160), (160, 320), (320, 450)]);
    }

    #[test]
    fn audio_that_ends_with_an_interval_has_no_empty_reading_after_it() {
        assert_eq!(readings(20, &[&[0; 320]]).len(), 2);
        assert_eq!(readings(20, &[]).len(), 0);
    }

    #[test]
    fn an_interval_knows_nothing_of_the_one_before() {
        let [loud, quiet] = readings(20, &[&[20_000; 160], &[0; 160]])[..] else {
            panic!("not two readings")
        };
        assert!(loud.peak_dbfs > -5.0);
        assert_eq!(quiet.peak_dbfs, FLOOR_DBFS);
    }

    proptest! {
        #[test]
        fn the_cutting_into_chunks_does_not_matter(
            samples in prop::collection::vec(any::<i16>(), 1..2_000), size in 1_usize..500,
        ) {
            let chunks: Vec<_> = samples.chunks(size).collect();
            prop_assert_eq!(readings(10, &chunks), readings(10, &[&samples]));
        }
    }
}
