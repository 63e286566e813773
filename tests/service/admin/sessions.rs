//! `/admin/sessions`: who is on the line, and ending a call.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tonic::Code;

use super::problem_code;
use crate::support::{Server, Start, reason};

async fn end(server: &Server, operator: &str, path: &str) -> Response {
    let request = server.http().delete(format!("{}{path}", server.admin()));
    request.bearer_auth(operator).send().await.unwrap()
}

#[actix_web::test]
async fn a_live_call_is_listed_and_described_with_what_its_nodes_do() {
    let server = Server::start().await;
    let operator = server.token("ops", &["operator"]).await;
    let (client, _) = server.client("default", &["streaming"]).await;
    let token = server.streaming_token().await;
    let start = Start::new(&token).with("/CallProperties", json!({"ExternalId": "call-7"}));
    let call = server.call(&start).await;
    call.chunks(&[0xFF; 3_200], 320).await;
    call.event(r#"{"Event":{"Name":"Mark"}}"#).await;
    let mut call = call;
    call.await_event("Mark").await;

    let listed = server.sessions(&operator).await;
    assert_eq!(listed.len(), 1);
    let session = &listed[0];
    for (key, expected) in [
        ("tenant", json!("default")),
        ("project", json!("demo-stream")),
        ("external_id", json!("call-7")),
        ("audio_bytes", json!(3_200)),
        ("audio_ms", json!(200)),
        ("events_sent", json!(1)),
        (
            "format",
            json!({"rate": 8000, "channels": 2, "encoding": "ulaw"}),
        ),
    ] {
        assert_eq!(session[key], expected, "{key}: {session}");
    }
    assert_ne!(
        session["subject"],
        json!(client),
        "the client of the token, not another"
    );
    assert!(session["peer"].as_str().unwrap().starts_with("127.0.0.1:"));

    let path = format!("/admin/sessions/{}", session["id"].as_str().unwrap());
    let described: Value = server
        .admin_get(&path, &operator)
        .await
        .json()
        .await
        .unwrap();
    let state = |id: &str| {
        let nodes = described["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["id"] == id).unwrap()["state"].clone()
    };
    assert_eq!(state("recorder"), "recording");
    assert_eq!(state("voice-activity"), "hearing silence");
    assert_eq!(state("entry"), "running");

    for (filter, count) in [
        ("tenant=default", 1),
        ("tenant=other", 0),
        ("project=demo-stream", 1),
        ("project=x", 0),
    ] {
        let path = format!("/admin/sessions?{filter}");
        let found: Value = server
            .admin_get(&path, &operator)
            .await
            .json()
            .await
            .unwrap();
        assert_eq!(found["count"], count, "{filter}");
    }
    call.hear_out().await;
    server.await_sessions(0, &operator).await;
    let gone = server.admin_get(&path, &operator).await;
    assert_eq!(
        problem_code(gone).await,
        (404, "session-not-found".to_owned())
    );
}

#[actix_web::test]
async fn an_operator_ends_a_call_with_a_reason_that_its_client_is_told() {
    let server = Server::start().await;
    let operator = server.token("ops", &["operator"]).await;
    let token = server.streaming_token().await;
    let channel = server.connect().await;
    for by_body in [false, true] {
        let call = crate::support::Call::started(channel.clone(), &Start::new(&token)).await;
        call.chunks(&[0xFF; 1_600], 320).await;
        let id = server.sessions(&operator).await[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let path = format!("/admin/sessions/{id}");
        for without in [
            path.clone(),
            format!("{path}?reason="),
            format!("{path}?reason=%20"),
        ] {
            let answer = end(&server, &operator, &without).await;
            assert_eq!(
                problem_code(answer).await,
                (400, "reason-missing".to_owned())
            );
        }
        let long = end(
            &server,
            &operator,
            &format!("{path}?reason={}", "x".repeat(501)),
        )
        .await;
        assert_eq!(
            problem_code(long).await,
            (400, "reason-too-long".to_owned())
        );
        assert_eq!(server.sessions(&operator).await.len(), 1, "it still lives");

        let query = if by_body { "" } else { "?reason=a+test+call" };
        let request = server
            .http()
            .delete(format!("{}{path}{query}", server.admin()))
            .bearer_auth(&operator);
        let request = if by_body {
            request.json(&json!({"reason": "a test call"}))
        } else {
            request
        };
        assert_eq!(
            request.send().await.unwrap().status(),
            StatusCode::NO_CONTENT
        );
        let said = call.rest().await;
        assert_eq!(said.status.code(), Code::Aborted);
        assert_eq!(reason(said.ended()), "ended-by-operator");
        assert_eq!(said.ended()["Data"]["Message"], "a test call");
        assert_eq!(
            said.named("Recording Saved").len(),
            1,
            "nodes finish their work"
        );
        server.await_sessions(0, &operator).await;
    }
}

#[actix_web::test]
async fn a_session_that_is_not_there_is_a_404_whatever_its_id_looks_like() {
    let server = Server::start().await;
    let operator = server.token("ops", &["operator"]).await;
    for id in ["0197c1c0-0000-7000-8000-000000000000", "7", "x%0ay"] {
        let path = format!("/admin/sessions/{id}");
        let expected = (404, "session-not-found".to_owned());
        let found = server.admin_get(&path, &operator).await;
        assert_eq!(problem_code(found).await, expected, "{id}");
        let events = server.admin_get(&format!("{path}/events"), &operator).await;
        assert_eq!(problem_code(events).await, expected, "{id}");
        let ended = end(&server, &operator, &format!("{path}?reason=x")).await;
        assert_eq!(problem_code(ended).await, expected, "{id}");
    }
}
