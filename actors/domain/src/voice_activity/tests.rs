use proptest::prelude::*;

use super::*;
use crate::sound::{self, VOICES, mixed, noise, quantized, silence, speech, tone};

const RATES: [u32; 4] = [8_000, 16_000, 44_100, 48_000];
/// Before, between and after two utterances. The numbers are no multiples of anything.
const PAUSES_MSEC: [u32; 3] = [893, 1_207, 711];
/// How far a start or an end may lie from the truth.
const TOLERANCE_MSEC: i64 = 60;

/// The changes in a sound, sent in chunks of 20 ms.
fn changes(hertz: u32, samples: &[f64], settings: Settings) -> Vec<Change> {
    let mut detector = VoiceActivity::new(sound::rate(hertz), settings);
    let mut out = Vec::new();
    for chunk in quantized(samples).chunks(hertz as usize / 50) {
        detector.push(chunk, &mut out);
    }
    detector.finish(&mut out);
    out
}

/// Start and end of every utterance, in milliseconds, and why it ended.
fn utterances(hertz: u32, samples: &[f64], settings: Settings) -> Vec<(i64, i64, EndReason)> {
    let msec = |frame: u64| (frame * 1_000 / u64::from(hertz)) as i64;
    let changes = changes(hertz, samples, settings);
    let (pairs, rest) = changes.as_chunks::<2>();
    assert_eq!(rest, [], "an utterance without an end");
    let span = |[started, ended]: &[Change; 2]| match (*started, *ended) {
        (
            Change::Started { start_frame },
            Change::Ended {
                start_frame: same,
                end_frame,
                reason,
            },
        ) => {
            assert_eq!(start_frame, same);
            (msec(start_frame), msec(end_frame), reason)
        }
        _ => panic!("starts and ends do not alternate: {changes:?}"),
    };
    pairs.iter().map(span).collect()
}

fn length_msec(hertz: u32, samples: &[f64]) -> i64 {
    (samples.len() as u64 * 1_000 / u64::from(hertz)) as i64
}

/// Says the same twice and compares what is found with where it was put. `noise_dbfs` is the noise behind it.
fn check_known_lengths(hertz: u32, voice: usize, level: f64, noise_dbfs: Option<f64>) {
    let words: Vec<_> = speech(voice, hertz)
        .iter()
        .map(|sample| sample * sound::gain(level))
        .collect();
    let [before, between, after] = PAUSES_MSEC.map(|msec| silence(hertz, msec));
    let mut call = [before, words.clone(), between, words.clone(), after].concat();
    if let Some(dbfs) = noise_dbfs {
        call = mixed(
            &call,
            &noise(hertz, length_msec(hertz, &call) as u32, dbfs, 7),
        );
    }
    let length = length_msec(hertz, &words);
    let first = i64::from(PAUSES_MSEC[0]);
    let second = first + length + i64::from(PAUSES_MSEC[1]);
    let found = utterances(hertz, &call, Settings::default());
    let place = format!(
        "{} at {hertz} Hz, {level} dB, noise {noise_dbfs:?}: {found:?}",
        VOICES[voice].0
    );
    assert_eq!(found.len(), 2, "{place}");
    for ((start, end, reason), truth) in found.into_iter().zip([first, second]) {
        assert!(
            (start - truth).abs() <= TOLERANCE_MSEC,
            "{place}, start {truth}"
        );
        assert!(
            (end - truth - length).abs() <= TOLERANCE_MSEC,
            "{place}, end {}",
            truth + length
        );
        assert_eq!(reason, EndReason::Silence, "{place}");
    }
}

#[test]
fn speech_between_silences_is_found_where_it_is_at_every_rate() {
    for hertz in RATES {
        for voice in 0..VOICES.len() {
            check_known_lengths(hertz, voice, 0.0, None);
        }
    }
}

#[test]
fn noise_behind_the_speech_does_not_move_its_edges() {
    for hertz in RATES {
        for voice in 0..VOICES.len() {
            check_known_lengths(hertz, voice, 0.0, Some(-60.0));
            check_known_lengths(hertz, voice, 0.0, Some(-50.0));
        }
    }
}

#[test]
fn quiet_speech_is_found_where_it_is() {
    for voice in 0..VOICES.len() {
        check_known_lengths(8_000, voice, -12.0, Some(-70.0));
    }
}

fn nothing_is_said(name: &str, hertz: u32, samples: &[f64]) {
    assert_eq!(
        changes(hertz, samples, Settings::default()),
        [],
        "{name} at {hertz} Hz"
    );
}

#[test]
fn silence_begins_no_utterance() {
    for hertz in RATES {
        nothing_is_said("silence", hertz, &silence(hertz, 10_000));
    }
}

#[test]
fn white_noise_begins_no_utterance_whether_it_lasts_or_begins_suddenly() {
    for hertz in RATES {
        for dbfs in [-60.0, -50.0, -40.0, -30.0, -20.0] {
            for seed in 1..4 {
                let hiss = noise(hertz, 4_000, dbfs, seed);
                nothing_is_said("noise", hertz, &hiss);
                nothing_is_said(
                    "sudden noise",
                    hertz,
                    &[silence(hertz, 1_000), hiss, silence(hertz, 500)].concat(),
                );
            }
        }
    }
}

#[test]
fn tones_begin_no_utterance() {
    for hertz in [8_000, 44_100] {
        for frequency in (100..3_900).step_by(100) {
            for dbfs in [-40.0, -20.0, -3.0] {
                let beep = tone(hertz, 700, f64::from(frequency), dbfs);
                nothing_is_said(
                    "tone",
                    hertz,
                    &[silence(hertz, 300), beep, silence(hertz, 300)].concat(),
                );
            }
        }
        for (low, high) in [
            (350.0, 440.0),
            (440.0, 480.0),
            (480.0, 620.0),
            (770.0, 1_336.0),
        ] {
            let pair = mixed(
                &tone(hertz, 2_000, low, -13.0),
                &tone(hertz, 2_000, high, -13.0),
            );
            nothing_is_said(
                "pair of tones",
                hertz,
                &[silence(hertz, 300), pair, silence(hertz, 300)].concat(),
            );
        }
    }
}

#[test]
fn a_higher_sensitivity_hears_what_a_lower_one_does_not() {
    let whisper: Vec<_> = speech(1, 8_000)
        .iter()
        .map(|sample| sample * sound::gain(-42.0))
        .collect();
    let call = [silence(8_000, 500), whisper, silence(8_000, 800)].concat();
    let heard = |sensitivity| {
        !changes(
            8_000,
            &call,
            Settings {
                sensitivity,
                ..Settings::default()
            },
        )
        .is_empty()
    };
    assert!(!heard(0.1));
    assert!(heard(0.9));
}

#[test]
fn audio_that_begins_and_ends_in_speech_has_an_utterance_from_end_to_end() {
    for hertz in RATES {
        let words = speech(1, hertz);
        let found = utterances(hertz, &words, Settings::default());
        let [(start, end, EndReason::EndOfAudio)] = found[..] else {
            panic!("{hertz} Hz: {found:?}")
        };
        assert!(
            start <= TOLERANCE_MSEC && end >= length_msec(hertz, &words) - TOLERANCE_MSEC,
            "{found:?}"
        );
    }
}

#[test]
fn speech_that_is_too_long_is_split_without_a_gap() {
    let words = [silence(8_000, 500), speech(1, 8_000), silence(8_000, 800)].concat();
    let settings = Settings {
        maximum_speech_msec: 1_000,
        ..Settings::default()
    };
    let found = utterances(8_000, &words, settings);
    let reasons: Vec<_> = found.iter().map(|(.., reason)| *reason).collect();
    use EndReason::{MaximumSpeech, Silence};
    assert_eq!(
        reasons,
        [MaximumSpeech, MaximumSpeech, MaximumSpeech, Silence]
    );
    for [(start, end, _), (next, ..)] in found.array_windows::<2>() {
        assert_eq!(end, next);
        assert!((992..=1_000).contains(&(end - start)), "{found:?}");
    }
}

#[test]
fn the_silence_that_ends_an_utterance_is_as_long_as_was_asked_for() {
    let pause = silence(8_000, 900);
    let call = [
        pause.clone(),
        speech(3, 8_000),
        pause.clone(),
        speech(3, 8_000),
        pause,
    ]
    .concat();
    for (silence_trigger_msec, expected) in [(500, 2), (850, 2), (1_000, 1)] {
        let settings = Settings {
            silence_trigger_msec,
            ..Settings::default()
        };
        assert_eq!(
            utterances(8_000, &call, settings).len(),
            expected,
            "{silence_trigger_msec} ms"
        );
    }
}

#[test]
fn settings_that_change_in_a_pause_hold_for_that_pause() {
    let mut detector = VoiceActivity::new(sound::rate(8_000), Settings::default());
    let mut out = Vec::new();
    detector.push(&quantized(&speech(1, 8_000)), &mut out);
    detector.set(Settings {
        silence_trigger_msec: 200,
        ..Settings::default()
    });
    detector.push(&quantized(&silence(8_000, 300)), &mut out);
    assert!(
        matches!(
            out[..],
            [
                Change::Started { .. },
                Change::Ended {
                    reason: EndReason::Silence,
                    ..
                }
            ]
        ),
        "{out:?}"
    );
}

#[test]
fn a_large_chunk_leaves_no_large_buffer_behind() {
    let mut detector = VoiceActivity::new(sound::rate(8_000), Settings::default());
    detector.push(&vec![0; 65_536], &mut Vec::new());
    assert!(
        detector.waiting.capacity() <= 4 * SLICE_FRAMES,
        "{}",
        detector.waiting.capacity()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_cutting_into_chunks_changes_nothing_but_when_it_is_told(
        size in 1_usize..5_000, hertz in prop::sample::select(RATES.to_vec()), voice in 0..VOICES.len(),
    ) {
        let call = quantized(&[silence(hertz, 300), speech(voice, hertz), silence(hertz, 600)].concat());
        let mut detector = VoiceActivity::new(sound::rate(hertz), Settings::default());
        let (mut out, mut whole) = (Vec::new(), Vec::new());
        for chunk in call.chunks(size) {
            detector.push(chunk, &mut out);
        }
        detector.finish(&mut out);
        let mut at_once = VoiceActivity::new(sound::rate(hertz), Settings::default());
        at_once.push(&call, &mut whole);
        at_once.finish(&mut whole);
        prop_assert_eq!(out, whole);
    }

    #[test]
    fn no_utterance_overlaps_another_nor_leaves_the_audio(
        pieces in prop::collection::vec((0_usize..4, 0_usize..20_000, 20_usize..9_000, -30.0..0.0_f64), 1..6),
        sensitivity in 0.0..=1.0_f32,
        speech_trigger_msec in 0_u32..200,
        silence_trigger_msec in 0_u32..600,
        maximum_speech_msec in prop::sample::select(vec![0_u32, 1, 100, 700, 60_000]),
    ) {
        let mut call = Vec::new();
        for (voice, from, length, level) in pieces {
            let words = speech(voice, 8_000);
            let from = from.min(words.len() - 1);
            let piece = &words[from..words.len().min(from + length)];
            call.extend(piece.iter().map(|sample| sample * sound::gain(level)));
        }
        let settings = Settings { sensitivity, speech_trigger_msec, silence_trigger_msec, maximum_speech_msec };
        let mut free_from = 0;
        for change in changes(8_000, &call, settings) {
            if let Change::Ended { start_frame, end_frame, .. } = change {
                prop_assert!(free_from <= start_frame && start_frame < end_frame, "{:?}", change);
                free_from = end_frame;
            }
        }
        prop_assert!(free_from <= call.len() as u64);
    }
}
