//! `callwright client`, `token` and `tenant`.

use std::fs;

use serde_json::{Value, json};

use super::{each, json};
use crate::support::{Outcome, Server};

/// Runs `callwright token` as a client.
async fn token(server: &Server, id: &str, secret: &str) -> Outcome {
    let url = format!("{}/connect/token", server.api());
    let arguments = [
        "token",
        "--client-id",
        id,
        "--token-url",
        &url,
        "--client-secret",
        secret,
    ];
    server.run(&arguments).await
}

#[actix_web::test]
async fn a_client_gets_its_secret_once_and_is_gone_when_removed() {
    let server = Server::start().await;
    let add = [
        "client",
        "add",
        "--tenant",
        "acme",
        "--scope",
        "operator,streaming",
        "--scope",
        "operator",
        "--json",
    ];
    let made = json(&server, &add).await;
    let (id, secret) = (
        made["client_id"].as_str().unwrap(),
        made["client_secret"].as_str().unwrap(),
    );
    assert_eq!(made.as_object().unwrap().len(), 2);
    let listed = json(&server, &["client", "list", "--tenant", "acme", "--json"]).await;
    assert_eq!(each(&listed, "client_id"), [id]);
    assert_eq!(listed[0]["scopes"], json!(["streaming", "operator"]));
    assert!(!listed.to_string().contains(secret));
    assert_eq!(
        json(&server, &["client", "list", "--json"]).await,
        json!([]),
        "another tenant's"
    );

    let got = token(&server, id, secret).await;
    assert_eq!((got.code, got.err.as_str()), (Some(0), ""));
    assert!(
        server.sessions(got.out.trim()).await.is_empty(),
        "the token is good"
    );
    let wrong = token(&server, id, "guessed").await;
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(77), ""));
    assert!(!wrong.err.contains("guessed"), "{}", wrong.err);

    let other = server.run(&["client", "remove", id]).await;
    assert_eq!(other.code, Some(1), "another tenant's client is not there");
    server
        .done(&["client", "remove", id, "--tenant", "acme"])
        .await;
    assert_eq!(token(&server, id, secret).await.code, Some(77));
    assert!(
        server.sessions(got.out.trim()).await.is_empty(),
        "tokens are good until they expire"
    );

    for entry in fs::read_dir(server.data("")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let content = fs::read(&path).unwrap();
            let found = content
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "the secret is in {}", path.display());
        }
    }
    assert!(!server.log().contains(secret));
}

#[actix_web::test]
async fn a_client_with_a_scope_that_is_none_is_not_made() {
    let server = Server::start().await;
    for arguments in [
        &["client", "add", "--scope", "root"][..],
        &["client", "add"],
        &[
            "client", "add", "--scope", "operator", "--tenant", "no/name",
        ],
    ] {
        let outcome = server.run(arguments).await;
        assert_eq!(
            (outcome.code, outcome.out.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(!outcome.err.is_empty());
    }
    assert_eq!(
        json(&server, &["client", "list", "--json"]).await,
        json!([])
    );
}

#[actix_web::test]
async fn a_token_is_found_by_the_data_folder_and_an_issuer_that_is_not_there_is_said() {
    let server = Server::start().await;
    let (id, secret) = server.client("default", &["streaming"]).await;
    let mut command = server.command(&["token", "--client-id", &id]);
    let output = command
        .env("CALLWRIGHT_CLIENT_SECRET", &secret)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().split('.').count(),
        3
    );
    let nowhere = [
        "token",
        "--client-id",
        &id,
        "--client-secret",
        &secret,
        "--token-url",
        "http://127.0.0.1:1/connect/token",
    ];
    let outcome = server.run(&nowhere).await;
    assert_eq!(outcome.code, Some(69), "{outcome:?}");
    assert!(!outcome.err.contains(secret.as_str()));
}

#[actix_web::test]
async fn tenants_are_made_once_and_listed() {
    let server = Server::start().await;
    assert!(
        server
            .done(&["tenant", "add", "acme"])
            .await
            .contains("made")
    );
    assert!(
        server
            .done(&["tenant", "add", "acme"])
            .await
            .contains("was there")
    );
    let listed: Value = json(&server, &["tenant", "list", "--json"]).await;
    let mut names: Vec<_> = each(&listed, "tenant")
        .into_iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["acme", "default"]);
    assert_eq!(
        server.run(&["tenant", "add", "no/name"]).await.code,
        Some(2)
    );
}
