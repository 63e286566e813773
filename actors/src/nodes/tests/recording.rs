//! The recorder, and a disk that is slow, broken or silent.

use std::time::Duration;

use callwright_domain::event::{Event, names};
use callwright_domain::protocol::EndReason;

use crate::ports::RecordingFault;
use crate::testing::call::{Call, one_node};
use crate::testing::settle;

/// A quarter of a second of 8 kHz μ-law: what the recorder gathers before it writes.
const QUARTER: [u8; 2_000] = [0x11; 2_000];

async fn quarters(call: &Call, count: usize) {
    for _ in 0..count {
        call.audio(QUARTER);
        settle().await;
    }
}

fn only(call: &Call, name: &str) -> Event {
    let mut told = call.heard.named(name);
    assert_eq!(told.len(), 1, "{name}");
    told.remove(0)
}

#[actix_rt::test]
async fn a_call_is_recorded_as_it_came_and_its_place_and_length_are_told() {
    tokio::time::pause();
    let call = one_node("recorder").audio(16_000, 2, "pcm").begin();
    let sent: Vec<u8> = (0..64_000_u32).map(|n| (n % 251) as u8).collect();
    for chunk in sent.chunks(1_277) {
        call.audio(chunk);
    }
    call.finalize().await;
    assert_eq!(call.disk.audio(0), sent);
    let info = call.disk.info(0);
    assert_eq!((info.tenant.as_str(), info.node.as_str()), ("acme", "n"));
    assert_eq!(info.format.frame_bytes(), 4);
    let saved = only(&call, names::RECORDING_SAVED);
    assert_eq!((saved.start_msec, saved.end_msec), (0, 1_000));
    assert_eq!(saved.data["LengthMsec"], 1_000);
    assert_eq!(saved.data["Path"], "/memory/0.wav");
    assert_eq!(saved.data["Node"], "n");
}

#[actix_rt::test]
async fn a_gap_is_filled_with_silence_and_told_once_it_is_over() {
    tokio::time::pause();
    let call = one_node("recorder").begin();
    quarters(&call, 1).await;
    call.disk.fail(RecordingFault::Full);
    quarters(&call, 2).await;
    assert_eq!(call.heard.events(), [], "nobody knows its length yet");
    call.disk.fail(None);
    quarters(&call, 1).await;
    let told = only(&call, names::AUDIO_DISCARDED);
    assert_eq!((told.start_msec, told.end_msec), (250, 750));
    assert_eq!(told.data["LengthMsec"], 500);
    assert_eq!(told.data["Node"], "n");
    call.finalize().await;
    let expected = [&QUARTER[..], &[0xFF; 4_000], &QUARTER].concat();
    assert_eq!(call.disk.audio(0), expected);
    assert_eq!(only(&call, names::RECORDING_SAVED).end_msec, 1_000);
}

#[actix_rt::test]
async fn a_gap_that_lasts_until_the_end_is_told_too() {
    tokio::time::pause();
    let call = one_node("recorder").begin();
    quarters(&call, 2).await;
    call.disk.fail(RecordingFault::Full);
    quarters(&call, 1).await;
    call.audio([0x11; 800]);
    call.finalize().await;
    let told = only(&call, names::AUDIO_DISCARDED);
    assert_eq!((told.start_msec, told.end_msec), (500, 850));
    assert_eq!(only(&call, names::RECORDING_SAVED).end_msec, 500);
}

#[actix_rt::test]
async fn a_disk_that_is_too_slow_for_ten_seconds_has_failed() {
    tokio::time::pause();
    let call = one_node("recorder").begin();
    settle().await;
    call.disk.fail(RecordingFault::Full);
    quarters(&call, 40).await;
    assert_eq!(call.heard.events(), []);
    quarters(&call, 1).await;
    let told = only(&call, names::NODE_ERROR);
    assert_eq!(
        told.data["Message"],
        "the disk does not keep up with the calls"
    );
    assert_eq!(call.finalize().await.reason, EndReason::Finalized);
    assert_eq!(call.heard.named(names::RECORDING_SAVED), []);
}

#[actix_rt::test]
async fn a_recording_that_cannot_begin_is_told_with_its_cause() {
    tokio::time::pause();
    let setup = one_node("recorder");
    setup
        .disk
        .fail(RecordingFault::Failed("no space left".to_owned()));
    let call = setup.begin();
    quarters(&call, 2).await;
    let told = only(&call, names::NODE_ERROR);
    assert_eq!(told.data["Message"], "the recording failed: no space left");
    assert_eq!(call.finalize().await.reason, EndReason::Finalized);
}

#[actix_rt::test]
async fn a_disk_that_never_answers_is_named_at_the_deadline() {
    tokio::time::pause();
    let call = one_node("recorder").begin();
    call.disk.fall_silent();
    call.audio([0x11; 160]);
    call.request("Finalize");
    let (verdict, after) = call.verdict().await;
    assert_eq!(after, Duration::from_secs(10));
    assert!(
        verdict.message.starts_with("not finished in time: n"),
        "{}",
        verdict.message
    );
}

#[actix_rt::test]
async fn a_session_that_ends_at_once_loses_nothing_of_its_recording() {
    tokio::time::pause();
    let call = one_node("recorder").begin();
    quarters(&call, 1).await;
    call.audio([0x22; 900]);
    call.request("Stop");
    call.verdict().await;
    assert_eq!(call.disk.audio(0), [&QUARTER[..], &[0x22; 900]].concat());
}
