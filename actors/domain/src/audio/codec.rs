//! From the bytes of a stream to samples, and back.

use super::Encoding;
use super::g711::{alaw_decode, alaw_encode, ulaw_decode, ulaw_encode};

impl Encoding {
    /// Appends the samples that `bytes` hold to `into`, interleaved as they came.
    ///
    /// A trailing half sample of pcm is ignored: callers pass whole samples
    /// (see [`Framer`](super::framer::Framer)).
    pub fn decode(self, bytes: &[u8], into: &mut Vec<i16>) {
        match self {
            Self::Pcm => {
                let (samples, _half) = bytes.as_chunks::<2>();
                into.extend(samples.iter().map(|pair| i16::from_le_bytes(*pair)));
            }
            Self::Ulaw => into.extend(bytes.iter().map(|code| ulaw_decode(*code))),
            Self::Alaw => into.extend(bytes.iter().map(|code| alaw_decode(*code))),
        }
    }

    /// Appends `samples` to `into`, as this encoding writes them.
    pub fn encode(self, samples: &[i16], into: &mut Vec<u8>) {
        match self {
            Self::Pcm => into.extend(samples.iter().flat_map(|sample| sample.to_le_bytes())),
            Self::Ulaw => into.extend(samples.iter().map(|sample| ulaw_encode(*sample))),
            Self::Alaw => into.extend(samples.iter().map(|sample| alaw_encode(*sample))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(encoding: Encoding, samples: &[i16]) -> Vec<i16> {
        let mut bytes = Vec::new();
        encoding.encode(samples, &mut bytes);
        assert_eq!(bytes.len(), samples.len() * encoding.sample_bytes());
        let mut back = Vec::new();
        encoding.decode(&bytes, &mut back);
        back
    }

    #[test]
    fn decoding_appends_to_what_is_there() {
        let mut samples = vec![7];
        Encoding::Pcm.decode(&[0x34, 0x12, 0xFF, 0xFF], &mut samples);
        assert_eq!(samples, [7, 0x1234, -1]);
    }

    #[test]
    fn half_a_pcm_sample_at_the_end_is_left_out() {
        let mut samples = Vec::new();
        Encoding::Pcm.decode(&[1, 0, 2], &mut samples);
        assert_eq!(samples, [1]);
    }

    #[test]
    fn silence_is_silence_in_every_encoding() {
        assert_eq!(round_trip(Encoding::Pcm, &[0; 160]), [0; 160]);
        assert_eq!(round_trip(Encoding::Ulaw, &[0; 160]), [0; 160]);
        // A-law has no zero: its innermost codes stand for 8 and -8.
        assert_eq!(round_trip(Encoding::Alaw, &[0; 160]), [8; 160]);
    }

    proptest! {
        #[test]
        fn pcm_comes_back_unchanged(samples in prop::collection::vec(any::<i16>(), 0..400)) {
            prop_assert_eq!(round_trip(Encoding::Pcm, &samples), samples);
        }

        #[test]
        fn a_second_pass_through_g711_changes_nothing(samples in prop::collection::vec(any::<i16>(), 0..400)) {
            for encoding in [Encoding::Ulaw, Encoding::Alaw] {
                let once = round_trip(encoding, &samples);
                prop_assert_eq!(round_trip(encoding, &once), once);
            }
        }
    }
}
