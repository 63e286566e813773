//! The main job: the sample call goes in, and what happened in it comes out.

use std::fs;

use serde_json::Value;
use tonic::Code;

use crate::support::{Said, Server, Start, assert_wire, fixture, fixture_audio, reason, wav_data};

/// How far a turn's edge may be from where the recipe of the sample call put it, in milliseconds.
const TURN_TOLERANCE: i64 = 60;
/// The same for a key.
const KEY_TOLERANCE: i64 = 25;

fn truth() -> Value {
    serde_json::from_slice(&fs::read(fixture("call.json")).unwrap()).unwrap()
}

fn msec(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

fn assert_near(found: &Value, expected: &Value, tolerance: i64, what: &Value) {
    let off = msec(found) - msec(expected);
    assert!(
        off.abs() <= tolerance,
        "{found} is {off} ms off {expected}: {what}"
    );
}

/// Holds the events of the sample call against what is known of it.
pub(super) fn assert_events(events: &[&Value]) {
    let truth = truth();
    let of = |name: &str| -> Vec<&Value> {
        let named = events.iter().filter(|event| event["Name"] == name);
        let mut named: Vec<_> = named.copied().collect();
        named.sort_by_key(|event| msec(&event["StartMsec"]));
        named
    };
    let (started, ended) = (of("Speech Started"), of("Speech Ended"));
    let turns = truth["turns"].as_array().unwrap();
    assert_eq!((started.len(), ended.len()), (turns.len(), turns.len()));
    for ((turn, started), ended) in turns.iter().zip(&started).zip(&ended) {
        assert_eq!(ended["Channel"], turn["channel"]);
        assert_near(
            &ended["StartMsec"],
            &turn["start_ms"],
            TURN_TOLERANCE,
            ended,
        );
        assert_near(&ended["EndMsec"], &turn["end_ms"], TURN_TOLERANCE, ended);
        assert_eq!(started["StartMsec"], ended["StartMsec"]);
        assert_eq!(started["GroupId"], ended["GroupId"]);
        assert_eq!(started["EndMsec"], -1);
    }
    let (keys, pressed) = (truth["digits"].as_array().unwrap(), of("DTMF"));
    let digits = |events: &[&Value]| -> String {
        let digit = |event: &&Value| event["Data"]["Digit"].as_str().unwrap().to_owned();
        events.iter().map(digit).collect()
    };
    assert_eq!(digits(&pressed), "1234#");
    for (key, event) in keys.iter().zip(&pressed) {
        assert_eq!(event["Channel"], key["channel"]);
        assert_near(&event["StartMsec"], &key["start_ms"], KEY_TOLERANCE, event);
        assert_near(&event["EndMsec"], &key["end_ms"], KEY_TOLERANCE, event);
    }
}

fn assert_recorded(events: &[&Value]) {
    let saved: Vec<_> = events
        .iter()
        .filter(|event| event["Name"] == "Recording Saved")
        .collect();
    assert_eq!(saved.len(), 1, "{events:?}");
    assert_eq!(saved[0]["Data"]["LengthMsec"], truth()["duration_ms"]);
    let file = fs::read(saved[0]["Data"]["Path"].as_str().unwrap()).unwrap();
    assert!(
        wav_data(&file) == fixture_audio(),
        "the recording is not the call"
    );
}

fn assert_totals(said: &Said) {
    let (ended, audio) = (said.ended(), fixture_audio());
    assert_eq!(reason(ended), "half-closed");
    assert_eq!(ended["Data"]["AudioBytes"], audio.len());
    assert_eq!(ended["Data"]["AudioMsec"], truth()["duration_ms"]);
    assert_eq!(ended["Data"]["EventsSent"], said.events().len());
}

async fn tell(server: Server) {
    let start = Start::new(&server.streaming_token().await);
    let mut call = server.stream().await;
    assert_wire("started", call.start(&start).await);
    call.chunks(&fixture_audio(), 320).await;
    let said = call.hear_out().await;
    assert_eq!(said.status.code(), Code::Ok, "{:?}", said.status);
    assert_events(&said.events());
    assert_wire("key", said.named("DTMF")[0].clone());
    assert_recorded(&said.events());
    assert_totals(&said);
    command_line_tells_the_same(&server).await;
}

async fn command_line_tells_the_same(server: &Server) {
    let (id, secret) = server.client("default", &["streaming"]).await;
    let file = fixture("call.wav");
    let arguments = [
        "stream",
        file.to_str().unwrap(),
        "--project",
        "demo-stream",
        "--fast",
        "--json",
        "--client-id",
        &id,
        "--client-secret",
        &secret,
    ];
    let printed = server.done(&arguments).await;
    let lines: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["operation-result"], "success");
    let events: Vec<&Value> = lines
        .iter()
        .map(|line| &line["Event"])
        .filter(|event| event.is_object())
        .collect();
    assert_events(&events);
    assert_recorded(&events);
    assert_eq!(events.last().unwrap()["Name"], "Session Ended");
}

#[tokio::test]
async fn the_command_line_tells_a_refusal_and_exits_with_a_code_of_its_own() {
    let server = Server::start().await;
    let (id, secret) = server.client("default", &["streaming"]).await;
    let file = fixture("call.wav");
    let file = file.to_str().unwrap();
    let credentials = ["--client-id", &id, "--client-secret", &secret];
    let refused = ["stream", file, "--project", "nothing", "--fast"];
    let outcome = server.run(&[&refused[..], &credentials].concat()).await;
    assert!(outcome.code.is_some_and(|code| code != 0), "{outcome:?}");
    assert!(outcome.err.contains("project-not-found"), "{outcome:?}");
    assert!(
        !outcome.err.contains(&secret) && outcome.out.is_empty(),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn the_sample_call_comes_back_as_its_turns_digits_and_recording() {
    tell(Server::start().await).await;
}

#[tokio::test]
async fn on_postgresql_too_the_sample_call_comes_back_whole() {
    tell(Server::builder().on_postgres().start().await).await;
}
