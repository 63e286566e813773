//! Every way in which a session ends, at its exact time, with its reason, and with its places given back.

use std::time::Duration;

use callwright_domain::event::{Event, names};
use callwright_domain::protocol::EndReason;

use super::super::{Inbound, InboundFault};
use crate::testing::call::{Call, call, echo, one_node};
use crate::testing::outlet::Heard;
use crate::testing::{assert_empty, roomy, settle};

/// The data of `Session Ended`.
fn totals(event: &Event) -> (&str, u64, u64, u64) {
    assert_eq!(event.name, names::SESSION_ENDED);
    let number = |key: &str| event.data[key].as_u64().unwrap();
    (
        event.data["Reason"].as_str().unwrap(),
        number("AudioMsec"),
        number("AudioBytes"),
        number("EventsSent"),
    )
}

pub(super) async fn ended(call: &Call) -> (EndReason, String, Duration) {
    let (verdict, after) = call.verdict().await;
    assert_empty(&call.directory);
    (verdict.reason, verdict.message, after)
}

#[actix_rt::test]
async fn a_call_is_answered_heard_finalized_and_summed_up() {
    tokio::time::pause();
    let call = one_node("chatty").begin();
    settle().await;
    assert_eq!(
        call.heard.responses(),
        [("StartResponse".to_owned(), "success".to_owned())]
    );
    assert_eq!(call.directory.places_taken(), 1);
    assert_eq!(call.directory.listings().len(), 1);
    for _ in 0..3 {
        call.audio([0xFF; 160]);
    }
    call.event("Mark");
    let verdict = call.finalize().await;
    assert_eq!(
        (verdict.reason, verdict.cut_after),
        (EndReason::Finalized, None)
    );
    assert_eq!(totals(&verdict.last_event), ("finalized", 60, 480, 5));
    let said: Vec<_> = call.heard.events().into_iter().map(|e| e.name).collect();
    assert_eq!(said, ["Chat", "Chat", "Chat", "Mark"]);
    assert_eq!(call.heard.responses()[1].0, "FinalizeResponse");
    assert_empty(&call.directory);
    assert_eq!(
        call.directory
            .totals
            .audio_bytes
            .load(std::sync::atomic::Ordering::Relaxed),
        480
    );
}

#[actix_rt::test]
async fn finalize_waits_for_what_a_node_still_has_to_say() {
    tokio::time::pause();
    let call = one_node("slow").begin();
    call.request("Finalize");
    let (reason, message, after) = ended(&call).await;
    assert_eq!((reason, message.as_str()), (EndReason::Finalized, ""));
    assert_eq!(after, Duration::from_secs(3));
    assert_eq!(call.heard.named("Slow Done").len(), 1);
}

#[actix_rt::test]
async fn stop_ends_at_once_and_leaves_the_rest_unsaid() {
    tokio::time::pause();
    let call = one_node("slow").begin();
    call.request("Stop");
    let (reason, _, after) = ended(&call).await;
    assert_eq!((reason, after), (EndReason::Stopped, Duration::ZERO));
    assert_eq!(call.heard.events(), []);
    assert_eq!(call.heard.responses()[1].0, "StopResponse");
}

#[actix_rt::test]
async fn a_half_close_finalizes() {
    tokio::time::pause();
    let mut call = one_node("slow").begin();
    call.half_close();
    let (reason, _, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::HalfClosed, Duration::from_secs(3))
    );
    assert_eq!(call.heard.named("Slow Done").len(), 1);
}

#[actix_rt::test]
async fn a_client_that_went_away_is_no_half_close() {
    tokio::time::pause();
    let mut call = echo().begin();
    settle().await;
    call.heard.leave();
    call.half_close();
    assert_eq!(ended(&call).await.0, EndReason::ClientGone);
}

#[actix_rt::test]
async fn faults_of_the_stream_end_the_session_by_their_kind() {
    tokio::time::pause();
    let text = || "said so".to_owned();
    for (fault, expected) in [
        (InboundFault::TooLarge(text()), EndReason::MessageTooLarge),
        (InboundFault::Protocol(text()), EndReason::ProtocolError),
        (InboundFault::Lost(text()), EndReason::ClientGone),
    ] {
        let call = one_node("chatty").begin();
        call.send(Inbound::Fault(fault));
        let (reason, message, _) = ended(&call).await;
        assert_eq!((reason, message.as_str()), (expected, "said so"));
    }
}

#[actix_rt::test]
async fn silence_on_the_wire_ends_the_session_when_it_has_lasted_long_enough() {
    tokio::time::pause();
    let call = echo().begin();
    tokio::time::sleep(Duration::from_secs(40)).await;
    call.audio([0xFF; 160]);
    let (reason, message, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::SilenceTimeout, Duration::from_secs(100))
    );
    assert_eq!(message, "nothing came for 60 s");
}

#[actix_rt::test]
async fn a_call_that_never_falls_silent_ends_at_its_maximum() {
    tokio::time::pause();
    let call = echo()
        .limits(|limits| limits.duration = Duration::from_secs(130))
        .begin();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(32)).await;
        call.audio([0xFF; 160]);
    }
    let (reason, message, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::MaximumDuration, Duration::from_secs(130))
    );
    assert_eq!(message, "the session reached its maximum of 130 s");
}

#[actix_rt::test]
async fn a_deadline_still_gives_nodes_their_time_to_finish() {
    tokio::time::pause();
    let call = one_node("slow").begin();
    let (reason, _, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::SilenceTimeout, Duration::from_secs(63))
    );
    assert_eq!(call.heard.named("Slow Done").len(), 1);
}

#[actix_rt::test]
async fn a_node_that_never_finishes_is_named_at_the_deadline() {
    tokio::time::pause();
    let call = call(
        "\"entry -> talk -> publisher\", \"entry -> hang\"",
        "[[nodes]]\nid = \"talk\"\ntype = \"chatty\"\n[[nodes]]\nid = \"hang\"\ntype = \"stuck\"\n",
    )
    .begin();
    tokio::time::sleep(Duration::from_secs(30)).await;
    call.request("Finalize");
    let (reason, message, after) = ended(&call).await;
    assert_eq!(
        (reason, after),
        (EndReason::Finalized, Duration::from_secs(40))
    );
    assert_eq!(message, "not finished in time: hang");
}

#[actix_rt::test]
async fn stop_cuts_a_finalize_short() {
    tokio::time::pause();
    let call = one_node("stuck").begin();
    call.request("Finalize");
    call.request("Stop");
    let (reason, _, after) = ended(&call).await;
    assert_eq!((reason, after), (EndReason::Stopped, Duration::ZERO));
}

#[actix_rt::test]
async fn a_client_that_does_not_read_is_cut_off_after_its_grace() {
    tokio::time::pause();
    let call = one_node("chatty").heard_by(&Heard::reading_only(4)).begin();
    for _ in 0..10 {
        call.audio([0xFF; 160]);
    }
    let (verdict, after) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::SlowReader);
    assert_eq!(verdict.cut_after, Some(Duration::from_secs(5)));
    assert_eq!(after, Duration::ZERO);
    assert_eq!(verdict.message, "the client does not read its events");
    assert_empty(&call.directory);
}

#[actix_rt::test]
async fn audio_that_comes_too_late_is_told_once_with_place_and_length() {
    tokio::time::pause();
    let call = one_node("slow").begin();
    call.audio([0xFF; 800]);
    call.request("Finalize");
    for _ in 0..5 {
        call.audio([0xFF; 160]);
    }
    ended(&call).await;
    let told = call.heard.named(names::AUDIO_DISCARDED);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].start_msec, told[0].end_msec), (100, 200));
    assert_eq!(told[0].data["Bytes"], 800);
    assert_eq!(told[0].data["LengthMsec"], 100);
}

#[actix_rt::test]
async fn a_frame_that_the_end_cut_in_two_is_told() {
    tokio::time::pause();
    let call = echo().audio(8_000, 2, "pcm").begin();
    call.audio([0; 323]);
    let verdict = call.finalize().await;
    let told = call.heard.named(names::AUDIO_DISCARDED);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].start_msec, told[0].end_msec), (10, 10));
    assert_eq!(told[0].data["Bytes"], 3);
    assert_eq!(totals(&verdict.last_event), ("finalized", 10, 323, 2));
}

#[actix_rt::test]
async fn many_calls_that_end_in_every_way_leave_nothing_behind() {
    tokio::time::pause();
    let directory = roomy();
    let mut calls = Vec::new();
    for number in 0..40 {
        let kind = ["chatty", "slow", "stuck", "panics", "fails"][number % 5];
        let call = one_node(kind).in_directory(&directory).begin();
        call.audio([0xFF; 160]);
        match number % 3 {
            0 => call.request("Finalize"),
            1 => call.request("Stop"),
            _ => {}
        }
        calls.push(call);
    }
    settle().await;
    assert!(directory.places_taken() > 0, "some are still finishing");
    for call in &calls {
        call.verdict().await;
    }
    assert_empty(&directory);
}

#[actix_rt::test]
async fn a_client_that_falls_behind_is_held_back_and_goes_on_when_it_has_caught_up() {
    tokio::time::pause();
    let heard = Heard::default();
    let call = one_node("chatty").heard_by(&heard).begin();
    heard.fall_behind(true);
    call.audio([0xFF; 160]);
    tokio::time::sleep(Duration::from_millis(2_900)).await;
    assert_eq!(heard.events().len(), 0, "its audio waits");
    assert!(!heard.is_closed());
    heard.fall_behind(false);
    call.request("Finalize");
    let (verdict, _) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::Finalized);
    assert_eq!(heard.events().len(), 1);
}

#[actix_rt::test]
async fn a_client_that_stays_behind_is_ended_as_a_slow_reader() {
    tokio::time::pause();
    let heard = Heard::default();
    let call = one_node("chatty").heard_by(&heard).begin();
    heard.fall_behind(true);
    call.audio([0xFF; 160]);
    let (verdict, after) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::SlowReader);
    assert_eq!(
        verdict.message,
        "the client has not read its events for 3000 ms"
    );
    assert_eq!(verdict.cut_after, Some(Duration::from_secs(5)));
    assert_eq!(after.as_millis() / 100, 30);
    assert_empty(&call.directory);
}
