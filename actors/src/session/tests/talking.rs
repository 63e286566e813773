//! Requests, events and settings in the middle of a call.

use callwright_domain::event::names;
use serde_json::json;

use super::super::{DescribeNodes, Inbound, NoticeDraining};
use crate::testing::call::{Call, call, echo, one_node};
use crate::testing::settle;

fn refused(request: &str, value: &str) -> (String, String) {
    (format!("{request}Response"), value.to_owned())
}

async fn answer_to(message: Inbound) -> (String, String) {
    let call = one_node("chatty").begin();
    call.send(message);
    settle().await;
    let answer = call.heard.responses().pop().unwrap();
    call.audio([0xFF; 160]);
    call.finalize().await;
    assert_eq!(call.heard.named("Chat").len(), 1, "the session lived on");
    answer
}

#[actix_rt::test]
async fn what_a_session_cannot_use_is_answered_and_does_not_end_it() {
    tokio::time::pause();
    let request = |text: &str| Inbound::Request(text.to_owned());
    let event = |text: &str| Inbound::Event(text.to_owned());
    let start = json!({"MessageName": "Start", "Tenant": "acme", "Token": "t", "ProjectName": "p",
        "Audio": {"SampleRate": 8000, "ChannelCount": 1, "Encoding": "ulaw"}});
    for (message, expected) in [
        (request("{"), refused("", "invalid-request")),
        (
            request(&start.to_string()),
            refused("Start", "already-started"),
        ),
        (
            request(r#"{"MessageName":"Dance"}"#),
            refused("Dance", "unknown-request"),
        ),
        (
            request(r#"{"MessageName":"Update"}"#),
            refused("Update", "invalid-request"),
        ),
        (
            request(r#"{"MessageName":"Update","Settings":{"volume":1}}"#),
            refused("Update", "invalid-request"),
        ),
        (event("no"), refused("Event", "invalid-request")),
        (
            Inbound::Unusable("means nothing".to_owned()),
            refused("", "invalid-request"),
        ),
    ] {
        let shown = format!("{message:?}");
        assert_eq!(answer_to(message).await, expected, "{shown}");
    }
}

fn words(call: &Call) -> Vec<String> {
    let said = call.heard.named("Word");
    said.iter()
        .map(|event| event.data["Word"].as_str().unwrap().to_owned())
        .collect()
}

#[actix_rt::test]
async fn parameters_come_from_the_project_then_start_then_updates_whatever_their_spelling() {
    tokio::time::pause();
    let call = call(
        "\"entry -> a -> publisher\", \"entry -> b -> publisher\"",
        "[parameters]\nfirst-word = \"one\"\nother = \"two\"\n\
         [[nodes]]\nid = \"a\"\ntype = \"word\"\nsettings = { word = \"$first-word\" }\n\
         [[nodes]]\nid = \"b\"\ntype = \"word\"\nsettings = { word = \"$other\" }\n",
    )
    .settings(json!({"Other": "start"}))
    .begin();
    let update = |settings| {
        let request = json!({"MessageName": "Update", "Settings": settings});
        call.send(Inbound::Request(request.to_string()));
    };
    call.audio([0xFF; 160]);
    update(json!({"FirstWord": "new"}));
    call.audio([0xFF; 160]);
    update(json!({"first_word": 7}));
    update(json!({"OTHER": "newer"}));
    call.audio([0xFF; 160]);
    call.finalize().await;
    assert_eq!(
        words(&call),
        ["one", "start", "new", "start", "new", "newer"]
    );
    let results: Vec<_> = call.heard.responses().into_iter().map(|r| r.1).collect();
    assert_eq!(
        results,
        [
            "success",
            "success",
            "invalid-request",
            "success",
            "success"
        ],
        "an update that does not fit changes nothing"
    );
}

#[actix_rt::test]
async fn events_on_a_channel_carry_its_tags_unless_they_have_their_own() {
    tokio::time::pause();
    let call = one_node("chatty")
        .audio(8_000, 2, "ulaw")
        .settings(json!({"ChannelTags": [["agent", "left"], "customer"]}))
        .begin();
    call.audio([0xFF; 320]);
    let events = [
        json!({"Name": "A", "Channel": 1}),
        json!({"Name": "B", "Channel": 1, "Tags": ["own"]}),
        json!({"Name": "C", "Channel": -2}),
        json!({"Name": "D", "Channel": 7}),
    ];
    for event in events {
        call.send(Inbound::Event(json!({ "Event": event }).to_string()));
    }
    call.finalize().await;
    let tags: Vec<_> = call.heard.events().into_iter().map(|e| e.tags).collect();
    let none: Vec<String> = Vec::new();
    assert_eq!(
        tags,
        [
            vec!["agent".to_owned(), "left".to_owned()],
            vec!["customer".to_owned()],
            vec!["own".to_owned()],
            none.clone(),
            none
        ]
    );
}

#[actix_rt::test]
async fn events_of_a_client_are_refused_once_the_session_finishes() {
    tokio::time::pause();
    let call = one_node("slow").begin();
    call.request("Finalize");
    call.event("Late");
    call.verdict().await;
    assert_eq!(call.heard.named("Late"), []);
    assert_eq!(
        call.heard.responses().pop(),
        Some(refused("Event", "invalid-request"))
    );
}

#[actix_rt::test]
async fn nodes_are_described_while_they_run_and_while_they_finish() {
    tokio::time::pause();
    let call = call(
        "\"entry -> voice -> publisher\", \"entry -> rec\", \"entry -> slow\"",
        "[[nodes]]\nid = \"voice\"\ntype = \"voice-activity\"\n[[nodes]]\nid = \"rec\"\ntype = \"recorder\"\n\
         [[nodes]]\nid = \"slow\"\ntype = \"slow\"\n",
    )
    .begin();
    let describe = || async {
        let mut all = call.address.send(DescribeNodes).await.unwrap();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        let shown = |s: &callwright_domain::flow::NodeStatus| (s.id.clone(), s.kind, s.doing);
        all.iter().map(shown).collect::<Vec<_>>()
    };
    let line = |id: &str, kind, doing| (id.to_owned(), kind, doing);
    assert_eq!(
        describe().await,
        [
            line("entry", "entry", "running"),
            line("publisher", "publisher", "running"),
            line("rec", "recorder", "recording"),
            line("slow", "slow", "running"),
            line("voice", "voice-activity", "hearing silence"),
        ]
    );
    call.request("Finalize");
    settle().await;
    assert_eq!(
        describe().await,
        [
            line("entry", "entry", "finished"),
            line("publisher", "publisher", "finished"),
            line("rec", "recorder", "finished"),
            line("slow", "slow", "finishing"),
            line("voice", "voice-activity", "finished"),
        ]
    );
    call.verdict().await;
}

#[actix_rt::test]
async fn a_session_is_told_that_its_server_drains() {
    tokio::time::pause();
    let call = echo().begin();
    call.address
        .send(NoticeDraining {
            deadline_msec: 27_000,
        })
        .await
        .unwrap();
    let told = call.heard.named(names::SERVER_DRAINING);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].data["DeadlineMsec"], 27_000);
    assert!(!call.heard.is_closed());
    call.finalize().await;
}

#[actix_rt::test]
async fn server_audio_is_sent_in_the_encoding_that_the_client_asked_for() {
    tokio::time::pause();
    let mut setup = one_node("loopback").audio(8_000, 1, "ulaw");
    setup.start["Audio"]["Output"] = json!({"Encoding": "pcm"});
    let call = setup.begin();
    // Loudest μ-law of either sign: ±32 124 (ITU-T G.711).
    call.audio([0x80, 0x00]);
    call.finalize().await;
    assert_eq!(call.heard.audio(), [0x7C, 0x7D, 0x84, 0x82]);
}
