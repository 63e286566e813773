//! Audio as it travels: formats, codecs, files, and the cutting of a byte stream into whole samples.
//!
//! A *frame* is one sample of every channel. Positions in a call are counted in frames since its start.

mod codec;
pub mod framer;
pub mod g711;
pub mod resample;
pub mod wav;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Lowest sample rate accepted, in hertz: narrow-band telephony.
pub const LOWEST_RATE: u32 = 8_000;
/// Highest sample rate accepted, in hertz: nothing in speech needs more.
pub const HIGHEST_RATE: u32 = 48_000;

/// Samples per second of one channel, 8 000 to 48 000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SampleRate(u32);

impl SampleRate {
    /// Accepts a rate in hertz within 8 000 to 48 000, and nothing else.
    #[must_use]
    pub const fn new(hertz: u32) -> Option<Self> {
        if hertz >= LOWEST_RATE && hertz <= HIGHEST_RATE {
            Some(Self(hertz))
        } else {
            None
        }
    }

    /// The rate in hertz.
    #[must_use]
    pub const fn hertz(self) -> u32 {
        self.0
    }

    /// The time at which frame `frame` begins, in milliseconds, rounded down.
    #[must_use]
    pub const fn msec_of(self, frame: u64) -> u64 {
        frame * 1_000 / self.0 as u64
    }

    /// The number of frames in `msec` milliseconds, rounded down.
    #[must_use]
    pub const fn frames_in(self, msec: u64) -> u64 {
        msec * self.0 as u64 / 1_000
    }
}

/// How one sample is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Linear, 16-bit signed little-endian.
    Pcm,
    /// G.711 μ-law, one byte.
    Ulaw,
    /// G.711 A-law, one byte.
    Alaw,
}

impl Encoding {
    /// Bytes of one sample of one channel.
    #[must_use]
    pub const fn sample_bytes(self) -> usize {
        match self {
            Self::Pcm => 2,
            Self::Ulaw | Self::Alaw => 1,
        }
    }

    /// The byte that means silence.
    #[must_use]
    pub const fn silence_byte(self) -> u8 {
        match self {
            Self::Pcm => 0,
            Self::Ulaw => 0xFF,
            Self::Alaw => 0xD5,
        }
    }

    /// The name used on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pcm => "pcm",
            Self::Ulaw => "ulaw",
            Self::Alaw => "alaw",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The audio of one call: rate, channels, encoding. Samples of several channels are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct AudioFormat {
    /// Samples per second of each channel.
    pub rate: SampleRate,
    /// 1 (mono) or 2 (stereo).
    pub channels: u8,
    /// How a sample is written.
    pub encoding: Encoding,
}

impl AudioFormat {
    /// Bytes of one frame: one sample of every channel.
    #[must_use]
    pub const fn frame_bytes(self) -> usize {
        self.encoding.sample_bytes() * self.channels as usize
    }
}
