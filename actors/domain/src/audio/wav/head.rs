//! Writing the head of a recording.

use super::tag;
use crate::audio::{AudioFormat, Encoding};

/// `RIFF`, its size, `WAVE`, and the names and sizes of `fmt ` and `data`.
const FRAMEWORK_BYTES: usize = 28;
/// A `fmt ` chunk of plain PCM.
const PCM_FORMAT_BYTES: usize = 16;
/// A `fmt ` chunk of anything else ends with the size of an extension, here 0.
const G711_FORMAT_BYTES: usize = 18;
/// Everything but PCM has a `fact` chunk with the number of frames.
const FACT_CHUNK_BYTES: usize = 12;

/// The most audio that one file can hold, in bytes: its sizes are of 32 bits, and the largest means "unknown".
///
/// Even, and a whole number of frames of every format.
pub const LARGEST_DATA: u32 = u32::MAX - 63;

/// Bytes of the head that [`header`] makes: 44 for pcm, 58 for G.711.
#[must_use]
pub const fn header_bytes(encoding: Encoding) -> usize {
    match encoding {
        Encoding::Pcm => FRAMEWORK_BYTES + PCM_FORMAT_BYTES,
        Encoding::Ulaw | Encoding::Alaw => FRAMEWORK_BYTES + G711_FORMAT_BYTES + FACT_CHUNK_BYTES,
    }
}

/// The head of a recording that holds `data_bytes` bytes of audio, at most [`LARGEST_DATA`] (more is written as that).
///
/// Its length depends on the encoding alone, so a writer refreshes the sizes by writing the whole head again in
/// place. With `data_bytes` 0 readers take the audio to go on to the end of the file. After an odd number of bytes
/// the file must end with one byte of padding, which `data_bytes` does not count.
#[must_use]
pub fn header(format: AudioFormat, data_bytes: u32) -> Vec<u8> {
    let data_bytes = data_bytes.min(LARGEST_DATA);
    let length = header_bytes(format.encoding);
    let riff_bytes = length as u32 - 8 + data_bytes + data_bytes % 2;
    let mut head = Vec::with_capacity(length);
    chunk(&mut head, *b"RIFF", riff_bytes);
    head.extend(b"WAVE");
    format_chunk(&mut head, format);
    if format.encoding != Encoding::Pcm {
        chunk(&mut head, *b"fact", 4);
        head.extend((data_bytes / (format.frame_bytes() as u32).max(1)).to_le_bytes());
    }
    chunk(&mut head, *b"data", data_bytes);
    head
}

fn chunk(head: &mut Vec<u8>, name: [u8; 4], bytes: u32) {
    head.extend(name);
    head.extend(bytes.to_le_bytes());
}

fn format_chunk(head: &mut Vec<u8>, format: AudioFormat) {
    let (tag, bytes) = match format.encoding {
        Encoding::Pcm => (tag::PCM, PCM_FORMAT_BYTES),
        Encoding::Ulaw => (tag::ULAW, G711_FORMAT_BYTES),
        Encoding::Alaw => (tag::ALAW, G711_FORMAT_BYTES),
    };
    let rate = format.rate.hertz();
    let frame_bytes = format.frame_bytes() as u32;
    chunk(head, *b"fmt ", bytes as u32);
    head.extend(tag.to_le_bytes());
    head.extend(u16::from(format.channels).to_le_bytes());
    head.extend(rate.to_le_bytes());
    head.extend((rate * frame_bytes).to_le_bytes());
    head.extend((frame_bytes as u16).to_le_bytes());
    head.extend((format.encoding.sample_bytes() as u16 * 8).to_le_bytes());
    if bytes == G711_FORMAT_BYTES {
        head.extend(0_u16.to_le_bytes());
    }
}
