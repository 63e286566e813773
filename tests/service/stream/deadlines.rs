//! Deadlines and limits: whoever says nothing, too much, or for too long is told so and let go.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval, timeout};
use tokio_rustls::TlsConnector;
use tonic::Code;

use crate::support::{Call, Said, Server, Start, WAIT, assert_wire, reason};

const ECHO: &str = "name = \"echo\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n";

fn assert_ended(said: &Said, why: &str, code: Code) {
    assert_eq!(reason(said.ended()), why);
    assert_eq!(said.status.code(), code, "{:?}", said.status);
    assert!(said.status.message().starts_with(why), "{:?}", said.status);
}

#[tokio::test]
async fn a_stream_without_a_start_is_refused_in_time() {
    let builder = Server::builder().set("stream.start_timeout_ms", 300);
    let server = builder.start().await;
    let begun = Instant::now();
    let said = server.stream().await.rest().await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(said.status.code(), Code::DeadlineExceeded);
    let [response] = said.responses()[..] else {
        panic!("one response was due: {said:?}")
    };
    assert_eq!(response["operation-result"], "start-timeout");
    assert_wire("refused_for_its_time", response.clone());
}

#[tokio::test]
async fn a_call_with_nothing_on_the_wire_ends_while_one_that_speaks_goes_on() {
    let builder = Server::builder().set("stream.silence_timeout_s", 2);
    let server = builder.start().await;
    server.apply_project(ECHO).await;
    let start = Start::new(&server.streaming_token().await).through("echo");
    let connection = server.connect().await;
    let mut speaking = Call::started(connection.clone(), &start).await;
    let silent = Call::started(connection, &start).await;
    silent.audio(vec![0xFF; 320]).await;
    let spoken = async {
        let mut ticks = interval(Duration::from_millis(100));
        for _ in 0..25 {
            ticks.tick().await;
            assert!(speaking.audio(vec![0xFF; 320]).await);
        }
    };
    let (said, ()) = tokio::join!(silent.rest(), spoken);
    assert_ended(&said, "silence-timeout", Code::DeadlineExceeded);
    assert_wire("ended_by_silence", said.ended().clone());
    speaking.event("{\"Event\":{\"Name\":\"alive\"}}").await;
    speaking.await_event("alive").await;
    assert_ended_well(speaking.hear_out().await);
}

fn assert_ended_well(said: Said) {
    assert_eq!(reason(said.ended()), "half-closed");
    assert_eq!(said.status.code(), Code::Ok);
}

#[tokio::test]
async fn a_call_over_its_maximum_ends_however_much_it_speaks() {
    let builder = Server::builder()
        .set("stream.silence_timeout_s", 1)
        .set("stream.max_session_s", 1);
    let server = builder.start().await;
    let start = Start::new(&server.streaming_token().await);
    let call = server.call(&start).await;
    let begun = Instant::now();
    let mut ticks = interval(Duration::from_millis(20));
    while call.audio(vec![0xFF; 320]).await {
        ticks.tick().await;
        assert!(begun.elapsed() < WAIT, "the call goes on and on");
    }
    let said = call.rest().await;
    assert_ended(&said, "maximum-duration", Code::DeadlineExceeded);
    assert_eq!(said.named("Recording Saved").len(), 1);
}

#[tokio::test]
async fn a_message_over_64_kib_ends_the_call_and_one_of_64_kib_does_not() {
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await);
    let largest = server.call(&start).await;
    largest.audio(vec![0xFF; 65_536]).await;
    let said = largest.hear_out().await;
    assert_eq!(said.ended()["Data"]["AudioBytes"], 65_536);
    assert_ended_well(said);
    // Just over, over what the transport takes, and an event.
    for size in [65_537, 1_000_000] {
        let call = server.call(&start).await;
        call.audio(vec![0xFF; 160]).await;
        call.audio(vec![0xFF; size]).await;
        let said = call.rest().await;
        assert_ended(&said, "message-too-large", Code::ResourceExhausted);
        assert_eq!(said.ended()["Data"]["AudioBytes"], 160);
        assert_eq!(said.named("Recording Saved").len(), 1);
    }
    let call = server.call(&start).await;
    let data = json!({ "Event": { "Name": "x", "Data": { "Long": "y".repeat(70_000) } } });
    call.event(&data.to_string()).await;
    let said = call.rest().await;
    assert_ended(&said, "message-too-large", Code::ResourceExhausted);
    let unstarted = server.stream().await;
    unstarted.audio(vec![0xFF; 100_000]).await;
    let said = unstarted.rest().await;
    assert_eq!(said.responses()[0]["operation-result"], "invalid-request");
    assert_eq!(said.status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn ten_minutes_of_silence_hold_no_utterance() {
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await).of(8_000, 1, "ulaw");
    let call = server.call(&start).await;
    for _ in 0..600 {
        assert!(call.audio(vec![0xFF; 8_000]).await);
    }
    let said = call.hear_out().await;
    assert_eq!(said.ended()["Data"]["AudioMsec"], 600_000);
    let names: Vec<_> = said.events().iter().map(|event| &event["Name"]).collect();
    assert_eq!(names, ["Recording Saved", "Session Ended"]);
}

/// Reads until the other side closes the connection.
async fn closed(connection: &mut (impl AsyncRead + Unpin)) {
    let mut rest = Vec::new();
    let read = timeout(WAIT, connection.read_to_end(&mut rest)).await;
    // Closed or reset, gone either way.
    drop(read.expect("the server closes the connection"));
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    for plaintext in [false, true] {
        let builder = Server::builder().set("stream.handshake_timeout_ms", 300);
        let server = builder.set("stream.plaintext", plaintext).start().await;
        let address = server.address("stream").to_owned();
        let mut silent = TcpStream::connect(&address).await.unwrap();
        let mut half = TcpStream::connect(&address).await.unwrap();
        half.write_all(if plaintext {
            b"PRI * HT"
        } else {
            b"\x16\x03\x01"
        })
        .await
        .unwrap();
        let mut web = TcpStream::connect(&address).await.unwrap();
        web.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        tokio::join!(closed(&mut silent), closed(&mut half), closed(&mut web));
        if !plaintext {
            greeted_and_silent(&server).await;
        }
        assert_alive(&server, plaintext).await;
    }
}

/// A client that finishes the TLS handshake and says nothing more.
async fn greeted_and_silent(server: &Server) {
    let tcp = TcpStream::connect(server.address("stream")).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let connector = TlsConnector::from(Arc::new(super::tls::trusting(&server.ca())));
    let greeting = timeout(WAIT, connector.connect(name, tcp)).await;
    closed(&mut greeting.unwrap().unwrap()).await;
}

async fn assert_alive(server: &Server, plaintext: bool) {
    let start = Start::new(&server.streaming_token().await);
    let connection = if plaintext {
        crate::support::dial_plaintext(server.address("stream")).await
    } else {
        server.connect().await
    };
    let call = Call::started(connection, &start).await;
    assert_ended_well(call.hear_out().await);
}
