//! Whole frames out of chunks that were cut anywhere.
//!
//! A client cuts its audio where it likes: in the middle of a 16-bit sample, or between the two
//! channels of a frame. The [`Framer`] carries the rest of a chunk over to the next one.

use bytes::{Bytes, BytesMut};

use super::AudioFormat;

/// The most bytes that one frame has: two channels of 16-bit samples.
const LARGEST_FRAME: usize = 4;

/// Turns chunks into whole frames, keeping back at most one unfinished frame.
#[derive(Debug, Clone)]
pub struct Framer {
    frame_bytes: usize,
    carried: [u8; LARGEST_FRAME],
    carried_bytes: usize,
}

impl Framer {
    /// A framer with nothing carried over.
    #[must_use]
    pub const fn new(format: AudioFormat) -> Self {
        // A format without channels has no frames to cut; single bytes keep the arithmetic defined.
        let frame_bytes = match format.frame_bytes() {
            0 => 1,
            bytes => bytes,
        };
        Self {
            frame_bytes,
            carried: [0; LARGEST_FRAME],
            carried_bytes: 0,
        }
    }

    /// Takes the next bytes of the stream and returns the frames that are whole by now, in order.
    ///
    /// Nothing is copied while chunks are whole; an unfinished frame costs one copy of the chunk that ends it.
    #[must_use = "frames that are not taken are lost"]
    pub fn push(&mut self, mut chunk: Bytes) -> Bytes {
        if self.carried_bytes > 0 {
            chunk = self.prepend_carried(&chunk);
        }
        let whole = chunk.len() - chunk.len() % self.frame_bytes;
        let rest = chunk.split_off(whole);
        self.carried_bytes = rest.len();
        for (kept, byte) in self.carried.iter_mut().zip(&rest) {
            *kept = *byte;
        }
        chunk
    }

    /// Bytes of an unfinished frame, 0 to 3: what is lost if the stream ends here.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.carried_bytes
    }

    fn prepend_carried(&self, chunk: &[u8]) -> Bytes {
        let mut joined = BytesMut::with_capacity(self.carried_bytes + chunk.len());
        joined.extend(self.carried.iter().take(self.carried_bytes));
        joined.extend_from_slice(chunk);
        joined.freeze()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audio::{Encoding, SampleRate};

    fn framer(encoding: Encoding, channels: u8) -> Framer {
        let rate = SampleRate::new(8_000).unwrap();
        Framer::new(AudioFormat {
            rate,
            channels,
            encoding,
        })
    }

    fn frames_in_chunks_of(size: usize, stream: &[u8]) -> (Vec<usize>, Vec<u8>) {
        let mut framer = framer(Encoding::Pcm, 2);
        let (mut lengths, mut all) = (Vec::new(), Vec::new());
        for chunk in stream.chunks(size) {
            let frames = framer.push(Bytes::copy_from_slice(chunk));
            lengths.push(frames.len());
            all.extend_from_slice(&frames);
        }
        (lengths, all)
    }

    #[test]
    fn chunks_of_one_byte_give_a_stereo_frame_with_every_fourth() {
        let (lengths, all) = frames_in_chunks_of(1, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(lengths, [0, 0, 0, 4, 0, 0, 0, 4]);
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn chunks_of_three_bytes_carry_the_rest_over() {
        let (lengths, all) = frames_in_chunks_of(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(lengths, [0, 4, 4, 4]);
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }

    #[test]
    fn a_whole_chunk_passes_without_being_copied() {
        let chunk = Bytes::from(vec![0_u8; 640]);
        let frames = framer(Encoding::Pcm, 2).push(chunk.clone());
        assert_eq!(frames.as_ptr(), chunk.as_ptr());
        assert_eq!(frames.len(), 640);
    }

    #[test]
    fn mono_g711_has_nothing_to_carry() {
        let mut framer = framer(Encoding::Ulaw, 1);
        assert_eq!(framer.push(Bytes::from_static(&[9])).as_ref(), [9]);
        assert_eq!(framer.pending(), 0);
    }

    #[test]
    fn what_is_left_at_the_end_is_told() {
        let mut framer = framer(Encoding::Pcm, 2);
        assert_eq!(
            framer
                .push(Bytes::from_static(&[1, 2, 3, 4, 5, 6, 7]))
                .len(),
            4
        );
        assert_eq!(framer.pending(), 3);
        assert_eq!(framer.push(Bytes::new()).len(), 0);
        assert_eq!(framer.pending(), 3);
    }

    proptest! {
        #[test]
        fn any_cutting_yields_the_same_bytes(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..23), 0..40),
            stereo in any::<bool>(),
            encoding in prop::sample::select(vec![Encoding::Pcm, Encoding::Ulaw, Encoding::Alaw]),
        ) {
            let mut framer = framer(encoding, 1 + u8::from(stereo));
            let stream = chunks.concat();
            let mut seen = Vec::new();
            for chunk in &chunks {
                let frames = framer.push(Bytes::copy_from_slice(chunk));
                prop_assert_eq!(frames.len() % framer.frame_bytes, 0);
                seen.extend_from_slice(&frames);
            }
            prop_assert_eq!(framer.pending(), stream.len() % framer.frame_bytes);
            prop_assert_eq!(&seen[..], &stream[..stream.len() - framer.pending()]);
        }
    }
}
