//! Operators who watch a session's events.

use std::sync::Arc;

use callwright_domain::event::{Event, names};
use callwright_domain::protocol::EndReason;
use tokio::sync::mpsc;

use super::super::WatchEvents;
use crate::testing::call::{Call, call, one_node};
use crate::testing::outlet::Heard;
use crate::testing::settle;

async fn watch(call: &Call, room: usize) -> mpsc::Receiver<Arc<Event>> {
    let (to, from) = mpsc::channel(room);
    call.address.send(WatchEvents { to }).await.unwrap();
    from
}

async fn all(mut from: mpsc::Receiver<Arc<Event>>) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(event) = from.recv().await {
        names.push(event.name.clone());
    }
    names
}

#[actix_rt::test]
async fn a_watcher_sees_every_event_from_then_on_and_the_last_one_last() {
    tokio::time::pause();
    let call = one_node("chatty").begin();
    call.audio([0xFF; 160]);
    settle().await;
    let watcher = watch(&call, 16).await;
    call.audio([0xFF; 160]);
    call.event("Mark");
    call.finalize().await;
    assert_eq!(all(watcher).await, ["Chat", "Mark", names::SESSION_ENDED]);
}

#[actix_rt::test]
async fn a_watcher_that_does_not_keep_up_is_let_go_and_the_call_does_not_care() {
    tokio::time::pause();
    let call = one_node("chatty").begin();
    let (slow, quick) = (watch(&call, 2).await, watch(&call, 16).await);
    for _ in 0..5 {
        call.audio([0xFF; 160]);
    }
    assert_eq!(call.finalize().await.reason, EndReason::Finalized);
    assert_eq!(all(slow).await.len(), 2);
    assert_eq!(all(quick).await.len(), 6);
}

#[actix_rt::test]
async fn the_ninth_watcher_is_turned_away_until_another_has_gone() {
    tokio::time::pause();
    let call = one_node("chatty").begin();
    let mut watchers = Vec::new();
    for _ in 0..8 {
        watchers.push(watch(&call, 4).await);
    }
    let mut ninth = watch(&call, 4).await;
    assert!(ninth.recv().await.is_none());
    drop(watchers.pop());
    let mut tenth = watch(&call, 4).await;
    call.audio([0xFF; 160]);
    assert_eq!(tenth.recv().await.unwrap().name, "Chat");
    assert_eq!(watchers[0].recv().await.unwrap().name, "Chat");
    call.finalize().await;
}

#[actix_rt::test]
async fn nothing_follows_the_last_event_when_a_client_stops_reading_in_the_middle_of_a_burst() {
    tokio::time::pause();
    let chatty = |id| format!("[[nodes]]\nid = \"{id}\"\ntype = \"chatty\"\n");
    let wires =
        "\"entry -> a -> publisher\", \"entry -> b -> publisher\", \"entry -> c -> publisher\"";
    let nodes = ["a", "b", "c"].map(chatty).concat();
    // Room for the StartResponse and the first of the three events that one stretch of audio makes.
    let call = call(wires, &nodes)
        .heard_by(&Heard::reading_only(2))
        .begin();
    let watcher = watch(&call, 64).await;
    call.audio([0xFF; 160]);
    let (verdict, _) = call.verdict().await;
    assert_eq!(verdict.reason, EndReason::SlowReader);
    let seen = all(watcher).await;
    assert_eq!(seen, ["Chat", "Chat", names::SESSION_ENDED]);
}
