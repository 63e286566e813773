//! How the service stops: asked to, with calls open and without, and killed.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, interval, timeout};
use tonic::Code;

use crate::support::{Call, Said, Server, Start, WAIT, assert_wire, reason};

/// What a loaded machine may add to a time that the service promises.
const SLACK: Duration = Duration::from_secs(10);

#[tokio::test]
async fn sigterm_tells_open_calls_refuses_new_ones_and_exits_in_time() {
    let builder = Server::builder().set("service.drain_timeout_s", 3);
    let builder = builder.set("stream.finalize_timeout_ms", 3_000);
    let mut server = builder.start().await;
    let start = Start::new(&server.streaming_token().await);
    let connection = server.connect().await;
    let mut polite = Call::started(connection.clone(), &start).await;
    let mut stubborn = server.call(&start).await;
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let told = polite.await_event("Server Draining").await;
    assert!(told["Data"]["DeadlineMsec"].as_u64().unwrap() <= 3_000);
    stubborn.await_event("Server Draining").await;
    // On a connection that stands, and on a new one.
    for connection in [connection, server.connect().await] {
        let said = refused(connection, &start).await;
        assert_eq!(said.responses()[0]["operation-result"], "draining");
        assert_eq!(said.status.code(), Code::Unavailable);
        assert_wire("refused_for_draining", said.responses()[0].clone());
    }
    let ready = server.http().get(format!("{}/readyz", server.admin()));
    assert_eq!(ready.send().await.unwrap().status().as_u16(), 503);
    assert_wire("server_draining", told);
    let said = polite.hear_out().await;
    assert_eq!(
        (reason(said.ended()), said.status.code()),
        ("half-closed", Code::Ok)
    );
    stubborn.audio(vec![0xFF; 16_000]).await;
    let said = stubborn.rest().await;
    assert_eq!(reason(said.ended()), "server-draining");
    assert_eq!(said.status.code(), Code::Unavailable);
    assert_eq!(
        said.named("Recording Saved").len(),
        1,
        "what it said is kept"
    );
    let status = server.exited(SLACK).await;
    assert_eq!(status.code(), Some(0), "{status}");
    let whole = begun.elapsed();
    assert!(whole < Duration::from_secs(3) + SLACK / 2, "{whole:?}");
    assert!(!server.data("addresses.json").exists());
}

async fn refused(connection: tonic::transport::Channel, start: &Start) -> Said {
    let call = Call::open(connection).await;
    let _ = call.request(&start.json()).await;
    call.rest().await
}

#[tokio::test]
async fn sigterm_with_nobody_there_exits_at_once() {
    let builder = Server::builder().set("service.drain_timeout_s", 600);
    let mut server = builder.start().await;
    // An idle connection is nobody.
    let _idle = server.connect().await;
    server.signal(Signal::TERM);
    let status = server.exited(SLACK).await;
    assert_eq!(status.code(), Some(0), "{status}");
}

#[tokio::test]
async fn a_second_signal_ends_open_calls_at_once() {
    let builder = Server::builder().set("service.drain_timeout_s", 600);
    let mut server = builder.start().await;
    let start = Start::new(&server.streaming_token().await);
    let mut call = server.call(&start).await;
    server.signal(Signal::INT);
    call.await_event("Server Draining").await;
    server.signal(Signal::INT);
    let said = call.rest().await;
    assert_eq!(reason(said.ended()), "server-draining");
    assert_eq!(server.exited(SLACK).await.code(), Some(0));
}

#[tokio::test]
async fn a_recording_is_whole_up_to_its_last_second_when_the_service_is_killed() {
    const BYTES_PER_MSEC: usize = 16;
    let mut server = Server::start().await;
    let start = Start::new(&server.streaming_token().await);
    let audio = crate::support::fixture_audio();
    let call = server.call(&start).await;
    let mut sent = 0;
    let mut ticks = interval(Duration::from_millis(20));
    for chunk in audio.chunks(20 * BYTES_PER_MSEC).take(125) {
        ticks.tick().await;
        assert!(call.audio(chunk.to_vec()).await);
        sent += chunk.len();
    }
    server.signal(Signal::KILL);
    let status = server.exited(WAIT).await;
    assert_eq!(status.code(), None, "{status}");
    let lost = timeout(WAIT, call.rest())
        .await
        .expect("the client learns of it");
    assert_ne!(lost.status.code(), Code::Ok);
    let [(path, kept)] = &super::recordings::all(&server)[..] else {
        panic!("one recording was open")
    };
    assert!(
        audio.starts_with(kept),
        "{} is not the call",
        path.display()
    );
    let missing = (sent - kept.len()) / BYTES_PER_MSEC;
    assert!(missing <= 1_000, "{missing} ms are lost");
}
