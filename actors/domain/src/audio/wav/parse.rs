//! Reading the head of a WAV file, up to the first byte of its audio.

use super::{WavEncoding, WavInfo, tag};

/// Bytes of `RIFF`, a size and `WAVE`.
const RIFF_BYTES: usize = 12;
/// Bytes of a chunk's name and size.
const CHUNK_HEAD_BYTES: u64 = 8;
/// The shortest `fmt ` chunk: up to the bits of a sample.
const SHORTEST_FORMAT: u64 = 16;
/// The part of a `fmt ` chunk that is looked at: up to the end of the sub-format of an extensible one.
const LONGEST_FORMAT: u64 = 40;
/// The sub-format of an extensible file is a tag in these 14 bytes: `KSDATAFORMAT_SUBTYPE_WAVEFORMATEX`.
const SUBFORMAT_REST: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71];

/// Why the head of a file could not be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WavFault {
    /// The slice ends before the audio begins; more of the file is needed.
    #[error("the file ends before its audio begins")]
    NeedMore,
    /// The first four bytes are not `RIFF`.
    #[error("not a WAV file: it does not begin with RIFF")]
    NotRiff,
    /// A RIFF file of another kind.
    #[error("not a WAV file: a RIFF file, but not of kind WAVE")]
    NotWave,
    /// The audio comes before, or without, its description.
    #[error("the file has no fmt chunk before its audio")]
    NoFormat,
    /// The description is cut short.
    #[error("the fmt chunk has {bytes} bytes, which is too few")]
    ShortFormat {
        /// Bytes that the chunk has.
        bytes: u32,
    },
    /// Compressed audio, or a kind that nobody here reads.
    #[error("format tag {tag:#06x} is not supported: only PCM, 32-bit float, mu-law and A-law are")]
    UnsupportedTag {
        /// The tag of the format, 1 for PCM.
        tag: u16,
    },
    /// An extensible file whose sub-format is no format tag.
    #[error("the sub-format of this extensible WAV file is not supported")]
    UnsupportedSubformat,
    /// A known tag with a sample size that it is not read with.
    #[error("format tag {tag:#06x} with {bits} bits a sample is not supported")]
    UnsupportedBits {
        /// The tag of the format.
        tag: u16,
        /// Bits of one sample.
        bits: u16,
    },
    /// No channels at all.
    #[error("the file says that it has no channels")]
    NoChannels,
    /// A sample rate of zero.
    #[error("the file says that its sample rate is 0")]
    NoRate,
    /// The size of a frame contradicts channels and bits.
    #[error("a frame is said to have {said} bytes, but channels and bits make {computed}")]
    FrameSize {
        /// The size in the file.
        said: u16,
        /// The size that channels and bits make.
        computed: u32,
    },
}

/// Reads the head of a WAV file from its first bytes.
///
/// Chunks other than `fmt ` and `data` are passed over. A `data` size of 0 or 0xFFFFFFFF, as programs write that
/// cannot go back, leaves [`WavInfo::data_bytes`] empty.
///
/// # Errors
/// [`WavFault::NeedMore`] while `head` ends before the audio does begin: the caller reads on, up to
/// a limit of its own. All other faults are final.
pub fn parse(head: &[u8]) -> Result<WavInfo, WavFault> {
    check_kind(head)?;
    let mut at = RIFF_BYTES as u64;
    let mut format = None;
    loop {
        let name: [u8; 4] = array_at(head, at)?;
        let bytes = u32::from_le_bytes(array_at(head, at + 4)?);
        let body = at + CHUNK_HEAD_BYTES;
        match &name {
            b"fmt " => format = Some(parse_format(head, body, bytes)?),
            b"data" => return describe(format, body, bytes),
            _ => {}
        }
        // A chunk of odd size is followed by one byte that its size does not count.
        at = body + u64::from(bytes) + u64::from(bytes % 2);
    }
}

fn check_kind(head: &[u8]) -> Result<(), WavFault> {
    let begins_with = |from: usize, name: &[u8]| {
        let seen = head.get(from..).unwrap_or_default();
        seen.iter()
            .zip(name)
            .all(|(seen, expected)| seen == expected)
    };
    if !begins_with(0, b"RIFF") {
        return Err(WavFault::NotRiff);
    }
    if !begins_with(8, b"WAVE") {
        return Err(WavFault::NotWave);
    }
    Ok(())
}

fn array_at<const N: usize>(head: &[u8], at: u64) -> Result<[u8; N], WavFault> {
    let at = usize::try_from(at).map_err(|_| WavFault::NeedMore)?;
    let rest = head.get(at..).ok_or(WavFault::NeedMore)?;
    rest.first_chunk().copied().ok_or(WavFault::NeedMore)
}

#[derive(Clone, Copy)]
struct Format {
    encoding: WavEncoding,
    channels: u16,
    rate: u32,
}

fn parse_format(head: &[u8], body: u64, bytes: u32) -> Result<Format, WavFault> {
    if u64::from(bytes) < SHORTEST_FORMAT {
        return Err(WavFault::ShortFormat { bytes });
    }
    let u16_at = |offset| array_at(head, body + offset).map(u16::from_le_bytes);
    let channels = u16_at(2)?;
    let rate = u32::from_le_bytes(array_at(head, body + 4)?);
    let (frame, bits) = (u16_at(12)?, u16_at(14)?);
    let tag = match u16_at(0)? {
        tag::EXTENSIBLE => subformat(head, body, bytes)?,
        tag => tag,
    };
    let encoding = encoding_of(tag, bits)?;
    if channels == 0 {
        return Err(WavFault::NoChannels);
    }
    if rate == 0 {
        return Err(WavFault::NoRate);
    }
    let computed = u32::from(channels) * encoding.sample_bytes() as u32;
    if u32::from(frame) != computed {
        return Err(WavFault::FrameSize {
            said: frame,
            computed,
        });
    }
    Ok(Format {
        encoding,
        channels,
        rate,
    })
}

fn subformat(head: &[u8], body: u64, bytes: u32) -> Result<u16, WavFault> {
    if u64::from(bytes) < LONGEST_FORMAT {
        return Err(WavFault::ShortFormat { bytes });
    }
    let [low, high, rest @ ..]: [u8; 16] = array_at(head, body + 24)?;
    if rest != SUBFORMAT_REST {
        return Err(WavFault::UnsupportedSubformat);
    }
    Ok(u16::from_le_bytes([low, high]))
}

fn encoding_of(tag: u16, bits: u16) -> Result<WavEncoding, WavFault> {
    match (tag, bits) {
        // Sizes between whole bytes are padded with zero bits below: a 12-bit sample reads as one of 16.
        (tag::PCM, 1..=8) => Ok(WavEncoding::Pcm8),
        (tag::PCM, 9..=16) => Ok(WavEncoding::Pcm16),
        (tag::PCM, 17..=24) => Ok(WavEncoding::Pcm24),
        (tag::PCM, 25..=32) => Ok(WavEncoding::Pcm32),
        (tag::FLOAT, 32) => Ok(WavEncoding::Float32),
        (tag::ULAW, 8) => Ok(WavEncoding::Ulaw),
        (tag::ALAW, 8) => Ok(WavEncoding::Alaw),
        (tag::PCM | tag::FLOAT | tag::ULAW | tag::ALAW, bits) => {
            Err(WavFault::UnsupportedBits { tag, bits })
        }
        (tag, _) => Err(WavFault::UnsupportedTag { tag }),
    }
}

fn describe(format: Option<Format>, data_start: u64, bytes: u32) -> Result<WavInfo, WavFault> {
    let Format {
        encoding,
        channels,
        rate,
    } = format.ok_or(WavFault::NoFormat)?;
    let data_bytes = match bytes {
        0 | u32::MAX => None,
        bytes => Some(u64::from(bytes)),
    };
    Ok(WavInfo {
        encoding,
        rate,
        channels,
        data_start,
        data_bytes,
    })
}
