//! Tokens of any OIDC issuer: the good ones start calls, the bad ones do not, whatever is wrong with them.

use std::time::Duration;

use bytes::Bytes;
use callwright_proto::ContentType;
use futures_util::future::join_all;
use rcgen::KeyPair;
use serde_json::{Value, json};
use tokio::time::sleep;
use tonic::Code;
use tonic::transport::Channel;

use super::issuer::{KID, TestIssuer, sign_by_hmac, sign_with, unsigned};
use super::readers::{assert_echoes, narrow};
use crate::support::{Call, Said, Server, Start, assert_wire, message};

const ECHO: &str = "name = \"echo\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n";

async fn serving(issuer: &TestIssuer) -> Server {
    let builder = Server::builder().set("identity.issuer", &issuer.base);
    let server = builder.start().await;
    server.apply_project(ECHO).await;
    server
}

fn start(token: &str) -> Start {
    Start::new(token).through("echo")
}

async fn answer(connection: &Channel, token: &str) -> (Value, Said) {
    let mut call = Call::open(connection.clone()).await;
    let answer = call.start(&start(token)).await;
    (answer, call.hear_out().await)
}

async fn assert_refused(connection: &Channel, token: &str, words: &str) {
    let (answer, said) = answer(connection, token).await;
    assert_eq!(
        answer["operation-result"], "invalid-token",
        "{words}: {answer}"
    );
    assert_eq!(said.status.code(), Code::Unauthenticated);
    let told = answer["error-message"].as_str().unwrap();
    assert!(told.contains(words), "{told}");
    assert!(!told.contains(token), "a token is never told");
}

fn with(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    claims[name] = value;
    claims
}

#[actix_web::test]
async fn only_tokens_that_hold_here_and_now_start_a_call() {
    let issuer = TestIssuer::start();
    let server = serving(&issuer).await;
    let connection = server.connect().await;
    let claims = issuer.claims();
    let now = chrono::Utc::now().timestamp();
    let bad = [
        ("expired", with(&claims, "exp", json!(now - 3_600))),
        ("not valid before", with(&claims, "nbf", json!(now + 3_600))),
        (
            "for audience `another`",
            with(&claims, "aud", json!("another")),
        ),
        ("no audience", with(&claims, "aud", Value::Null)),
        (
            "from the issuer `http://127.0.0.1:1`",
            with(&claims, "iss", json!("http://127.0.0.1:1")),
        ),
        ("no tenant", with(&claims, "tenant", Value::Null)),
        ("never expires", with(&claims, "exp", Value::Null)),
        (
            "scope `streaming`",
            with(&claims, "scope", json!("evaluator")),
        ),
    ];
    for (words, claims) in bad {
        assert_refused(&connection, &issuer.sign(&claims, KID), words).await;
    }
    let (answer, said) = answer(&connection, &issuer.good()).await;
    assert_eq!(
        (&answer["operation-result"], said.status.code()),
        (&json!("success"), Code::Ok)
    );
    let others = issuer.sign(&with(&claims, "tenant", json!("acme")), KID);
    let (answer, said) = self::answer(&connection, &others).await;
    assert_eq!(answer["operation-result"], "tenant-mismatch");
    assert_eq!(said.status.code(), Code::PermissionDenied);
    issuer.stop().await;
}

#[actix_web::test]
async fn no_token_gets_by_without_the_issuers_signature() {
    let issuer = TestIssuer::start();
    let server = serving(&issuer).await;
    let connection = server.connect().await;
    let claims = issuer.claims();
    let (good, stranger) = (issuer.good(), KeyPair::generate().unwrap());
    let signature = good.rsplit_once('.').unwrap().1;
    for alg in ["none", "None", "NONE"] {
        for signature in ["", signature] {
            assert_refused(
                &connection,
                &unsigned(&claims, alg, signature),
                "not signed",
            )
            .await;
        }
    }
    for secret in issuer.public_secrets() {
        assert_refused(
            &connection,
            &sign_by_hmac(&secret, &claims),
            "signed with `HS256`",
        )
        .await;
    }
    assert_refused(
        &connection,
        &sign_with(&stranger, &claims, KID),
        "signature",
    )
    .await;
    assert_refused(&connection, &issuer.sign(&claims, "unheard-of"), "key").await;
    let (answer, _) = answer(&connection, &good).await;
    assert_eq!(answer["operation-result"], "success");
    issuer.stop().await;
}

#[actix_web::test]
async fn an_issuer_that_is_down_is_no_fault_of_a_token() {
    let issuer = TestIssuer::start();
    let server = serving(&issuer).await;
    let (good, unknown) = (issuer.good(), issuer.sign(&issuer.claims(), "unheard-of"));
    issuer.stop().await;
    let connection = server.connect().await;
    let (answer, said) = answer(&connection, &good).await;
    assert_eq!(
        answer["operation-result"], "success",
        "its keys are at hand"
    );
    assert_eq!(said.status.code(), Code::Ok);
    let (answer, said) = self::answer(&connection, &unknown).await;
    assert_eq!(
        answer["operation-result"], "service-unavailable",
        "{answer}"
    );
    assert_eq!(said.status.code(), Code::Unavailable);
    assert_wire("refused_for_the_issuer", answer);
}

#[actix_web::test]
async fn a_hundred_calls_that_wait_for_the_issuer_stall_nobody_else() {
    let issuer = TestIssuer::start();
    let server = serving(&issuer).await;
    let connection = narrow(&server).await;
    let opened = (0..3).map(|_| {
        let connection = connection.clone();
        let start = start(&issuer.good());
        async move { Call::started(connection, &start).await }
    });
    let mut neighbours = join_all(opened).await;
    issuer.hang();
    let unknown = start(&issuer.sign(&issuer.claims(), "unheard-of"));
    let mut waiting = Vec::new();
    for _ in 0..100 {
        let call = Call::open(connection.clone()).await;
        call.request(&unknown.json()).await;
        waiting.push(call);
    }
    // Nobody reads these chunks while the key is asked for: they stay in the windows of their streams.
    for round in 0..450 {
        for call in &waiting {
            call.offer(message(
                ContentType::Audio,
                "",
                Bytes::from_static(&[0xFF; 160]),
            ));
        }
        sleep(Duration::from_millis(1)).await;
        if round % 50 == 0 {
            for call in &mut neighbours {
                assert_echoes(call, &format!("round {round}")).await;
            }
        }
    }
    let stalled = waiting.iter().filter(|call| call.is_full()).count();
    assert!(stalled > 50, "{stalled} of 100 streams are stalled");
    for call in waiting {
        let said = call.rest().await;
        let result = &said.responses()[0]["operation-result"];
        assert!(
            result == "service-unavailable" || result == "invalid-token",
            "{said:?}"
        );
    }
    for mut call in neighbours {
        assert_echoes(&mut call, "at the end").await;
        assert_eq!(call.hear_out().await.status.code(), Code::Ok);
    }
    issuer.stop().await;
}
