//! Many streams on one connection: those that work, and those that stall beside them.

use std::time::Duration;

use bytes::Bytes;
use callwright_proto::{ContentType, StreamInput};
use futures_util::future::join_all;
use serde_json::json;
use tonic::Code;

use super::readers::{CHATTER, assert_echoes, narrow};
use crate::support::{Call, Heard, Server, Start, message};

/// More chunks of 160 bytes than a stream's window of 64 KiB takes unread.
const CHUNKS: usize = 450;

const CHUNK: &[u8] = &[0xFF; 160];

#[tokio::test]
async fn two_hundred_streams_on_one_connection_all_get_their_events() {
    let server = Server::start().await;
    server.apply_project(CHATTER).await;
    let start = Start::new(&server.streaming_token().await);
    let start = start.through("chatter").of(8_000, 1, "ulaw");
    let connection = server.connect().await;
    let opened = (0..200).map(|_| Call::started(connection.clone(), &start));
    let mut calls = join_all(opened).await;
    let talks = calls
        .iter_mut()
        .enumerate()
        .map(|(number, call)| async move {
            call.chunks(&CHUNK.repeat(5), 160).await;
            assert_echoes(call, &format!("event of {number}")).await;
        });
    join_all(talks).await;
    let ends = join_all(calls.into_iter().map(Call::hear_out)).await;
    for said in &ends {
        assert_eq!(said.status.code(), Code::Ok, "{:?}", said.status);
        assert_eq!(said.ended()["Data"]["AudioMsec"], 100);
        // Five levels and the echo came before this side was closed, the echo was read then.
        assert_eq!(said.ended()["Data"]["EventsSent"], 7);
    }
}

/// How a stream stalls.
#[derive(Clone, Copy)]
enum Stall {
    /// It is opened, and nothing is ever sent.
    NeverStarted,
    /// It was refused, and goes on sending.
    Refused,
    /// It runs, and does not read what it is told.
    NotReading,
}

impl Stall {
    fn first(self, start: &Start) -> Option<String> {
        match self {
            Self::NeverStarted => None,
            Self::Refused => Some(start.clone().with("/Audio/Encoding", json!("mp3")).json()),
            Self::NotReading => Some(start.json()),
        }
    }
}

#[tokio::test]
async fn a_hundred_stalled_streams_do_not_hurt_their_neighbours() {
    let server = Server::start().await;
    server.apply_project(CHATTER).await;
    let start = Start::new(&server.streaming_token().await);
    let start = start.through("chatter").of(8_000, 1, "ulaw");
    let connection = narrow(&server).await;
    let opened = (0..4).map(|_| Call::started(connection.clone(), &start));
    let mut neighbours = join_all(opened).await;
    let flavours = [Stall::NeverStarted, Stall::Refused, Stall::NotReading];
    let mut stalled = Vec::new();
    for number in 0..100 {
        let call = Call::open(connection.clone()).await;
        let flavour = flavours[number % flavours.len()];
        if let Some(first) = flavour.first(&start) {
            call.request(&first).await;
            stalled.push((flavour, call));
        } else {
            stalled.push((flavour, call));
        }
    }
    pump(&stalled, &mut neighbours).await;
    for call in &mut neighbours {
        assert_echoes(call, "at the end").await;
    }
    for call in neighbours {
        assert_eq!(call.hear_out().await.status.code(), Code::Ok);
    }
    for (flavour, call) in stalled.into_iter().take(flavours.len()) {
        assert_fate(flavour, call).await;
    }
}

/// Sends chunks one by one on every stalled stream that takes them, while the neighbours talk.
async fn pump(stalled: &[(Stall, Call)], neighbours: &mut [Call]) {
    for round in 0..CHUNKS {
        for (flavour, call) in stalled {
            if !matches!(flavour, Stall::NeverStarted) {
                // A stream whose window is full, or that has ended, takes none.
                call.offer(chunk());
            }
        }
        // A frame for each chunk: the connection writes before the next one is there.
        tokio::time::sleep(Duration::from_millis(1)).await;
        if round % 50 == 0 {
            for call in neighbours.iter_mut() {
                assert_echoes(call, &format!("round {round}")).await;
            }
        }
    }
}

fn chunk() -> StreamInput {
    message(ContentType::Audio, "", Bytes::from_static(CHUNK))
}

async fn assert_fate(flavour: Stall, mut call: Call) {
    match flavour {
        Stall::NeverStarted => call.half_close(),
        Stall::Refused => {}
        Stall::NotReading => {
            // What waits is read first; then it is a call like any other.
            call.half_close();
            let said = call.rest().await;
            assert!(matches!(said.heard[0], Heard::Response(_)));
            return assert_eq!(said.ended()["Name"], "Session Ended");
        }
    }
    let said = call.rest().await;
    let expected = match flavour {
        Stall::NeverStarted => Code::FailedPrecondition,
        _ => Code::InvalidArgument,
    };
    assert_eq!(said.status.code(), expected, "{:?}", said.status);
}
