//! One channel at any rate, brought to 16 000 Hz: what voice activity is detected at.

mod half_band;
mod sinc;

use half_band::HalfBand;
use sinc::Sinc;

use super::SampleRate;

/// The rate that everything is brought to, in hertz.
pub const OUTPUT_RATE: u32 = 16_000;

/// Brings one mono channel to 16 000 Hz, 16-bit, without end and without drift.
///
/// 8 000 Hz, the rate of most calls, is doubled by a half-band filter; 16 000 Hz passes as it is; all other rates go
/// through a windowed-sinc resampler, which keeps back up to 4 ms of output.
#[derive(Debug)]
pub struct To16k(Kind);

#[derive(Debug)]
enum Kind {
    Double(HalfBand),
    Same,
    Sinc(Box<Sinc>),
}

impl To16k {
    /// A resampler for audio at `rate`, with silence before its first sample.
    #[must_use]
    pub fn new(rate: SampleRate) -> Self {
        Self(match rate.hertz() {
            8_000 => Kind::Double(HalfBand::new()),
            OUTPUT_RATE => Kind::Same,
            // The resampler refuses ratios that are not finite and positive; a sample rate cannot make one.
            hertz => Sinc::new(hertz).map_or(Kind::Same, |sinc| Kind::Sinc(Box::new(sinc))),
        })
    }

    /// Takes the next samples of the channel and appends what they become to `out`, 16-bit mono at 16 000 Hz.
    pub fn push(&mut self, mono: &[i16], out: &mut Vec<i16>) {
        match &mut self.0 {
            Kind::Double(half_band) => half_band.push(mono, out),
            Kind::Same => out.extend_from_slice(mono),
            Kind::Sinc(sinc) => sinc.push(mono, out),
        }
    }

    /// How many frames of output, at 16 000 Hz, a sound comes out later than it went in: 0 to 64.
    #[must_use]
    pub fn delay_frames(&self) -> u32 {
        match &self.0 {
            Kind::Double(_) => half_band::DELAY_FRAMES,
            Kind::Same => 0,
            Kind::Sinc(sinc) => sinc.delay_frames(),
        }
    }
}

#[cfg(test)]
mod tests;
