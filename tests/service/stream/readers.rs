//! Clients that do not read, and clients that go: what becomes of their calls, and of those beside them.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{sleep, timeout};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use callwright_proto::ContentType;

use crate::support::{Call, Heard, Server, Start, WAIT, assert_wire, message, reason};

/// Says much: 50 events for each second of audio.
pub(super) const CHATTER: &str = r#"
name = "chatter"
kind = "flow"
wires = ["entry -> level -> publisher", "entry -> publisher"]
[[nodes]]
id = "level"
type = "level"
settings = { interval-ms = 20 }
"#;

/// Bytes of events that a client of these tests takes unread on one stream.
const SMALL_WINDOW: u32 = 8_192;

/// A connection whose streams take little unread, so that not reading shows soon.
pub(super) async fn narrow(server: &Server) -> Channel {
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(server.ca()));
    let endpoint = Endpoint::from_shared(format!("https://{}", server.address("stream"))).unwrap();
    let endpoint = endpoint.tls_config(tls).unwrap();
    let endpoint = endpoint.initial_stream_window_size(SMALL_WINDOW);
    timeout(WAIT, endpoint.connect()).await.unwrap().unwrap()
}

/// Sends audio and reads nothing, until the call takes no more or has had ten minutes of it.
pub(super) async fn chatter(call: &Call) {
    for _ in 0..75 {
        // 8 s of μ-law; a call that has ended stops taking it.
        match timeout(Duration::from_millis(500), call.audio(vec![0xFF; 64_000])).await {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
    }
}

pub(super) async fn assert_echoes(call: &mut Call, word: &str) {
    call.event(&format!("{{\"Event\":{{\"Name\":\"{word}\"}}}}"))
        .await;
    call.await_event(word).await;
}

async fn chatty_server(grace_ms: u32) -> (Server, Start, String) {
    let builder = Server::builder()
        .set("stream.slow_reader_patience_ms", 300)
        .set("stream.slow_reader_grace_ms", grace_ms);
    let server = builder.start().await;
    server.apply_project(CHATTER).await;
    let start = Start::new(&server.streaming_token().await);
    let operator = server.token("default", &["operator"]).await;
    (
        server,
        start.through("chatter").of(8_000, 1, "ulaw"),
        operator,
    )
}

#[tokio::test]
async fn a_client_that_did_not_read_is_told_so_when_it_reads_again() {
    let (server, start, operator) = chatty_server(60_000).await;
    let connection = narrow(&server).await;
    let mut neighbour = Call::started(connection.clone(), &start).await;
    let slow = Call::started(connection, &start).await;
    chatter(&slow).await;
    server.await_sessions(1, &operator).await;
    assert_echoes(&mut neighbour, "while it does not read").await;
    let said = slow.rest().await;
    assert_eq!(said.status.code(), Code::ResourceExhausted);
    assert_eq!(reason(said.ended()), "slow-reader");
    let levels = said.named("Level");
    assert!(
        levels.len() >= 128,
        "half of the queue holds 128, not {}",
        levels.len()
    );
    assert_in_order(&levels);
    assert_eq!(
        said.ended()["Data"]["EventsSent"].as_u64().unwrap(),
        said.events().len() as u64
    );
    assert_wire("level", levels[0].clone());
    assert_echoes(&mut neighbour, "after it was told").await;
    assert_eq!(neighbour.hear_out().await.status.code(), Code::Ok);
}

/// A client that reads, over a connection that carries little at a time, and sends faster than it reads.
#[tokio::test]
async fn a_client_that_sends_faster_than_it_reads_is_slowed_down_and_loses_nothing() {
    let server = Server::start().await;
    server.apply_project(CHATTER).await;
    let start = Start::new(&server.streaming_token().await);
    let connection = narrow(&server).await;
    let start = start.through("chatter").of(8_000, 1, "ulaw");
    let mut call = Call::started(connection, &start).await;
    let mut levels = Vec::new();
    for _ in 0..15 {
        // 8 s of μ-law, 120 s in all, as soon as there is room for them.
        while !call.offer(message(ContentType::Audio, "", vec![0xFF; 64_000].into())) {
            match call.next().await.unwrap() {
                Heard::Event(event) => levels.push(event),
                other => panic!("{other:?}"),
            }
        }
    }
    let said = call.hear_out().await;
    assert_eq!(reason(said.ended()), "half-closed");
    levels.extend(said.named("Level").into_iter().cloned());
    assert_eq!(levels.len(), 120 * 50);
    assert_in_order(&levels.iter().collect::<Vec<_>>());
}

/// What came is a beginning of what was said, without a hole.
fn assert_in_order(levels: &[&Value]) {
    for (place, level) in levels.iter().enumerate() {
        assert_eq!(level["StartMsec"], place * 20, "an event is missing");
    }
}

#[tokio::test]
async fn a_client_that_never_reads_is_cut_off_and_its_neighbours_are_not() {
    let (server, start, operator) = chatty_server(200).await;
    let connection = narrow(&server).await;
    let mut neighbour = Call::started(connection.clone(), &start).await;
    let mut deaf = Call::started(connection, &start).await;
    chatter(&deaf).await;
    server.await_sessions(1, &operator).await;
    deaf.cut_off().await;
    let cut = loop {
        match deaf.next().await {
            Ok(Heard::Event(event)) => assert_ne!(event["Name"], "Session Ended"),
            Ok(other) => panic!("{other:?}"),
            Err(status) => break status,
        }
    };
    assert_ne!(
        cut.code(),
        Code::Ok,
        "a call that was cut off did not end well"
    );
    assert_echoes(&mut neighbour, "after the cut").await;
    assert_eq!(neighbour.hear_out().await.status.code(), Code::Ok);
}

#[tokio::test]
async fn a_call_whose_client_resets_or_vanishes_leaves_the_directory() {
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await);
    let operator = server.token("default", &["operator"]).await;
    let connection = server.connect().await;
    let neighbour = Call::started(connection.clone(), &start).await;
    let reset = Call::started(connection.clone(), &start).await;
    let vanished = server.call(&start).await;
    reset.audio(vec![0xFF; 16_000]).await;
    vanished.audio(vec![0xFF; 16_000]).await;
    server.await_sessions(3, &operator).await;
    drop(reset);
    drop(vanished);
    server.await_sessions(1, &operator).await;
    await_logged(&server, "client-gone", 2).await;
    let said = neighbour.hear_out().await;
    assert_eq!(reason(said.ended()), "half-closed");
    assert_eq!(recordings_of(&server, 1_000), 2, "what they said is kept");
}

async fn await_logged(server: &Server, word: &str, count: usize) {
    let found = async {
        while server.log().matches(word).count() < count {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(WAIT, found).await.expect("logged in time");
}

/// How many recordings hold so many milliseconds.
fn recordings_of(server: &Server, msec: usize) -> usize {
    let files = super::recordings::all(server).into_iter();
    files.filter(|(_, audio)| audio.len() == msec * 16).count()
}

#[tokio::test]
async fn a_client_that_reads_gets_every_event_however_fast_it_sends() {
    let (server, start, _operator) = chatty_server(5_000).await;
    let mut call = server.call(&start).await;
    for _ in 0..5 {
        call.audio(vec![0xFF; 64_000]).await;
    }
    call.half_close();
    let said = call.rest().await;
    assert_eq!(said.status.code(), Code::Ok, "{:?}", said.status);
    let levels = said.named("Level");
    assert_eq!(levels.len(), 2_000);
    assert_in_order(&levels);
}
