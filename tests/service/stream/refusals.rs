//! What is refused at the start of a call, and how: the answer, then the status.

use bytes::Bytes;
use callwright_proto::{ContentType, StreamInput};
use serde_json::{Map, Value, json};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::support::{Call, Heard, Said, Server, Start, assert_wire, message, reason};

/// What came of a first message: the response, and the status that ended the call.
struct Refused {
    response: Value,
    status: Status,
}

async fn refused(channel: &Channel, first: StreamInput) -> Refused {
    let call = Call::open(channel.clone()).await;
    // A full server does not wait for the message.
    let _ = call.send(first).await;
    heard_out(call).await
}

async fn heard_out(call: Call) -> Refused {
    // This side stays open: the server ends the call by itself.
    let Said { heard, status } = call.rest().await;
    match heard.as_slice() {
        [Heard::Response(response)] => Refused {
            response: response.clone(),
            status,
        },
        other => panic!("a refusal is one response, not {other:?} and {status:?}"),
    }
}

impl Refused {
    /// Holds the refusal against the table: error value and status, and what its words must name.
    fn is(&self, value: &str, code: Code, named: &str) -> Value {
        let Self { response, status } = self;
        assert_eq!(response["operation-result"], value, "{response}");
        assert_eq!(status.code(), code, "{status:?}");
        let words = response["error-message"].as_str().unwrap();
        assert!(words.contains(named), "{words}");
        assert_eq!(status.message(), format!("{value}: {words}"));
        json!({ "response": response, "status": format!("{code:?}") })
    }
}

fn request(json: &str) -> StreamInput {
    message(ContentType::Request, json, Bytes::new())
}

/// Tries each row on one connection and gives all the answers, for a snapshot.
async fn all(channel: &Channel, rows: &[(&str, String, &str, Code)]) -> Map<String, Value> {
    let mut answers = Map::new();
    for (named, first, value, code) in rows {
        let refused = refused(channel, request(first)).await;
        let answer = refused.is(value, *code, named);
        assert!(
            answers
                .insert(format!("{named} <- {}", shown(first)), answer)
                .is_none(),
            "{named} twice"
        );
    }
    answers
}

/// A Start without its token, which no snapshot could hold.
fn shown(first: &str) -> String {
    match serde_json::from_str::<Value>(first) {
        Ok(Value::Object(mut start)) => {
            start.remove("Token");
            Value::Object(start).to_string()
        }
        _ => first.to_owned(),
    }
}

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

#[tokio::test]
async fn a_start_as_the_wrong_tenant_or_for_no_project_is_refused() {
    let server = Server::start().await;
    let token = server.streaming_token().await;
    let stranger = server.token("acme", &["streaming"]).await;
    let without_scope = server.token("default", &["evaluator"]).await;
    let start = Start::new(&token);
    server
        .apply_project("name = \"ours\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n")
        .await;
    let row = |named, start: Start, value, code| (named, start.json(), value, code);
    let rows = [
        row(
            "`Token` is missing",
            start.clone().without("/Token"),
            "invalid-token",
            Code::Unauthenticated,
        ),
        row(
            "`Token` is missing",
            start.clone().with("/Token", json!("")),
            "invalid-token",
            Code::Unauthenticated,
        ),
        row(
            "no signed JWT",
            start.clone().with("/Token", json!("secret")),
            "invalid-token",
            Code::Unauthenticated,
        ),
        row(
            "signature",
            start.clone().with("/Token", json!(tampered(&token))),
            "invalid-token",
            Code::Unauthenticated,
        ),
        row(
            "scope `streaming`",
            Start::new(&without_scope),
            "invalid-token",
            Code::Unauthenticated,
        ),
        row(
            "tenant of the token",
            Start::new(&stranger),
            "tenant-mismatch",
            Code::PermissionDenied,
        ),
        row(
            "tenant of the token",
            start.clone().with("/Tenant", json!("nobody")),
            "tenant-mismatch",
            Code::PermissionDenied,
        ),
        row(
            "no flow project",
            start.clone().through("nothing"),
            "project-not-found",
            Code::NotFound,
        ),
        row(
            "no flow project",
            Start::new(&stranger)
                .with("/Tenant", json!("acme"))
                .through("ours"),
            "project-not-found",
            Code::NotFound,
        ),
    ];
    let connection = server.connect().await;
    let mut answers = Map::new();
    for (place, (named, first, value, code)) in rows.iter().enumerate() {
        let refused = refused(&connection, request(first)).await;
        answers.insert(format!("{place}: {named}"), refused.is(value, *code, named));
    }
    assert_wire("refused_for_who_asks", answers);
    let started = Call::started(connection, &start.through("ours")).await;
    assert_eq!(reason(started.hear_out().await.ended()), "half-closed");
}

/// The token with one bit of its signature changed.
fn tampered(token: &str) -> String {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (first, rest) = signature.split_at(1);
    let other = if first == "A" { "B" } else { "A" };
    format!("{signed}.{other}{rest}")
}

#[tokio::test]
async fn a_full_server_and_a_full_tenant_say_when_to_try_again() {
    for (setting, who) in [
        ("stream.max_sessions", "the server"),
        ("stream.max_sessions_per_tenant", "tenant `default`"),
    ] {
        let builder = Server::builder().set(setting, 1);
        let server = builder.set("stream.retry_after_ms", 1_234).start().await;
        let start = Start::new(&server.streaming_token().await);
        let operator = server.token("default", &["operator"]).await;
        let holder = server.call(&start).await;
        let refused = refused(&server.connect().await, request(&start.json())).await;
        let answer = refused.is("capacity-exceeded", Code::ResourceExhausted, who);
        assert_eq!(refused.response["retry-after-ms"], 1_234);
        let trailer = refused.status.metadata().get("retry-after-ms");
        assert_eq!(trailer.unwrap(), "1234");
        assert_wire(
            &format!("refused_for_{}", setting.trim_start_matches("stream.")),
            answer,
        );
        if setting.ends_with("tenant") {
            another_tenant_has_room(&server).await;
        }
        assert_eq!(holder.hear_out().await.status.code(), Code::Ok);
        server.await_sessions(0, &operator).await;
        let next = server.call(&start).await;
        assert_eq!(next.hear_out().await.status.code(), Code::Ok);
    }
}

async fn another_tenant_has_room(server: &Server) {
    let project = "name = \"echo\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n";
    server.apply_project_of("acme", project).await;
    let start = Start::new(&server.token("acme", &["streaming"]).await);
    let start = start.with("/Tenant", json!("acme")).through("echo");
    assert_eq!(
        server.call(&start).await.hear_out().await.status.code(),
        Code::Ok
    );
}
