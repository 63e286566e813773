//! Whole load tests, in short, against a small server.

use std::collections::BTreeMap;
use std::time::Duration;

use tonic::Code;

use super::*;
use crate::client::testserver::{Script, TestServer, any_start};

fn plan(server: &TestServer, streams: u64, connections: u64) -> Plan {
    Plan {
        target: server.target.clone(),
        start: any_start(),
        streams,
        connections,
        ramp: Duration::from_millis(100),
        duration: Duration::from_millis(400),
        chunk_bytes: 160,
        event_interval: Duration::from_millis(100),
        content: Content::AudioAndEvents,
    }
    .with_its_format()
}

fn counts<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected
        .into_iter()
        .map(|(key, count)| (key.to_owned(), count))
        .collect()
}

#[tokio::test]
async fn every_call_sends_what_is_due_and_every_event_comes_back() {
    let server = TestServer::tls(Script::Echo);
    let mut phases = Vec::new();
    let report = run(plan(&server, 6, 2), |snapshot| phases.push(snapshot.phase))
        .await
        .unwrap();
    assert_eq!((report.opened, report.never_ended), (6, 0), "{report:?}");
    assert_eq!(report.ended, counts([("OK", 6)]), "{report:?}");
    assert_eq!(report.ended_early, BTreeMap::new(), "{report:?}");
    assert!(report.chunks_due >= 6 * 15, "{report:?}");
    assert_eq!(report.chunks_sent, report.chunks_due, "{report:?}");
    assert_eq!(report.lateness.count, report.chunks_sent);
    assert!(report.events_due >= 6 * 3, "{report:?}");
    assert_eq!(
        (report.events_lost, report.round_trip.count),
        (0, report.events_due),
        "{report:?}"
    );
    assert_eq!(phases.last(), Some(&Phase::Finish));
    assert!(server.heard().chunks.iter().all(|chunk| chunk.len() == 160));
    assert_eq!(server.heard().requests, ["Finalize"; 6]);
}

#[tokio::test]
async fn refused_calls_are_counted_by_error_value_and_end_the_test() {
    let server =
        TestServer::plaintext(Script::Refuse("capacity-exceeded", Code::ResourceExhausted));
    let mut plan = plan(&server, 5, 1);
    plan.duration = Duration::from_secs(3_600);
    let report = run(plan, |_| {}).await.unwrap();
    assert_eq!(report.refused, counts([("capacity-exceeded", 5)]));
    assert_eq!((report.opened, report.chunks_due), (0, 0));
}

#[tokio::test]
async fn calls_that_break_off_are_counted_by_status() {
    let server = TestServer::plaintext(Script::Break(3, Code::Internal));
    let report = run(plan(&server, 1, 1), |_| {}).await.unwrap();
    assert_eq!(report.ended_early, counts([("INTERNAL", 1)]), "{report:?}");
    assert_eq!(report.opened, 1);
}

#[tokio::test]
async fn calls_that_reach_nobody_are_counted_with_the_reason() {
    let server = TestServer::plaintext(Script::Echo);
    let mut plan = plan(&server, 4, 2);
    plan.target.address = "127.0.0.1:1".parse().unwrap();
    let report = run(plan, |_| {}).await.unwrap();
    assert_eq!(report.failed, counts([("connect: connection refused", 4)]));
}

#[tokio::test]
async fn a_server_that_reads_nothing_is_owed_chunks_and_events() {
    let server = TestServer::plaintext(Script::Deaf);
    let mut plan = plan(&server, 1, 1);
    plan.chunk_bytes = 16_000;
    let report = run(plan, |_| {}).await.unwrap();
    assert!(report.chunks_sent < report.chunks_due, "{report:?}");
    assert_eq!(report.events_lost, report.events_due, "{report:?}");
    assert_eq!(report.never_ended, 1, "{report:?}");
}
