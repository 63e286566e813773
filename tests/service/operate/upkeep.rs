//! `callwright migrate` and `doctor`.

use serde_json::{Value, json};

use super::json;
use crate::store::Place;
use crate::support::Server;

#[actix_web::test]
async fn a_dry_run_of_migrate_says_what_is_pending_and_does_nothing() {
    let server = Server::start().await;
    for place in [Place::sqlite(), Place::postgres()] {
        let store = format!("store.url={}", place.url);
        let migrate = |more: &'static str| {
            let arguments = ["migrate", "--json", "--set", &store, more].map(str::to_owned);
            let server = &server;
            async move {
                let arguments: Vec<&str> = arguments
                    .iter()
                    .map(String::as_str)
                    .filter(|a| !a.is_empty())
                    .collect();
                json(server, &arguments).await
            }
        };
        let pending = migrate("--dry-run").await;
        assert_eq!(pending["applied"], json!([]));
        assert!(!pending["pending"].as_array().unwrap().is_empty());
        assert_eq!(migrate("--dry-run").await, pending, "nothing was done");
        assert_eq!(migrate("").await["applied"], pending["pending"]);
        let done = json!({"applied": [], "pending": []});
        assert_eq!(migrate("").await, done);
        assert_eq!(migrate("--dry-run").await, done);
    }
    assert!(
        server
            .done(&["migrate"])
            .await
            .contains("the store is up to date")
    );
}

#[actix_web::test]
async fn the_doctor_finds_nothing_wrong_beside_a_running_service() {
    let server = Server::start().await;
    let findings: Value = json(&server, &["doctor", "--json"]).await;
    let findings = findings.as_array().unwrap();
    assert!(findings.len() > 5);
    assert!(
        findings.iter().all(|finding| finding["status"] != "fail"),
        "{findings:?}"
    );
    let sessions = server.token("ops", &["operator"]).await;
    assert!(
        server.sessions(&sessions).await.is_empty(),
        "the service did not mind"
    );
}
