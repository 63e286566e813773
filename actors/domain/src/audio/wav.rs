//! WAV files: what their head says, their samples in a form that the wire carries, and heads for recordings.
//!
//! Everything works on slices; who opens, reads and writes the file is not known here. The layout is
//! that of the Multimedia Programming Interface (IBM and Microsoft, 1991) with the later
//! `WAVE_FORMAT_EXTENSIBLE`.

mod head;
mod parse;

pub use head::{LARGEST_DATA, header, header_bytes};
pub use parse::{WavFault, parse};

use super::Encoding;

/// The format tags that the files of telephony and speech use.
mod tag {
    pub(super) const PCM: u16 = 1;
    pub(super) const FLOAT: u16 = 3;
    pub(super) const ALAW: u16 = 6;
    pub(super) const ULAW: u16 = 7;
    pub(super) const EXTENSIBLE: u16 = 0xFFFE;
}

/// How a WAV file writes one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WavEncoding {
    /// Linear, 8-bit unsigned: silence is 128.
    Pcm8,
    /// Linear, 16-bit signed little-endian.
    Pcm16,
    /// Linear, 24-bit signed little-endian.
    Pcm24,
    /// Linear, 32-bit signed little-endian.
    Pcm32,
    /// 32-bit IEEE floating point, full scale -1 to 1.
    Float32,
    /// G.711 μ-law, one byte.
    Ulaw,
    /// G.711 A-law, one byte.
    Alaw,
}

impl WavEncoding {
    /// Bytes of one sample of one channel, 1 to 4.
    #[must_use]
    pub const fn sample_bytes(self) -> usize {
        match self {
            Self::Pcm8 | Self::Ulaw | Self::Alaw => 1,
            Self::Pcm16 => 2,
            Self::Pcm24 => 3,
            Self::Pcm32 | Self::Float32 => 4,
        }
    }
}

/// What the head of a WAV file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WavInfo {
    /// How one sample is written.
    pub encoding: WavEncoding,
    /// Samples per second of each channel, any number but 0.
    pub rate: u32,
    /// Channels, interleaved, 1 or more.
    pub channels: u16,
    /// Where the audio begins, in bytes from the start of the file.
    pub data_start: u64,
    /// Bytes of audio; none where the head does not know, and the audio goes on to the end of the file.
    ///
    /// A program that could not go back to correct the head may have left a size larger than the file:
    /// the end of the file always ends the audio.
    pub data_bytes: Option<u64>,
}

impl WavInfo {
    /// Bytes of one frame in the file: one sample of every channel.
    #[must_use]
    pub const fn frame_bytes(&self) -> usize {
        self.encoding.sample_bytes() * self.channels as usize
    }

    /// The encoding that [`convert`](Self::convert) writes: G.711 stays what it is, all else becomes pcm.
    #[must_use]
    pub const fn wire_encoding(&self) -> Encoding {
        match self.encoding {
            WavEncoding::Ulaw => Encoding::Ulaw,
            WavEncoding::Alaw => Encoding::Alaw,
            _ => Encoding::Pcm,
        }
    }

    /// Appends the samples of `raw`, bytes of the file's audio, to `into` as the wire carries them.
    ///
    /// Longer samples lose their low bits, floats are rounded and clipped to full scale (and a float that is not a
    /// number is silence). An incomplete sample at the end of `raw` is ignored.
    pub fn convert(&self, raw: &[u8], into: &mut Vec<u8>) {
        match self.encoding {
            WavEncoding::Ulaw | WavEncoding::Alaw => into.extend_from_slice(raw),
            WavEncoding::Pcm16 => {
                let whole = raw.len() - raw.len() % 2;
                into.extend_from_slice(raw.get(..whole).unwrap_or_default());
            }
            WavEncoding::Pcm8 => into.extend(raw.iter().flat_map(|byte| [0, byte ^ 0x80])),
            WavEncoding::Pcm24 => into.extend(
                raw.as_chunks::<3>()
                    .0
                    .iter()
                    .flat_map(|[_, low, high]| [*low, *high]),
            ),
            WavEncoding::Pcm32 => into.extend(
                raw.as_chunks::<4>()
                    .0
                    .iter()
                    .flat_map(|[.., low, high]| [*low, *high]),
            ),
            WavEncoding::Float32 => into.extend(raw.as_chunks::<4>().0.iter().flat_map(from_float)),
        }
    }
}

fn from_float(bytes: &[u8; 4]) -> [u8; 2] {
    // A cast from a float saturates, and turns what is not a number into 0.
    ((f32::from_le_bytes(*bytes) * 32_768.0).round() as i16).to_le_bytes()
}

#[cfg(test)]
mod tests;
