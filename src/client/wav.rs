//! A WAV file as the 20 ms chunks that go over the wire. Only one chunk of the file is in memory at a time.

use std::io;

use bytes::Bytes;
use callwright_domain::audio::wav::{WavFault, WavInfo, parse};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::pace::CHUNKS_PER_SECOND;

/// Longest head: chunks of artist names and cue points come before the audio, but not this many.
const LONGEST_HEAD: usize = 1024 * 1024;
/// Bytes read at once while looking for the audio.
const HEAD_STEP: usize = 4 * 1024;

/// Why a file cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It is no WAV file, or not one of a kind that can be sent.
    #[error("{0}")]
    Wav(#[from] WavFault),
    /// The head goes on and on.
    #[error("no audio within the first {LONGEST_HEAD} bytes")]
    HeadTooLong,
    /// There is nothing in it.
    #[error("it holds no audio")]
    Empty,
}

/// Cuts a WAV file into chunks of 20 ms, in the encoding that goes over the wire.
#[derive(Debug)]
pub struct Chunker<R> {
    file: R,
    info: WavInfo,
    /// Bytes of audio that were read together with the head.
    ahead: Vec<u8>,
    /// Bytes of audio left to read; none where the head does not say.
    left: Option<u64>,
    /// Chunks given so far.
    given: u64,
}

impl<R: AsyncRead + Unpin> Chunker<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`FileFault`] when it cannot be read, is no WAV file that can be sent, or holds no audio.
    pub async fn open(mut file: R) -> Result<Self, FileFault> {
        let mut head = Vec::new();
        let info = loop {
            let more = read_some(&mut file, &mut head, HEAD_STEP).await?;
            match parse(&head) {
                Err(WavFault::NeedMore) if more == 0 => return Err(WavFault::NeedMore.into()),
                Err(WavFault::NeedMore) if head.len() >= LONGEST_HEAD => {
                    return Err(FileFault::HeadTooLong);
                }
                Err(WavFault::NeedMore) => {}
                Err(fault) => return Err(fault.into()),
                Ok(info) => break info,
            }
        };
        skip_to(&mut file, &mut head, info.data_start).await?;
        if head.is_empty() && read_some(&mut file, &mut head, HEAD_STEP).await? == 0 {
            return Err(FileFault::Empty);
        }
        Ok(Self {
            file,
            left: info.data_bytes,
            info,
            ahead: head,
            given: 0,
        })
    }

    /// What the head says.
    #[must_use]
    pub const fn info(&self) -> &WavInfo {
        &self.info
    }

    /// How many chunks there will be, where the head says.
    #[must_use]
    pub fn chunks(&self) -> Option<u64> {
        let frame = u64::try_from(self.info.frame_bytes()).ok()?;
        let frames = self.info.data_bytes? / frame.max(1);
        Some((frames * CHUNKS_PER_SECOND).div_ceil(u64::from(self.info.rate)))
    }

    /// The next chunk, or none at the end of the audio. The last may be shorter; a file that was cut off ends
    /// where it was cut, without the unfinished frame.
    ///
    /// # Errors
    /// The file's own, when it cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let raw = self.next_raw().await?;
        let whole = raw.len() - raw.len() % self.info.frame_bytes().max(1);
        let mut audio = Vec::new();
        self.info
            .convert(raw.get(..whole).unwrap_or_default(), &mut audio);
        self.given += 1;
        Ok((!audio.is_empty()).then(|| audio.into()))
    }

    async fn next_raw(&mut self) -> io::Result<Vec<u8>> {
        let wanted = self.chunk_bytes();
        let taken = self.ahead.len().min(wanted);
        let mut raw: Vec<u8> = self.ahead.drain(..taken).collect();
        while raw.len() < wanted {
            let missing = wanted - raw.len();
            if read_some(&mut self.file, &mut raw, missing).await? == 0 {
                break;
            }
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(u64::try_from(raw.len()).unwrap_or(u64::MAX));
        }
        Ok(raw)
    }

    /// Bytes of audio that the head promised and the file did not hold; of use once the file has ended.
    pub fn missing(&self) -> u64 {
        self.left.unwrap_or_default()
    }

    /// Bytes of the file in the next chunk: at a rate such as 11 025 Hz chunks differ by a frame, so that the n-th
    /// ends where n × 20 ms do.
    fn chunk_bytes(&self) -> usize {
        let end = |chunk: u64| chunk * u64::from(self.info.rate) / CHUNKS_PER_SECOND;
        let frames = end(self.given + 1) - end(self.given);
        let bytes = frames * u64::try_from(self.info.frame_bytes()).unwrap_or(u64::MAX);
        let bytes = self.left.map_or(bytes, |left| left.min(bytes));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

/// Appends at most `most` bytes, and gives how many came; none means the end.
async fn read_some<R: AsyncRead + Unpin>(
    file: &mut R,
    into: &mut Vec<u8>,
    most: usize,
) -> io::Result<usize> {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    file.take(most).read_buf(into).await
}

/// Leaves in `head` only what comes after byte `start` of the file.
async fn skip_to<R: AsyncRead + Unpin>(
    file: &mut R,
    head: &mut Vec<u8>,
    start: u64,
) -> io::Result<()> {
    let held = u64::try_from(head.len()).unwrap_or(u64::MAX);
    if let Some(beyond) = start.checked_sub(held) {
        head.clear();
        tokio::io::copy(&mut file.take(beyond), &mut tokio::io::sink()).await?;
    } else {
        head.drain(..usize::try_from(start).unwrap_or(head.len()).min(head.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
