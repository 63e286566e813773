//! Starts that say what cannot be understood or served, and first messages that are no Start.

use bytes::Bytes;
use callwright_proto::{ContentType, StreamInput};
use serde_json::{Map, Value, json};
use tonic::Code;
use tonic::transport::Channel;

use super::{all, heard_out, refused, request};
use crate::support::{Call, Server, Start, assert_wire, message};

#[tokio::test]
async fn a_start_of_the_wrong_shape_is_refused_and_its_fault_named() {
    const INVALID: &str = "invalid-request";
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await);
    let shape = |named, start: Start| (named, start.json(), INVALID, Code::InvalidArgument);
    let text = |named, text: &str| (named, text.to_owned(), INVALID, Code::InvalidArgument);
    let rows = [
        text("not JSON", "Start"),
        text("not JSON", "{\"MessageName\":\"Start\""),
        text("not JSON", ""),
        text("a JSON object, not a list", "[]"),
        text("a JSON object, not text", "\"Start\""),
        text("`MessageName` is missing", "{}"),
        shape(
            "`MessageName` is missing",
            start.clone().without("/MessageName"),
        ),
        shape(
            "`MessageName` must be text",
            start.clone().with("/MessageName", json!(1)),
        ),
        shape("`Tenant` is missing", start.clone().without("/Tenant")),
        shape(
            "`Tenant` is empty",
            start.clone().with("/Tenant", json!(" ")),
        ),
        shape(
            "`Tenant` must be text",
            start.clone().with("/Tenant", json!(["default"])),
        ),
        shape(
            "`Token` must be text",
            start.clone().with("/Token", json!(5)),
        ),
        shape(
            "`ProjectName` is missing",
            start.clone().without("/ProjectName"),
        ),
        shape("`Audio` is missing", start.clone().without("/Audio")),
        shape(
            "`Audio` must be an object",
            start.clone().with("/Audio", json!("ulaw")),
        ),
        shape(
            "`Audio.SampleRate` is missing",
            start.clone().without("/Audio/SampleRate"),
        ),
        shape(
            "`Audio.SampleRate` must be a whole number",
            start.clone().with("/Audio/SampleRate", json!(8000.5)),
        ),
        shape(
            "`Audio.SampleRate` must be a whole number",
            start.clone().with("/Audio/SampleRate", json!("8 kHz")),
        ),
        shape(
            "`Audio.ChannelCount` is missing",
            start.clone().without("/Audio/ChannelCount"),
        ),
        shape(
            "`Audio.ChannelCount` must be a whole number",
            start.clone().with("/Audio/ChannelCount", json!([2])),
        ),
        shape(
            "`Audio.Encoding` is missing",
            start.clone().without("/Audio/Encoding"),
        ),
        shape(
            "`Audio.Encoding` must be text",
            start.clone().with("/Audio/Encoding", json!(7)),
        ),
        shape(
            "`Audio.Output` must be an object",
            start.clone().with("/Audio/Output", json!("pcm")),
        ),
        shape(
            "`Settings` must be an object",
            start.clone().with("/Settings", json!(3)),
        ),
        shape(
            "`Settings.ChannelTags` must be a list",
            start.clone().with("/Settings", json!({ "ChannelTags": 3 })),
        ),
        shape(
            "`CallProperties` must be an object",
            start.clone().with("/CallProperties", json!([])),
        ),
        shape(
            "sensitivty",
            start
                .clone()
                .with("/Settings", json!({ "sensitivty": 0.5 })),
        ),
        shape(
            "sensitivity",
            start.clone().with("/Settings", json!({ "sensitivity": 2 })),
        ),
    ];
    let answers = all(&server.connect().await, &rows).await;
    assert_wire("refused_for_its_shape", answers);
}

#[tokio::test]
async fn audio_that_nobody_could_decode_is_refused_at_the_start() {
    const UNSUPPORTED: &str = "unsupported-audio";
    let server = Server::start().await;
    let start = Start::new(&server.streaming_token().await);
    let with = |named, path: &str, value: Value| {
        let start = start.clone().with(path, value);
        (named, start.json(), UNSUPPORTED, Code::InvalidArgument)
    };
    let rows = [
        with("`Audio.SampleRate` is 0,", "/Audio/SampleRate", json!(0)),
        with(
            "`Audio.SampleRate` is -8000,",
            "/Audio/SampleRate",
            json!(-8000),
        ),
        with(
            "`Audio.SampleRate` is 7999,",
            "/Audio/SampleRate",
            json!(7999),
        ),
        with(
            "`Audio.SampleRate` is 48001,",
            "/Audio/SampleRate",
            json!(48001),
        ),
        with(
            "`Audio.ChannelCount` is 0,",
            "/Audio/ChannelCount",
            json!(0),
        ),
        with(
            "`Audio.ChannelCount` is 3,",
            "/Audio/ChannelCount",
            json!(3),
        ),
        with(
            "`Audio.Encoding` is `mp3`,",
            "/Audio/Encoding",
            json!("mp3"),
        ),
        with(
            "`Audio.Output.Encoding` is `mp3`,",
            "/Audio/Output",
            json!({ "Encoding": "mp3" }),
        ),
    ];
    let connection = server.connect().await;
    let answers = all(&connection, &rows).await;
    assert_wire("refused_for_its_audio", answers);
    numbers_may_come_as_text(&connection, &start).await;
    keys_match_in_either_dialect(&connection, &start).await;
}

async fn numbers_may_come_as_text(connection: &Channel, start: &Start) {
    let start = start
        .clone()
        .with("/Audio/SampleRate", json!("8000"))
        .with("/Audio/ChannelCount", json!("1"));
    let call = Call::started(connection.clone(), &start).await;
    call.audio(vec![0xFF; 800]).await;
    let said = call.hear_out().await;
    assert_eq!(said.ended()["Data"]["AudioMsec"], 100);
}

async fn keys_match_in_either_dialect(connection: &Channel, start: &Start) {
    let token = &start.0["Token"];
    let start = json!({
        "message-name": "start",
        "tenant": "default",
        "token": token,
        "project_name": "demo-stream",
        "audio": { "sample-rate": 16_000, "CHANNELCOUNT": 1, "encoding": "PCM" },
    });
    let call = Call::started(connection.clone(), &Start(start)).await;
    call.audio(vec![0; 3_200]).await;
    let said = call.hear_out().await;
    assert_eq!(said.ended()["Data"]["AudioMsec"], 100);
}

#[tokio::test]
async fn anything_but_a_start_first_is_refused() {
    let server = Server::start().await;
    let connection = server.connect().await;
    let firsts = [
        (
            "audio",
            "not audio",
            message(ContentType::Audio, "", Bytes::from_static(&[0xFF; 160])),
        ),
        (
            "event",
            "not an event",
            message(
                ContentType::Event,
                "{\"Event\":{\"Name\":\"x\"}}",
                Bytes::new(),
            ),
        ),
        (
            "response",
            "not a response",
            message(ContentType::Response, "{}", Bytes::new()),
        ),
        (
            "nothing",
            "not an empty message",
            StreamInput { message: None },
        ),
        (
            "Stop",
            "must be a Start",
            request("{\"MessageName\":\"Stop\"}"),
        ),
        (
            "Finalize",
            "must be a Start",
            request("{\"MessageName\":\"Finalize\"}"),
        ),
        (
            "Update",
            "must be a Start",
            request("{\"MessageName\":\"Update\",\"Settings\":{}}"),
        ),
        (
            "Dance",
            "must be a Start",
            request("{\"MessageName\":\"Dance\"}"),
        ),
    ];
    let mut answers = Map::new();
    for (name, named, first) in firsts {
        let answer = refused(&connection, first).await;
        let answer = answer.is("not-started", Code::FailedPrecondition, named);
        answers.insert(name.to_owned(), answer);
    }
    let mut closed = Call::open(connection.clone()).await;
    closed.half_close();
    let answer = heard_out(closed).await;
    let answer = answer.is(
        "not-started",
        Code::FailedPrecondition,
        "the end of the stream",
    );
    answers.insert("the end of the stream".to_owned(), answer);
    assert_wire("refused_for_not_starting", answers);
}
