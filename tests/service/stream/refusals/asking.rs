//! Starts of those who may not, and Starts for which there is no room.

use serde_json::{Map, json};
use tonic::Code;

use super::{refused, request};
use crate::support::{Call, Server, Start, assert_wire, reason};

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
