//! What is asked and said during a call.

use std::fs;

use bytes::Bytes;
use callwright_domain::audio::Encoding;
use callwright_proto::{ContentType, StreamInput};
use serde_json::{Value, json};
use tonic::Code;

use crate::support::{
    Call, Heard, Server, Start, assert_wire, fixture_audio, message, pcm, reason, tone, wav_data,
};

const ECHO: &str = "name = \"echo\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n";

const METER: &str = r#"
name = "meter"
kind = "flow"
wires = ["entry -> voice -> publisher", "entry -> level -> publisher"]
[parameters]
patience-ms = 500
[[nodes]]
id = "voice"
type = "voice-activity"
settings = { silence-trigger-ms = "$patience-ms" }
[[nodes]]
id = "level"
type = "level"
settings = { interval-ms = 1000 }
"#;

const MIRROR: &str = r#"
name = "mirror"
kind = "flow"
wires = ["entry -> loopback -> publisher"]
[[nodes]]
id = "loopback"
type = "loopback"
settings = { channel = 1 }
"#;

#[tokio::test]
async fn a_request_that_is_refused_during_the_call_leaves_it_running() {
    let server = Server::start().await;
    server.apply_project(ECHO).await;
    let start = Start::new(&server.streaming_token().await).through("echo");
    let mut call = server.call(&start).await;
    let again = start.json();
    let requests = [
        ("already-started", again.as_str()),
        ("unknown-request", "{\"MessageName\":\"Dance\"}"),
        ("invalid-request", "dance"),
        ("invalid-request", "{\"MessageName\":\"Update\"}"),
        (
            "invalid-request",
            "{\"MessageName\":\"Update\",\"Settings\":7}",
        ),
        (
            "invalid-request",
            "{\"MessageName\":\"Update\",\"Settings\":{\"volume\":7}}",
        ),
        ("invalid-request", "{\"MessageName\":\"Start\"}"),
    ];
    let mut answers = Vec::new();
    for (value, request) in requests {
        call.request(request).await;
        let answer = call.response().await;
        assert_eq!(answer["operation-result"], value, "{answer}");
        answers.push(answer);
    }
    for unusable in [
        message(ContentType::Response, "{}", Bytes::new()),
        message(ContentType::Event, "{\"Event\":{}}", Bytes::new()),
        message(
            ContentType::Event,
            "{\"Event\":{\"Name\":\"x\",\"Channel\":\"left\"}}",
            Bytes::new(),
        ),
        StreamInput { message: None },
    ] {
        call.send(unusable).await;
        let answer = call.response().await;
        assert_eq!(answer["operation-result"], "invalid-request", "{answer}");
        answers.push(answer);
    }
    assert_wire("refused_during_the_call", answers);
    call.event("{\"Event\":{\"Name\":\"still here\"}}").await;
    call.await_event("still here").await;
    let said = call.hear_out().await;
    assert_eq!(
        (reason(said.ended()), said.status.code()),
        ("half-closed", Code::Ok)
    );
}

#[tokio::test]
async fn an_event_of_the_client_passes_from_entry_to_publisher_unchanged() {
    let server = Server::start().await;
    server.apply_project(ECHO).await;
    let start = Start::new(&server.streaming_token().await).through("echo");
    let tags = json!({ "ChannelTags": ["agent", ["customer", "premium"]] });
    let mut call = server.call(&start.with("/Settings", tags)).await;
    let event = json!({
        "Name": "Screen Pop", "Channel": -1, "StartMsec": 120, "EndMsec": 240, "GroupId": "g",
        "Tags": ["a"], "Data": { "Deep": { "List": [1, null, "ü"] } },
    });
    call.event(&json!({ "Event": event }).to_string()).await;
    assert_eq!(call.await_event("Screen Pop").await, event);
    call.event("{\"event\":{\"name\":\"Bare\"}}").await;
    let bare = call.await_event("Bare").await;
    call.event("{\"Event\":{\"Name\":\"On One\",\"Channel\":1}}")
        .await;
    let tagged = call.await_event("On One").await;
    assert_eq!(tagged["Tags"], json!(["customer", "premium"]));
    assert_wire("client_events", vec![event, bare, tagged]);
    assert_eq!(call.hear_out().await.status.code(), Code::Ok);
}

#[tokio::test]
async fn an_update_changes_parameters_in_the_middle_of_a_call() {
    let server = Server::start().await;
    server.apply_project(METER).await;
    let start = Start::new(&server.streaming_token().await).through("meter");
    let audio = fixture_audio();
    // The first half with little patience, the second with so much that every turn of a channel runs into the next.
    let (first, second) = audio.split_at(audio.len() / 2);
    let impatient = start
        .clone()
        .with("/Settings", json!({ "patience-ms": 64 }));
    let mut call = server.call(&impatient).await;
    call.chunks(first, 3_200).await;
    call.request("{\"MessageName\":\"Update\",\"Settings\":{\"Patience_MS\":\"10000\"}}")
        .await;
    let answer = until_response(&mut call).await;
    assert_eq!(answer["operation-result"], "success", "{answer}");
    for (settings, named) in [
        (json!({ "patience": 3 }), "patience"),
        (json!({ "patience-ms": 1 }), "silence-trigger-ms"),
        (json!({ "patience-ms": "long" }), "silence-trigger-ms"),
    ] {
        call.request(&json!({ "MessageName": "Update", "Settings": settings }).to_string())
            .await;
        let refused = until_response(&mut call).await;
        assert_eq!(refused["operation-result"], "invalid-request");
        assert!(
            refused["error-message"].as_str().unwrap().contains(named),
            "{refused}"
        );
    }
    call.chunks(second, 3_200).await;
    let said = call.hear_out().await;
    let late = said
        .named("Speech Ended")
        .iter()
        .filter(|event| event["StartMsec"].as_i64() > Some(14_400))
        .count();
    assert!(late <= 2, "the update had no effect: {late} utterances");
    let unchanged = server.call(&impatient).await;
    unchanged.chunks(&audio, 3_200).await;
    let said = unchanged.hear_out().await;
    let late = said
        .named("Speech Ended")
        .iter()
        .filter(|event| event["StartMsec"].as_i64() > Some(14_400))
        .count();
    assert!(late > 4, "little patience cuts turns up: {late} utterances");
}

async fn until_response(call: &mut Call) -> Value {
    loop {
        if let Heard::Response(response) = call.next().await.unwrap() {
            return response;
        }
    }
}

#[tokio::test]
async fn finalize_lets_every_node_speak_and_stop_lets_none() {
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await);
    let audio = fixture_audio();
    // 3 s into the call the agent is still speaking: only a flush ends that utterance.
    let speech = &audio[..3 * 16_000];
    let finalized = server.call(&start).await;
    finalized.chunks(speech, 320).await;
    finalized.request("{\"MessageName\":\"Finalize\"}").await;
    let said = finalized.rest().await;
    assert_eq!(said.status.code(), Code::Ok);
    assert_eq!(reason(said.ended()), "finalized");
    assert_eq!(reason(said.named("Speech Ended")[0]), "end-of-audio");
    assert_eq!(said.named("Recording Saved").len(), 1);
    let stopped = server.call(&start).await;
    stopped.chunks(speech, 320).await;
    stopped.request("{\"MessageName\":\"Stop\"}").await;
    let cut = stopped.rest().await;
    assert_eq!(cut.status.code(), Code::Ok);
    assert_eq!(reason(cut.ended()), "stopped");
    assert_eq!(cut.named("Speech Started").len(), 1);
    assert!(cut.named("Speech Ended").is_empty() && cut.named("Recording Saved").is_empty());
    assert_wire("finalized", messages(&said.heard));
    assert_wire("stopped", messages(&cut.heard));
}

/// Messages as a snapshot shows them.
fn messages(heard: &[Heard]) -> Vec<Value> {
    let shown = heard.iter().map(|heard| match heard {
        Heard::Response(response) => json!({ "RESPONSE": response }),
        Heard::Event(event) => json!({ "EVENT": event }),
        Heard::Audio(audio) => json!({ "AUDIO": audio.len() }),
    });
    shown.collect()
}

#[tokio::test]
async fn audio_comes_back_in_the_encoding_that_start_asked_for() {
    let server = Server::start().await;
    server.apply_project(MIRROR).await;
    let start = Start::new(&server.streaming_token().await).through("mirror");
    let encodings = [
        ("pcm", Encoding::Pcm),
        ("ulaw", Encoding::Ulaw),
        ("alaw", Encoding::Alaw),
    ];
    // Two channels that nobody could mistake for each other.
    let (left, right) = (tone(8_000, 200, &[440.0]), tone(8_000, 200, &[1_000.0]));
    let both: Vec<i16> = left
        .iter()
        .zip(&right)
        .flat_map(|(l, r)| [*l, *r])
        .collect();
    for (name, encoding) in encodings {
        let (mut sent, mut decoded) = (Vec::new(), Vec::new());
        encoding.encode(&both, &mut sent);
        encoding.decode(&sent, &mut decoded);
        let expected: Vec<i16> = decoded.iter().skip(1).step_by(2).copied().collect();
        for (output_name, output) in encodings {
            let start = start.clone().of(8_000, 2, name);
            let start = start.with("/Audio/Output", json!({ "Encoding": output_name }));
            let call = server.call(&start).await;
            call.chunks(&sent, 333).await;
            let said = call.hear_out().await;
            let mut wanted = Vec::new();
            output.encode(&expected, &mut wanted);
            assert!(said.audio() == wanted, "{name} to {output_name}");
        }
    }
}

#[tokio::test]
async fn a_chunk_may_cut_a_sample_anywhere() {
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await).of(8_000, 2, "pcm");
    let audio = pcm(&tone(16_000, 250, &[300.0, 1_100.0]));
    for size in [1, 3] {
        let call = server.call(&start).await;
        call.chunks(&audio, size).await;
        let said = call.hear_out().await;
        let saved = said.named("Recording Saved")[0]["Data"]["Path"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            wav_data(&fs::read(saved).unwrap()) == audio,
            "chunks of {size}"
        );
        assert_eq!(said.ended()["Data"]["AudioMsec"], 250);
        assert!(said.named("Audio Discarded").is_empty());
    }
    let cut = server.call(&start).await;
    cut.chunks(&audio[..audio.len() - 1], 3).await;
    let said = cut.hear_out().await;
    let discarded = said.named("Audio Discarded");
    assert_eq!(discarded[0]["Data"]["Bytes"], 3);
    assert_wire("audio_discarded", discarded[0].clone());
}
