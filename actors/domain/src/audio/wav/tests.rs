use proptest::prelude::*;

use super::*;
use crate::audio::{AudioFormat, SampleRate};

/// Files that sox wrote: `testdata/make.sh`.
macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../testdata/wav/", $name, ".wav")).as_slice()
    };
}

fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = [name.as_slice(), &(body.len() as u32).to_le_bytes(), body].concat();
    bytes.resize(bytes.len() + body.len() % 2, 0);
    bytes
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = chunks.concat();
    [
        b"RIFF".as_slice(),
        &(body.len() as u32 + 4).to_le_bytes(),
        b"WAVE",
        &body,
    ]
    .concat()
}

fn format(tag: u16, channels: u16, rate: u32, bits: u16) -> Vec<u8> {
    let frame = channels * bits.div_ceil(8);
    let mut body = Vec::new();
    body.extend(tag.to_le_bytes());
    body.extend(channels.to_le_bytes());
    body.extend(rate.to_le_bytes());
    body.extend((rate * u32::from(frame)).to_le_bytes());
    body.extend(frame.to_le_bytes());
    body.extend(bits.to_le_bytes());
    body
}

fn file_of(format: &[u8]) -> Vec<u8> {
    riff(&[chunk(b"fmt ", format), chunk(b"data", &[1, 2, 3, 4])])
}

#[test]
fn every_form_that_sox_writes_is_read() {
    use WavEncoding::*;
    let table = [
        (fixture!("pcm8"), Pcm8, 8_000, 2, Encoding::Pcm),
        (fixture!("pcm16"), Pcm16, 8_000, 2, Encoding::Pcm),
        (fixture!("pcm24"), Pcm24, 8_000, 2, Encoding::Pcm),
        (fixture!("pcm32"), Pcm32, 8_000, 2, Encoding::Pcm),
        (fixture!("float32"), Float32, 8_000, 2, Encoding::Pcm),
        (fixture!("ulaw"), Ulaw, 8_000, 2, Encoding::Ulaw),
        (fixture!("alaw"), Alaw, 8_000, 2, Encoding::Alaw),
        (fixture!("odd"), Pcm8, 44_100, 1, Encoding::Pcm),
    ];
    for (bytes, encoding, rate, channels, wire) in table {
        let info = parse(bytes).unwrap();
        assert_eq!(
            (info.encoding, info.rate, info.channels),
            (encoding, rate, channels)
        );
        assert_eq!(info.wire_encoding(), wire, "{encoding:?}");
        let (start, length) = (info.data_start, info.data_bytes.unwrap());
        assert_eq!(
            start + length + length % 2,
            bytes.len() as u64,
            "{encoding:?}"
        );
        assert_eq!(length % info.frame_bytes() as u64, 0);
    }
}

/// The samples of a file as the wire would carry them, decoded.
fn samples_of(bytes: &[u8]) -> Vec<i16> {
    let info = parse(bytes).unwrap();
    let start = info.data_start as usize;
    let mut wire = Vec::new();
    info.convert(
        &bytes[start..start + info.data_bytes.unwrap() as usize],
        &mut wire,
    );
    let mut samples = Vec::new();
    info.wire_encoding().decode(&wire, &mut samples);
    samples
}

#[test]
fn every_form_of_the_same_tones_sounds_the_same() {
    let reference = samples_of(fixture!("pcm16"));
    assert_eq!(reference.len(), 100);
    assert!(
        reference.iter().any(|sample| *sample > 16_000),
        "{reference:?}"
    );
    // The largest difference: what 8 bits, and half of the largest step of G.711, cannot tell apart.
    let table = [
        (fixture!("pcm8"), 128),
        (fixture!("pcm24"), 1),
        (fixture!("pcm32"), 1),
        (fixture!("float32"), 1),
        (fixture!("ulaw"), 516),
        (fixture!("alaw"), 516),
    ];
    for (bytes, tolerance) in table {
        let samples = samples_of(bytes);
        assert_eq!(samples.len(), reference.len());
        for (ours, expected) in samples.iter().zip(&reference) {
            assert!(
                (i32::from(*ours) - i32::from(*expected)).abs() <= tolerance,
                "{ours} {expected}"
            );
        }
    }
}

#[test]
fn a_size_of_nothing_or_of_everything_means_to_the_end_of_the_file() {
    for size in [0, u32::MAX] {
        let mut bytes = fixture!("pcm16").to_vec();
        bytes[40..44].copy_from_slice(&size.to_le_bytes());
        assert_eq!(parse(&bytes).unwrap().data_bytes, None);
    }
}

#[test]
fn a_file_from_a_pipe_is_read_although_its_size_is_invented() {
    let info = parse(fixture!("streamed")).unwrap();
    assert_eq!((info.rate, info.data_start), (16_000, 44));
    assert!(info.data_bytes.unwrap() > fixture!("streamed").len() as u64);
}

#[test]
fn chunks_before_the_audio_are_passed_over_with_their_padding() {
    let bytes = riff(&[
        chunk(b"LIST", b"INFOodd"),
        chunk(b"fmt ", &format(1, 1, 8_000, 16)),
        chunk(b"fact", &[0; 4]),
        chunk(b"junk", b"1"),
        chunk(b"data", &[1, 2, 3, 4]),
    ]);
    let info = parse(&bytes).unwrap();
    assert_eq!(info.data_start as usize, bytes.len() - 4);
    assert_eq!(info.data_bytes, Some(4));
}

#[test]
fn a_head_that_ends_too_early_asks_for_more_at_every_length() {
    for bytes in [fixture!("pcm16"), fixture!("pcm24"), fixture!("ulaw")] {
        let start = parse(bytes).unwrap().data_start as usize;
        for length in 0..start {
            assert_eq!(
                parse(&bytes[..length]),
                Err(WavFault::NeedMore),
                "{length} bytes"
            );
        }
        assert!(parse(&bytes[..start]).is_ok());
    }
}

#[test]
fn what_cannot_be_read_is_refused_in_plain_words() {
    let extensible = |subformat: u16, rest: u8| {
        let mut body = [format(0xFFFE, 1, 8_000, 16), vec![22, 0, 16, 0, 4, 0, 0, 0]].concat();
        body.extend(subformat.to_le_bytes());
        body.extend([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, rest]);
        body
    };
    let mut wrong_frame = format(1, 2, 8_000, 16);
    wrong_frame[12] = 3;
    let table = [
        (
            b"OggS".to_vec(),
            "not a WAV file: it does not begin with RIFF",
        ),
        (
            b"RIFF\0\0\0\0AVI ".to_vec(),
            "not a WAV file: a RIFF file, but not of kind WAVE",
        ),
        (
            riff(&[chunk(b"data", &[])]),
            "the file has no fmt chunk before its audio",
        ),
        (
            riff(&[chunk(b"fmt ", &[1; 14])]),
            "the fmt chunk has 14 bytes, which is too few",
        ),
        (
            file_of(&format(0x55, 1, 8_000, 0)),
            "format tag 0x0055 is not supported: only PCM, 32-bit float, mu-law and A-law are",
        ),
        (
            file_of(&extensible(0x50, 0x71)),
            "format tag 0x0050 is not supported: only PCM, 32-bit float, mu-law and A-law are",
        ),
        (
            file_of(&extensible(1, 0x72)),
            "the sub-format of this extensible WAV file is not supported",
        ),
        (
            file_of(&format(0xFFFE, 1, 8_000, 16)),
            "the fmt chunk has 16 bytes, which is too few",
        ),
        (
            file_of(&format(3, 1, 8_000, 64)),
            "format tag 0x0003 with 64 bits a sample is not supported",
        ),
        (
            file_of(&format(1, 1, 8_000, 0)),
            "format tag 0x0001 with 0 bits a sample is not supported",
        ),
        (
            file_of(&format(7, 1, 8_000, 16)),
            "format tag 0x0007 with 16 bits a sample is not supported",
        ),
        (
            file_of(&format(1, 0, 8_000, 16)),
            "the file says that it has no channels",
        ),
        (
            file_of(&format(1, 1, 0, 16)),
            "the file says that its sample rate is 0",
        ),
        (
            file_of(&wrong_frame),
            "a frame is said to have 3 bytes, but channels and bits make 4",
        ),
    ];
    for (bytes, expected) in table {
        assert_eq!(parse(&bytes).unwrap_err().to_string(), expected);
    }
    assert_eq!(
        parse(&file_of(&extensible(1, 0x71))).unwrap().encoding,
        WavEncoding::Pcm16
    );
}

fn converted(encoding: WavEncoding, raw: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    WavInfo {
        encoding,
        rate: 8_000,
        channels: 1,
        data_start: 0,
        data_bytes: None,
    }
    .convert(raw, &mut wire);
    wire
}

#[test]
fn floats_beyond_full_scale_are_clipped() {
    let table = [
        (1.5, 32_767),
        (-1.5, -32_768),
        (1.0, 32_767),
        (-1.0, -32_768),
        (0.5, 16_384),
        (f32::NAN, 0),
        (f32::INFINITY, 32_767),
    ];
    for (float, expected) in table {
        assert_eq!(
            converted(WavEncoding::Float32, &float.to_le_bytes()),
            i16::to_le_bytes(expected),
            "{float}"
        );
    }
}

#[test]
fn eight_bits_are_unsigned() {
    assert_eq!(
        converted(WavEncoding::Pcm8, &[0, 128, 255]),
        [0, 0x80, 0, 0, 0, 0x7F]
    );
}

#[test]
fn an_incomplete_sample_at_the_end_is_left_out() {
    assert_eq!(converted(WavEncoding::Pcm16, &[1, 2, 3]), [1, 2]);
    assert_eq!(converted(WavEncoding::Pcm24, &[1, 2, 3, 4]), [2, 3]);
    assert_eq!(converted(WavEncoding::Pcm32, &[1, 2, 3]), [0_u8; 0]);
}

#[test]
fn the_head_of_a_recording_is_byte_for_byte_the_one_that_sox_writes() {
    for (bytes, encoding) in [
        (fixture!("pcm16"), Encoding::Pcm),
        (fixture!("ulaw"), Encoding::Ulaw),
        (fixture!("alaw"), Encoding::Alaw),
    ] {
        let length = header_bytes(encoding);
        let format = AudioFormat {
            rate: SampleRate::new(8_000).unwrap(),
            channels: 2,
            encoding,
        };
        assert_eq!(
            header(format, (bytes.len() - length) as u32),
            bytes[..length]
        );
    }
}

proptest! {
    #[test]
    fn a_head_that_was_written_is_read_back(
        rate in 8_000_u32..=48_000,
        channels in 1_u8..=2,
        encoding in prop::sample::select(vec![Encoding::Pcm, Encoding::Ulaw, Encoding::Alaw]),
        data_bytes in any::<u32>(),
    ) {
        let format = AudioFormat { rate: SampleRate::new(rate).unwrap(), channels, encoding };
        let head = header(format, data_bytes);
        prop_assert_eq!(head.len(), header_bytes(encoding));
        let info = parse(&head).unwrap();
        prop_assert_eq!((info.rate, info.channels), (rate, u16::from(channels)));
        prop_assert_eq!(info.wire_encoding(), encoding);
        prop_assert_eq!(info.frame_bytes(), format.frame_bytes());
        prop_assert_eq!(info.data_start, head.len() as u64);
        let expected = data_bytes.min(LARGEST_DATA);
        prop_assert_eq!(info.data_bytes, (expected > 0).then_some(u64::from(expected)));
    }

    #[test]
    fn no_bytes_make_the_reader_fall(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse(&[b"RIFF\0\0\0\0WAVE".as_slice(), &bytes].concat());
        let _ = parse(&[b"RIFF\0\0\0\0WAVEfmt \x28\0\0\0".as_slice(), &bytes].concat());
    }

    #[test]
    fn a_damaged_head_never_makes_the_reader_fall(at in 0_usize..80, byte in any::<u8>()) {
        let mut bytes = fixture!("pcm24").to_vec();
        bytes[at] = byte;
        if let Ok(info) = parse(&bytes) {
            prop_assert!(info.data_start <= bytes.len() as u64);
            prop_assert!(info.frame_bytes() > 0);
        }
    }
}
