use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::audio::Encoding;

fn start() -> Value {
    json!({
        "MessageName": "Start",
        "Tenant": "default",
        "Token": "abc",
        "ProjectName": "demo",
        "Audio": { "SampleRate": 8000, "ChannelCount": 2, "Encoding": "ulaw" },
    })
}

fn parse(request: &Value) -> Result<Start, Refusal> {
    match Request::parse(&request.to_string()) {
        Ok(Request::Start(start)) => Ok(*start),
        Ok(other) => panic!("{other:?}"),
        Err((_, refusal)) => Err(refusal),
    }
}

/// The start with the value at `pointer` replaced, or removed when `value` is none.
fn changed(pointer: &str, value: Option<Value>) -> Value {
    let mut request = start();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = request
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .unwrap();
    match value {
        Some(value) => drop(parent.insert(key.to_owned(), value)),
        None => drop(parent.remove(key)),
    }
    request
}

#[test]
fn a_start_is_read_whole() {
    let mut request = start();
    request["Language"] = json!("en-US");
    request["Settings"] =
        json!({ "ChannelTags": ["agent", ["customer", "vip"]], "sensitivity": "0.7" });
    request["CallProperties"] = json!({ "ExternalId": "call-1" });
    request["Audio"]["Output"] = json!({ "Encoding": "PCM" });
    let start = parse(&request).unwrap();
    assert_eq!(
        (
            start.tenant.as_str(),
            start.project.as_str(),
            start.token.as_str()
        ),
        ("default", "demo", "abc")
    );
    assert_eq!(
        (
            start.format.rate.hertz(),
            start.format.channels,
            start.format.encoding
        ),
        (8_000, 2, Encoding::Ulaw)
    );
    assert_eq!(start.output, Encoding::Pcm);
    assert_eq!(
        start.channel_tags,
        [
            vec!["agent".to_owned()],
            vec!["customer".to_owned(), "vip".to_owned()]
        ]
    );
    assert_eq!(start.parameters.get("sensitivity"), Some(&json!("0.7")));
    assert_eq!(start.call_properties["ExternalId"], "call-1");
}

#[test]
fn both_dialects_are_one() {
    let kebab = json!({
        "message-name": "start", "tenant": "default", "token": "Bearer abc", "project-name": "demo",
        "audio": { "sample-rate": "8000", "channel_count": "2", "encoding": "ULAW" },
    });
    assert_eq!(parse(&kebab), parse(&start()));
}

#[test]
fn each_missing_field_is_named() {
    for (pointer, value, message) in [
        ("/Tenant", ErrorValue::InvalidRequest, "`Tenant` is missing"),
        (
            "/Token",
            ErrorValue::InvalidToken,
            "`Token` is missing: an access token is required",
        ),
        (
            "/ProjectName",
            ErrorValue::InvalidRequest,
            "`ProjectName` is missing",
        ),
        ("/Audio", ErrorValue::InvalidRequest, "`Audio` is missing"),
        (
            "/Audio/SampleRate",
            ErrorValue::InvalidRequest,
            "`Audio.SampleRate` is missing",
        ),
        (
            "/Audio/ChannelCount",
            ErrorValue::InvalidRequest,
            "`Audio.ChannelCount` is missing",
        ),
        (
            "/Audio/Encoding",
            ErrorValue::InvalidRequest,
            "`Audio.Encoding` is missing",
        ),
    ] {
        let refusal = parse(&changed(pointer, None)).unwrap_err();
        assert_eq!((refusal.value, refusal.message.as_str()), (value, message));
        assert_eq!(
            parse(&changed(pointer, Some(Value::Null)))
                .unwrap_err()
                .value,
            value,
            "{pointer} null"
        );
    }
    let (_, refusal) = Request::parse("{}").unwrap_err();
    assert_eq!(refusal.message, "`MessageName` is missing");
}

#[test]
fn audio_outside_the_table_is_unsupported_and_audio_of_the_wrong_type_is_invalid() {
    let unsupported = [
        ("/Audio/SampleRate", json!(0)),
        ("/Audio/SampleRate", json!(7_999)),
        ("/Audio/SampleRate", json!(48_001)),
        ("/Audio/SampleRate", json!(-8_000)),
        ("/Audio/ChannelCount", json!(0)),
        ("/Audio/ChannelCount", json!(3)),
        ("/Audio/Encoding", json!("mp3")),
    ];
    for (pointer, value) in unsupported {
        let refusal = parse(&changed(pointer, Some(value.clone()))).unwrap_err();
        assert_eq!(
            refusal.value,
            ErrorValue::UnsupportedAudio,
            "{pointer} {value}"
        );
    }
    let invalid = [
        ("/Audio/SampleRate", json!(8_000.5)),
        ("/Audio/SampleRate", json!("fast")),
        ("/Audio/SampleRate", json!(true)),
        ("/Audio/ChannelCount", json!([2])),
        ("/Audio/Encoding", json!(7)),
        ("/Audio", json!("ulaw")),
        ("/Tenant", json!(5)),
        ("/Tenant", json!(" ")),
        ("/Token", json!({})),
        ("/Settings", json!([])),
        ("/Settings", json!({ "ChannelTags": [1] })),
        ("/Settings", json!({ "ChannelTags": ["a", "b", "c"] })),
        ("/CallProperties", json!("x")),
        ("/Language", json!(1)),
    ];
    for (pointer, value) in invalid {
        let refusal = parse(&changed(pointer, Some(value.clone()))).unwrap_err();
        assert_eq!(
            refusal.value,
            ErrorValue::InvalidRequest,
            "{pointer} {value}"
        );
        let field = pointer.rsplit('/').next().unwrap();
        assert!(
            refusal.message.contains(field),
            "{pointer}: {}",
            refusal.message
        );
    }
    for rate in [json!("8000"), json!(8_000.0), json!(48_000), json!(11_025)] {
        assert!(
            parse(&changed("/Audio/SampleRate", Some(rate.clone()))).is_ok(),
            "{rate}"
        );
    }
}

#[test]
fn what_is_no_request_is_said_so() {
    let value = |content: &str| Request::parse(content).unwrap_err().1.value;
    assert_eq!(value("not json"), ErrorValue::InvalidRequest);
    assert_eq!(value("[1,2]"), ErrorValue::InvalidRequest);
    assert_eq!(value("{\"MessageName\":7}"), ErrorValue::InvalidRequest);
    assert_eq!(
        value("{\"MessageName\":\"Dance\"}"),
        ErrorValue::UnknownRequest
    );
    assert_eq!(
        value("{\"MessageName\":\"Update\"}"),
        ErrorValue::InvalidRequest
    );
    assert_eq!(
        Request::parse("{\"message_name\":\"FINALIZE\"}").unwrap(),
        Request::Finalize
    );
    assert_eq!(
        Request::parse("{\"messageName\":\"stop\"}").unwrap(),
        Request::Stop
    );
}

#[test]
fn a_start_never_shows_its_token() {
    let shown = format!(
        "{:?}",
        parse(&changed("/Token", Some(json!("very-secret")))).unwrap()
    );
    assert!(!shown.contains("very-secret"), "{shown}");
}

#[test]
fn client_events_are_read_and_faults_named() {
    let event =
        client_event(r#"{"event":{"name":"Ping","channel":"1","Data":{"Id":7},"tags":["x"]}}"#)
            .unwrap();
    assert_eq!(
        (event.name.as_str(), event.channel, event.start_msec),
        ("Ping", 1, -1)
    );
    assert_eq!(event.data["Id"], 7);
    for (content, word) in [
        ("nonsense", "JSON"),
        ("{}", "Event"),
        (r#"{"Event":{}}"#, "Name"),
        (r#"{"Event":{"Name":"x","Data":[]}}"#, "Data"),
        (r#"{"Event":{"Name":"x","Channel":"left"}}"#, "Channel"),
        (r#"{"Event":{"Name":"x","Tags":7}}"#, "Tags"),
        (r#"{"Event":{"Name":"Session Ended"}}"#, "own"),
    ] {
        let refusal = client_event(content).unwrap_err();
        assert!(
            refusal.message.contains(word),
            "{content}: {}",
            refusal.message
        );
    }
}

#[test]
fn wire_messages_keep_their_shape() {
    let id = Uuid::nil();
    insta::assert_snapshot!(started(id), @r#"{"MessageName":"StartResponse","SessionId":"00000000-0000-0000-0000-000000000000","operation-result":"success"}"#);
    insta::assert_snapshot!(accepted("Finalize"), @r#"{"MessageName":"FinalizeResponse","operation-result":"success"}"#);
    let refusal = Refusal::new(ErrorValue::CapacityExceeded, "full").retry_after(1_000);
    insta::assert_snapshot!(refused("Start", &refusal), @r#"{"MessageName":"StartResponse","error-message":"full","operation-result":"capacity-exceeded","retry-after-ms":1000}"#);
    let event = crate::event::Event::new("DTMF")
        .on_channel(1)
        .spanning(100, 180)
        .in_group("g")
        .with("Digit", "5");
    insta::assert_snapshot!(event.to_wire(), @r#"{"Event":{"Name":"DTMF","Channel":1,"StartMsec":100,"EndMsec":180,"GroupId":"g","Tags":[],"Data":{"Digit":"5"}}}"#);
}

#[test]
fn error_values_and_reasons_are_distinct() {
    let mut values: Vec<_> = ErrorValue::ALL.iter().map(|value| value.as_str()).collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), ErrorValue::ALL.len());
    let mut reasons: Vec<_> = EndReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    assert_eq!(reasons.len(), EndReason::ALL.len());
}

proptest! {
    #[test]
    fn no_content_panics(content in ".{0,300}") {
        let _ = Request::parse(&content);
        let _ = client_event(&content);
    }

    #[test]
    fn a_start_with_any_value_anywhere_is_read_or_refused(
        field in prop::sample::select(vec!["/Tenant", "/Token", "/ProjectName", "/Audio", "/Audio/SampleRate", "/Settings"]),
        text in ".{0,40}",
        number in any::<f64>(),
    ) {
        for value in [json!(text), json!(number), json!([text]), json!({ text.clone(): number })] {
            let _ = parse(&changed(field, Some(value)));
        }
    }
}
