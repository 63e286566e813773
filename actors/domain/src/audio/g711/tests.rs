use proptest::prelude::*;

use super::*;

/// What sox made of all 256 codes, and of all samples from -32 768 to 32 767: `testdata/make.sh`.
const ULAW_DECODED_BY_SOX: &[u8; 512] = include_bytes!("../../../testdata/g711/ulaw.decoded");
const ALAW_DECODED_BY_SOX: &[u8; 512] = include_bytes!("../../../testdata/g711/alaw.decoded");
const ULAW_ENCODED_BY_SOX: &[u8; 65_536] = include_bytes!("../../../testdata/g711/ulaw.encoded");
const ALAW_ENCODED_BY_SOX: &[u8; 65_536] = include_bytes!("../../../testdata/g711/alaw.encoded");

fn check_decoding(ours: fn(u8) -> i16, theirs: &[u8; 512]) {
    for (code, pair) in (0..=255_u8).zip(theirs.chunks_exact(2)) {
        let expected = i16::from_le_bytes([pair[0], pair[1]]);
        assert_eq!(ours(code), expected, "code {code:#04x}");
    }
}

fn check_encoding(ours: fn(i16) -> u8, theirs: &[u8; 65_536]) {
    for (sample, expected) in (i16::MIN..=i16::MAX).zip(theirs) {
        assert_eq!(ours(sample), *expected, "sample {sample}");
    }
}

#[test]
fn every_ulaw_code_decodes_as_sox_decodes_it() {
    check_decoding(ulaw_decode, ULAW_DECODED_BY_SOX);
}

#[test]
fn every_alaw_code_decodes_as_sox_decodes_it() {
    check_decoding(alaw_decode, ALAW_DECODED_BY_SOX);
}

#[test]
fn every_sample_encodes_to_ulaw_as_sox_encodes_it() {
    check_encoding(ulaw_encode, ULAW_ENCODED_BY_SOX);
}

#[test]
fn every_sample_encodes_to_alaw_as_sox_encodes_it() {
    check_encoding(alaw_encode, ALAW_ENCODED_BY_SOX);
}

#[test]
fn a_decoded_code_encodes_to_itself() {
    for code in 0..=255_u8 {
        assert_eq!(alaw_encode(alaw_decode(code)), code);
        // μ-law has two zeroes; the negative one, 0x7F, comes back as the positive.
        let expected = if code == 0x7F { 0xFF } else { code };
        assert_eq!(ulaw_encode(ulaw_decode(code)), expected);
    }
}

/// A step is a 16th of the power of two that begins its segment, so half of one is at most a 32nd of the magnitude.
fn half_a_step(magnitude: i32, smallest_step: i32) -> i32 {
    (magnitude / 32 + 1).max(smallest_step / 2)
}

proptest! {
    #[test]
    fn ulaw_there_and_back_stays_within_half_a_step(sample in -32_124_i16..=32_124) {
        let error = (i32::from(ulaw_decode(ulaw_encode(sample))) - i32::from(sample)).abs();
        // The magnitude as μ-law sees it has the bias added; rounding to 14 bits moves it by 2 at most.
        let biased = i32::from(sample).abs() + 4 * ULAW_BIAS;
        prop_assert!(error <= half_a_step(biased, 8) + 2, "{sample}: {error}");
    }

    #[test]
    fn alaw_there_and_back_stays_within_half_a_step(sample in -32_256_i16..=32_256) {
        let error = (i32::from(alaw_decode(alaw_encode(sample))) - i32::from(sample)).abs();
        prop_assert!(error <= half_a_step(i32::from(sample).abs(), 16) + 4, "{sample}: {error}");
    }

    #[test]
    fn the_codes_rise_with_the_samples(sample in i16::MIN..i16::MAX) {
        prop_assert!(ulaw_decode(ulaw_encode(sample)) <= ulaw_decode(ulaw_encode(sample + 1)));
        prop_assert!(alaw_decode(alaw_encode(sample)) <= alaw_decode(alaw_encode(sample + 1)));
    }
}
