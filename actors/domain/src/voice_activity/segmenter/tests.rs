use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits {
    speech: 3,
    silence: 4,
    longest: None,
};

/// Verdicts as letters: `#` speech, `?` perhaps, `~` sound, `.` silence.
fn verdict(letter: char) -> Verdict {
    match letter {
        '#' => Verdict::Speech,
        '?' => Verdict::Perhaps,
        '~' => Verdict::Sound,
        _ => Verdict::Silence,
    }
}

fn edges_of(verdicts: impl IntoIterator<Item = Verdict>, limits: Limits) -> Vec<Edge> {
    let mut segmenter = Segmenter::new(limits);
    let mut edges = Vec::new();
    for verdict in verdicts {
        segmenter.push(verdict, &mut edges);
    }
    segmenter.finish(&mut edges);
    edges
}

fn check(letters: &str, limits: Limits, expected: &[(u64, u64, EndReason)]) {
    let edges = edges_of(letters.chars().map(verdict), limits);
    let expected: Vec<_> = expected
        .iter()
        .flat_map(|(start, end, why)| [Edge::Start(*start), Edge::End(*end, *why)])
        .collect();
    assert_eq!(edges, expected, "{letters}");
}

#[test]
fn an_utterance_lasts_from_its_first_to_its_last_block_of_speech() {
    use EndReason::*;
    check("..####....", LIMITS, &[(2, 6, Silence)]);
    check(
        "###....###....",
        LIMITS,
        &[(0, 3, Silence), (7, 10, Silence)],
    );
}

#[test]
fn too_little_speech_begins_nothing() {
    check("..##......##......##....", LIMITS, &[]);
    check("..#..#..#..#..#....", LIMITS, &[]);
    check("", LIMITS, &[]);
}

#[test]
fn a_short_pause_is_part_of_the_utterance() {
    check("####...#....", LIMITS, &[(0, 8, EndReason::Silence)]);
}

#[test]
fn audio_that_ends_in_an_utterance_ends_it_where_the_speech_ended() {
    check(".####", LIMITS, &[(1, 5, EndReason::EndOfAudio)]);
    check(".####..", LIMITS, &[(1, 5, EndReason::EndOfAudio)]);
}

#[test]
fn doubtful_blocks_around_speech_belong_to_it() {
    check(".??###??....", LIMITS, &[(1, 8, EndReason::Silence)]);
}

#[test]
fn a_stop_consonant_in_the_first_syllable_does_not_cut_it_off() {
    check(".??#....###....", LIMITS, &[(1, 11, EndReason::Silence)]);
    check(".??#.....###....", LIMITS, &[(9, 12, EndReason::Silence)]);
}

#[test]
fn a_sound_just_before_speech_belongs_to_it_but_not_what_was_long_before() {
    check(".~~###....", LIMITS, &[(1, 6, EndReason::Silence)]);
    check(".~~~~~~~~?###....", LIMITS, &[(6, 13, EndReason::Silence)]);
    check(".~~~.###....", LIMITS, &[(5, 8, EndReason::Silence)]);
}

#[test]
fn a_sound_that_is_no_speech_ends_an_utterance_like_silence() {
    check("###~.~~", LIMITS, &[(0, 3, EndReason::Silence)]);
    check("~~~~~~~~~~~~", LIMITS, &[]);
}

#[test]
fn doubtful_blocks_alone_begin_nothing_and_take_back_what_was_certain() {
    check("????????????", LIMITS, &[]);
    check("##?#?#?#?....", LIMITS, &[]);
    check("##?##....", LIMITS, &[(0, 5, EndReason::Silence)]);
}

#[test]
fn an_utterance_is_dated_back_only_so_far() {
    let doubtful = "?".repeat(50) + "###....";
    check(&doubtful, LIMITS, &[(30, 53, EndReason::Silence)]);
}

#[test]
fn an_utterance_that_grows_too_long_is_split_without_a_gap() {
    use EndReason::*;
    let limits = Limits {
        longest: Some(4),
        ..LIMITS
    };
    check("####....", limits, &[(0, 4, Silence)]);
    check(
        "##########....",
        limits,
        &[
            (0, 4, MaximumSpeech),
            (4, 8, MaximumSpeech),
            (8, 10, Silence),
        ],
    );
    check(
        "########",
        limits,
        &[(0, 4, MaximumSpeech), (4, 8, EndOfAudio)],
    );
}

#[test]
fn a_pause_that_reaches_over_the_longest_utterance_splits_only_if_speech_goes_on() {
    use EndReason::*;
    let limits = Limits {
        longest: Some(4),
        ..LIMITS
    };
    check("###....", limits, &[(0, 3, Silence)]);
    check(
        "###...##....",
        limits,
        &[(0, 4, MaximumSpeech), (4, 8, Silence)],
    );
}

#[test]
fn other_limits_hold_from_the_next_block_on() {
    let mut segmenter = Segmenter::new(LIMITS);
    let mut edges = Vec::new();
    for letter in "###.".chars() {
        segmenter.push(verdict(letter), &mut edges);
    }
    segmenter.set(Limits {
        silence: 2,
        ..LIMITS
    });
    segmenter.push(Verdict::Silence, &mut edges);
    assert_eq!(edges, [Edge::Start(0), Edge::End(3, EndReason::Silence)]);
}

proptest! {
    #[test]
    fn starts_and_ends_alternate_and_never_overlap_nor_leave_the_audio(
        letters in "[#?~.]{0,300}",
        speech in 1_u64..6,
        silence in 1_u64..40,
        longest in prop::option::of(1_u64..50),
    ) {
        let edges = edges_of(letters.chars().map(verdict), Limits { speech, silence, longest });
        prop_assert_eq!(edges.len() % 2, 0);
        let mut free_from = 0;
        for [start, end] in edges.as_chunks::<2>().0 {
            let (Edge::Start(start), Edge::End(end, _)) = (*start, *end) else {
                return Err(TestCaseError::fail(format!("{edges:?}")));
            };
            prop_assert!(free_from <= start && start < end, "{:?}", edges);
            prop_assert!(longest.is_none_or(|longest| end - start <= longest), "{:?}", edges);
            free_from = end;
        }
        prop_assert!(free_from <= letters.len() as u64);
    }
}
