//! The detectors on a sample call of two voices and some keys, against the notes that were made with it.

use std::collections::HashSet;

use callwright_domain::audio::wav;
use callwright_domain::event::{Event, names};
use serde_json::Value;

use crate::testing::call::{Setup, call, one_node};

const CALL: &[u8] = include_bytes!("../../../../tests/fixtures/call.wav");
const NOTES: &str = include_str!("../../../../tests/fixtures/call.json");

/// Where an event may lie beside the notes: synthetic voices fade in and out.
const TOLERANCE_MSEC: i64 = 150;

/// What is heard when the call comes in chunks of this size, in real time or faster: these nodes know no clock.
async fn events(setup: Setup, chunk: usize) -> Vec<Event> {
    let start = usize::try_from(wav::parse(CALL).unwrap().data_start).unwrap();
    let call = setup.audio(8_000, 2, "ulaw").begin();
    for chunk in CALL[start..].chunks(chunk) {
        call.audio(chunk);
    }
    call.finalize().await;
    call.heard.events()
}

fn notes(what: &str) -> Vec<Value> {
    let notes: Value = serde_json::from_str(NOTES).unwrap();
    notes[what].as_array().unwrap().clone()
}

fn near(value: i64, noted: &Value) -> bool {
    (value - noted.as_i64().unwrap()).abs() <= TOLERANCE_MSEC
}

#[actix_rt::test]
async fn every_key_is_heard_once_on_its_channel_and_in_its_place() {
    let heard = events(one_node("dtmf"), 320).await;
    let digits = notes("digits");
    assert_eq!(heard.len(), digits.len());
    for (event, noted) in heard.iter().zip(&digits) {
        assert_eq!(event.name, names::DTMF);
        assert_eq!(event.data["Digit"], noted["digit"]);
        assert_eq!(i64::from(event.channel), noted["channel"]);
        assert!(near(event.start_msec, &noted["start_ms"]), "{event:?}");
        assert!(near(event.end_msec, &noted["end_ms"]), "{event:?}");
    }
}

#[actix_rt::test]
async fn every_utterance_has_one_group_id_of_its_own_in_its_start_and_its_end() {
    let heard = events(one_node("voice-activity"), 320).await;
    let mut open: [Option<&Event>; 2] = [None, None];
    let mut groups = HashSet::new();
    let mut ended = Vec::new();
    for event in &heard {
        let open = &mut open[usize::try_from(event.channel).unwrap()];
        if event.name == names::SPEECH_STARTED {
            assert!(open.is_none(), "two at once on one channel");
            assert!(groups.insert(event.group_id.clone()), "{event:?}");
            assert!(!event.group_id.is_empty());
            *open = Some(event);
        } else {
            let started = open.take().unwrap();
            assert_eq!(event.name, names::SPEECH_ENDED);
            assert_eq!(started.group_id, event.group_id);
            assert_eq!(started.start_msec, event.start_msec);
            assert_eq!(started.end_msec, -1);
            ended.push(event);
        }
    }
    assert_eq!(open, [None, None], "every utterance ends");
    for turn in notes("turns") {
        let covered = |event: &&&Event| {
            i64::from(event.channel) == turn["channel"]
                && (near(event.start_msec, &turn["start_ms"])
                    || near(event.end_msec, &turn["end_ms"]))
        };
        assert!(
            ended.iter().any(|event| covered(&event)),
            "not heard: {turn}"
        );
    }
}

#[actix_rt::test]
async fn two_calls_never_share_a_group_id() {
    let groups = |events: Vec<Event>| {
        events
            .into_iter()
            .map(|e| e.group_id)
            .collect::<HashSet<_>>()
    };
    let one = groups(events(one_node("voice-activity"), 320).await);
    let other = groups(events(one_node("voice-activity"), 320).await);
    assert!(!one.is_empty() && one.is_disjoint(&other));
}

#[actix_rt::test]
async fn what_is_heard_does_not_depend_on_how_the_audio_was_cut() {
    let setup = || {
        call(
            "\"entry -> voice -> publisher\", \"entry -> keys -> publisher\", \"entry -> level -> publisher\"",
            "[[nodes]]\nid = \"voice\"\ntype = \"voice-activity\"\n[[nodes]]\nid = \"keys\"\ntype = \"dtmf\"\n\
             [[nodes]]\nid = \"level\"\ntype = \"level\"\n",
        )
    };
    let told = |mut events: Vec<Event>| {
        for event in &mut events {
            event.group_id = event
                .group_id
                .rsplit('-')
                .next()
                .unwrap_or_default()
                .to_owned();
        }
        let mut lines: Vec<_> = events.iter().map(Event::to_wire).collect();
        lines.sort();
        lines
    };
    let small = told(events(setup(), 317).await);
    let large = told(events(setup(), 60_001).await);
    assert!(small.len() > 20);
    assert_eq!(small, large);
}

#[actix_rt::test]
async fn every_channel_has_a_level_for_every_second_and_for_what_is_left() {
    let heard = events(one_node("level"), 320).await;
    for channel in 0..2 {
        let mut readings = heard.iter().filter(|event| event.channel == channel);
        let mut position = 0;
        for event in readings.by_ref() {
            assert_eq!(
                (event.name.as_str(), event.start_msec),
                (names::LEVEL, position)
            );
            position = event.end_msec;
            let peak = event.data["PeakDbfs"].as_f64().unwrap();
            let rms = event.data["RmsDbfs"].as_f64().unwrap();
            assert!(rms <= peak && peak <= 0.1, "{event:?}");
        }
        assert_eq!(position, 28_644);
    }
}
