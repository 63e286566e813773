//! Any other rate, through rubato's windowed-sinc resampler.

use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{
    Async, FixedAsync, Resampler, ResamplerConstructionError, SincInterpolationParameters,
    SincInterpolationType, WindowFunction,
};

use super::OUTPUT_RATE;

/// Frames of output that are made at once: 4 ms, a quarter of what the voice detector takes at a time.
pub(super) const CHUNK_FRAMES: usize = 64;
/// Input samples that one of output is made of. At 48 000 Hz that is 1.3 ms; at 8 001 Hz it is just enough to
/// tell the top of the telephone band from its image.
const TAPS: usize = 64;
/// Points between two samples at which the filter is known; between those it is interpolated, which is exact
/// to about 70 dB. With the taps that is a table of 8 KiB for each channel.
const POINTS: usize = 32;

/// Full scale of 16 bits, to and from floats.
const FULL_SCALE: f32 = 32_768.0;

/// A resampler and the samples that it has not taken yet.
pub(super) struct Sinc {
    resampler: Async<f32>,
    waiting: Vec<f32>,
    made: [f32; CHUNK_FRAMES],
}

impl Sinc {
    /// # Errors
    /// Never for a rate from 8 000 to 48 000 Hz.
    pub(super) fn new(hertz: u32) -> Result<Self, ResamplerConstructionError> {
        let ratio = f64::from(OUTPUT_RATE) / f64::from(hertz);
        let parameters = SincInterpolationParameters::new(TAPS, WindowFunction::Hann2)
            .oversampling_factor(POINTS)
            .interpolation(SincInterpolationType::Linear);
        let resampler =
            Async::new_sinc(ratio, 1.0, &parameters, CHUNK_FRAMES, 1, FixedAsync::Output)?;
        let waiting = Vec::with_capacity(resampler.input_frames_max());
        Ok(Self {
            resampler,
            waiting,
            made: [0.0; CHUNK_FRAMES],
        })
    }

    pub(super) fn push(&mut self, mut mono: &[i16], out: &mut Vec<i16>) {
        loop {
            let missing = self
                .resampler
                .input_frames_next()
                .saturating_sub(self.waiting.len());
            let Some((taken, rest)) = mono.split_at_checked(missing) else {
                self.waiting.extend(mono.iter().map(to_float));
                return;
            };
            self.waiting.extend(taken.iter().map(to_float));
            self.make_chunk();
            out.extend(self.made.iter().map(to_sample));
            mono = rest;
        }
    }

    pub(super) fn delay_frames(&self) -> u32 {
        self.resampler.output_delay() as u32
    }

    fn make_chunk(&mut self) {
        let Self {
            resampler,
            waiting,
            made,
        } = self;
        let input = SequentialSlice::new(waiting.as_slice(), 1, waiting.len());
        let output = SequentialSlice::new_mut(made.as_mut_slice(), 1, CHUNK_FRAMES);
        let result = match (input, output) {
            (Ok(input), Ok(mut output)) => resampler
                .process_into_buffer(&input, &mut output, None)
                .is_ok(),
            _ => false,
        };
        // Only buffers of wrong sizes are refused, which these are not. Silence would keep the time right.
        if !result {
            made.fill(0.0);
        }
        waiting.clear();
    }
}

impl std::fmt::Debug for Sinc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sinc")
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

fn to_float(sample: &i16) -> f32 {
    f32::from(*sample) / FULL_SCALE
}

fn to_sample(float: &f32) -> i16 {
    // The cast saturates: an overshoot is clipped.
    (float * FULL_SCALE).round() as i16
}
