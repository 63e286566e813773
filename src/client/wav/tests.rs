use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use super::*;

/// A mono WAV file: `format` is the tag, `bits` those of a sample, `size` what the head says of the audio.
fn wav(format: u16, bits: u16, rate: u32, size: u32, audio: &[u8]) -> Vec<u8> {
    let block = bits / 8;
    let mut file = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0".to_vec();
    file.extend(format.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend((rate * u32::from(block)).to_le_bytes());
    file.extend(block.to_le_bytes());
    file.extend(bits.to_le_bytes());
    file.extend(b"data");
    file.extend(size.to_le_bytes());
    file.extend(audio);
    file
}

fn ulaw(rate: u32, audio: &[u8]) -> Vec<u8> {
    wav(7, 8, rate, u32::try_from(audio.len()).unwrap(), audio)
}

/// Gives at most `step` bytes at a time, as a slow disk or a pipe may.
struct Slow<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl AsyncRead for Slow<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.step.min(self.bytes.len()).min(into.remaining());
        let (now, later) = self.bytes.split_at(count);
        into.put_slice(now);
        self.bytes = later;
        Poll::Ready(Ok(()))
    }
}

async fn chunks(file: &[u8], step: usize) -> Vec<Vec<u8>> {
    let mut chunker = Chunker::open(Slow { bytes: file, step }).await.unwrap();
    let mut chunks = Vec::new();
    while let Some(chunk) = chunker.next().await.unwrap() {
        chunks.push(chunk.to_vec());
    }
    chunks
}

#[tokio::test]
async fn chunks_are_20_ms_and_the_last_is_what_is_left() {
    let audio: Vec<u8> = (0..=255).cycle().take(8_000 + 40).collect();
    let file = ulaw(8_000, &audio);
    for step in [1, 7, 4_096, 1 << 20] {
        let chunks = chunks(&file, step).await;
        let sizes: Vec<usize> = chunks.iter().map(Vec::len).collect();
        assert_eq!(sizes, [vec![160; 50], vec![40]].concat(), "steps of {step}");
        assert_eq!(chunks.concat(), audio, "steps of {step}");
    }
}

#[tokio::test]
async fn chunks_of_an_odd_rate_keep_to_the_clock() {
    let audio = vec![0xff; 11_025 * 2];
    let sizes: Vec<usize> = chunks(&ulaw(11_025, &audio), 4_096)
        .await
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(sizes.len(), 100);
    assert_eq!(sizes.first_chunk(), Some(&[220, 221]));
    assert_eq!(sizes.iter().sum::<usize>(), audio.len());
}

#[tokio::test]
async fn the_number_of_chunks_is_known_before_the_first() {
    for (bytes, expected) in [(160, 1), (161, 2), (8_000, 50), (1, 1)] {
        let file = ulaw(8_000, &vec![0xff; bytes]);
        let chunker = Chunker::open(file.as_slice()).await.unwrap();
        assert_eq!(chunker.chunks(), Some(expected), "{bytes}");
        assert_eq!(chunks(&file, 64).await.len() as u64, expected, "{bytes}");
    }
}

#[tokio::test]
async fn longer_samples_become_16_bit() {
    let file = wav(1, 24, 8_000, 6, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(chunks(&file, 5).await, [[2, 3, 5, 6]]);
}

#[tokio::test]
async fn what_follows_the_audio_is_not_sent() {
    let mut file = ulaw(8_000, &[0xff; 200]);
    file.extend(b"LIST\x04\0\0\0INFO");
    assert_eq!(chunks(&file, 4_096).await.concat(), [0xff; 200]);
}

#[tokio::test]
async fn a_file_cut_off_ends_where_it_was_cut_without_the_unfinished_frame() {
    let file = wav(1, 16, 8_000, 1_000_000, &[1; 323]);
    assert_eq!(chunks(&file, 4_096).await.concat(), [1; 322]);
}

#[tokio::test]
async fn what_the_head_promised_and_the_file_does_not_hold_is_known_at_its_end() {
    for (promised, missing) in [(400, 80), (320, 0), (u32::MAX, 0)] {
        let file = wav(7, 8, 8_000, promised, &[0; 320]);
        let slow = Slow {
            bytes: &file,
            step: 1_000,
        };
        let mut chunker = Chunker::open(slow).await.unwrap();
        while chunker.next().await.unwrap().is_some() {}
        assert_eq!(chunker.missing(), missing, "{promised} bytes promised");
    }
}

#[tokio::test]
async fn what_is_no_audio_is_told_apart() {
    let open = async |file: Vec<u8>| Chunker::open(file.as_slice()).await.unwrap_err();
    assert!(matches!(open(vec![]).await, FileFault::Wav(_)));
    assert!(matches!(open(b"RIFF".to_vec()).await, FileFault::Wav(_)));
    assert!(matches!(
        open(b"this is a text and no audio file at all, really".to_vec()).await,
        FileFault::Wav(_)
    ));
    assert!(matches!(open(ulaw(8_000, &[])).await, FileFault::Empty));
    let mut endless = b"RIFF\xff\xff\xff\xffWAVELIST\xf0\xff\xff\x7f".to_vec();
    endless.resize(2 * LONGEST_HEAD, 0);
    assert!(matches!(open(endless).await, FileFault::HeadTooLong));
}
