//! `callwright keys`: a rotation beside a running service.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{each, json};
use crate::store::Place;
use crate::support::{Server, Start, WAIT};

fn kid(token: &str) -> String {
    let head = URL_SAFE_NO_PAD
        .decode(token.split('.').next().unwrap())
        .unwrap();
    let head: Value = serde_json::from_slice(&head).unwrap();
    assert_eq!(head["alg"], "ES256");
    head["kid"].as_str().unwrap().to_owned()
}

async fn published(server: &Server) -> Vec<String> {
    let get = async |path: &str| -> Value {
        let answer = server.http().get(format!("{}{path}", server.api()));
        answer.send().await.unwrap().json().await.unwrap()
    };
    let discovery = get("/.well-known/openid-configuration").await;
    let keys = discovery["jwks_uri"].as_str().unwrap();
    let path = keys.strip_prefix(discovery["issuer"].as_str().unwrap());
    let keys = get(path.unwrap()).await;
    for key in keys["keys"].as_array().unwrap() {
        assert_eq!(key.get("d"), None, "the private half stays private");
    }
    let mut kids: Vec<_> = each(&keys["keys"], "kid")
        .into_iter()
        .map(|kid| kid.as_str().unwrap().to_owned())
        .collect();
    kids.sort_unstable();
    kids
}

/// Waits until the service has read the key of `token`: it asks for an unknown one at most once an interval.
async fn await_trust(server: &Server, token: &str) {
    let begun = Instant::now();
    while !server
        .admin_get("/admin/sessions", token)
        .await
        .status()
        .is_success()
    {
        assert!(begun.elapsed() < WAIT, "the new key is not trusted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[actix_web::test]
async fn after_a_rotation_the_new_key_signs_and_tokens_of_the_old_one_stay_good() {
    let place = Place::postgres();
    let replica = async || {
        Server::builder()
            .set("store.url", &place.url)
            .set("identity.public_url", "https://tokens.example")
            .set("identity.unknown_key_fetch_interval_s", 1)
            .start()
            .await
    };
    let server = replica().await;
    let old = server.token("default", &["operator", "streaming"]).await;
    assert_eq!(published(&server).await, [kid(&old)]);
    assert!(server.sessions(&old).await.is_empty());

    let rotated = json(&server, &["keys", "rotate", "--json"]).await;
    let new_kid = rotated["kid"].as_str().unwrap().to_owned();
    assert_ne!(kid(&old), new_kid);
    // A service that runs asks once a minute whether its key still signs; one that starts takes the new key.
    let other = replica().await;
    let new = other.token("default", &["operator", "streaming"]).await;
    assert_eq!(kid(&new), new_kid);
    let mut both = vec![kid(&old), new_kid.clone()];
    both.sort_unstable();
    await_trust(&server, &new).await;
    for server in [&server, &other] {
        assert_eq!(published(server).await, both);
        for token in [&old, &new] {
            assert!(server.sessions(token).await.is_empty());
            let call = server.call(&Start::new(token)).await;
            call.hear_out().await.ended();
        }
    }

    let listed = json(&server, &["keys", "list", "--json"]).await;
    assert!(!listed.to_string().contains("PRIVATE"));
    for key in listed.as_array().unwrap() {
        let signs = key["kid"] == json!(new_kid);
        assert_eq!(key["signs"], signs);
        assert_eq!(key["published_until"].is_null(), signs);
    }
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let text = server.done(&["keys", "list"]).await;
    assert!(
        text.contains(&format!("{new_kid}  signs")) && text.contains("published until"),
        "{text}"
    );
}
