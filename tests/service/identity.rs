//! Identity over HTTP: clients sign in, their tokens open routes, and tokens of another issuer do too.

mod api;
mod oidc;

use callwright::identity::clients::Credentials;
use callwright::web::auth::Authentication;
use callwright_domain::identity::Scope;
use reqwest::{Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::store::Place;
use api::Api;

/// A response as the snapshots show it: status, the headers that matter, and the body.
async fn wire(response: Response, base: &str) -> Value {
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let names = [
        "content-type",
        "cache-control",
        "pragma",
        "www-authenticate",
        "allow",
        "retry-after",
    ];
    let headers: serde_json::Map<String, Value> = names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), header(name)?.into())))
        .collect();
    let status = response.status().as_u16();
    let text = response
        .text()
        .await
        .unwrap()
        .replace(base, "http://[address]");
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    json!({ "status": status, "headers": headers, "body": body })
}

fn redact(value: &mut Value, pointer: &str) {
    let place = value
        .pointer_mut(pointer)
        .unwrap_or_else(|| panic!("{pointer} is there"));
    assert!(
        place.as_str().is_some_and(|text| text.len() >= 40),
        "{pointer} holds {place}"
    );
    *place = json!("[redacted]");
}

async fn clients_sign_in_and_their_tokens_open_routes(place: Place) {
    let api = Api::embedded(&place).await;
    let credentials = api.client(&[Scope::Streaming]).await;
    let by_form: Value = api.sign_in(&credentials).await.json().await.unwrap();
    let by_header = api
        .http
        .post(format!("{}/connect/token", api.base))
        .basic_auth(
            &credentials.client_id,
            Some(credentials.client_secret.expose_secret()),
        )
        .form(&[("grant_type", "client_credentials"), ("scope", "streaming")])
        .send()
        .await
        .unwrap();
    let by_header: Value = by_header.json().await.unwrap();
    for answer in [&by_form, &by_header] {
        let response = api.get("/guarded", answer["access_token"].as_str()).await;
        assert_eq!(response.status(), StatusCode::OK, "{answer}");
        assert_eq!(
            response.text().await.unwrap(),
            format!("{} of acme", credentials.client_id)
        );
    }
    assert_ne!(by_form["access_token"], by_header["access_token"]);
    api.stop().await;
}

#[actix_web::test]
async fn clients_sign_in_and_their_tokens_open_routes_on_sqlite() {
    clients_sign_in_and_their_tokens_open_routes(Place::sqlite()).await;
}

#[actix_web::test]
async fn clients_sign_in_and_their_tokens_open_routes_on_postgresql() {
    clients_sign_in_and_their_tokens_open_routes(Place::postgres()).await;
}

async fn replicas_on_one_empty_database_share_one_key(place: Place) {
    let (one, two) = (Api::embedded(&place).await, Api::embedded(&place).await);
    let (first, second) = tokio::join!(one.issuer.prepare(), two.issuer.prepare());
    first.and(second).unwrap();
    let keys = [
        one.issuer.jwks().await.unwrap(),
        two.issuer.jwks().await.unwrap(),
    ];
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0]["keys"].as_array().unwrap().len(), 1);
    let rotated = tokio::join!(one.issuer.rotate(), two.issuer.rotate());
    let kid = rotated.0.unwrap();
    let published = two.issuer.jwks().await.unwrap();
    assert!(
        published["keys"]
            .as_array()
            .unwrap()
            .iter()
            .any(|key| key["kid"] == kid.as_str())
    );
    rotated.1.unwrap();
    one.stop().await;
    two.stop().await;
}

#[actix_web::test]
async fn replicas_on_one_empty_database_share_one_key_on_sqlite() {
    replicas_on_one_empty_database_share_one_key(Place::sqlite()).await;
}

#[actix_web::test]
async fn replicas_on_one_empty_database_share_one_key_on_postgresql() {
    replicas_on_one_empty_database_share_one_key(Place::postgres()).await;
}

#[actix_web::test]
async fn the_answers_of_the_token_endpoint_have_the_shapes_of_rfc_6749() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let credentials = api.client(&[Scope::Streaming, Scope::Abbreviations]).await;
    let mut granted = wire(api.sign_in(&credentials).await, &api.base).await;
    redact(&mut granted, "/body/access_token");
    insta::assert_json_snapshot!("token_granted", granted);

    let (id, secret) = (
        credentials.client_id.as_str(),
        credentials.client_secret.expose_secret(),
    );
    let grant = ("grant_type", "client_credentials");
    let cases: [(&str, &[(&str, &str)]); 7] = [
        (
            "wrong secret",
            &[grant, ("client_id", id), ("client_secret", "guess")],
        ),
        ("no secret", &[grant, ("client_id", id)]),
        ("no client", &[grant]),
        ("no grant", &[("client_id", id), ("client_secret", secret)]),
        (
            "other grant",
            &[
                ("grant_type", "password"),
                ("client_id", id),
                ("client_secret", secret),
            ],
        ),
        (
            "other scope",
            &[
                grant,
                ("client_id", id),
                ("client_secret", secret),
                ("scope", "operator"),
            ],
        ),
        (
            "twice",
            &[grant, grant, ("client_id", id), ("client_secret", secret)],
        ),
    ];
    let mut refused = serde_json::Map::new();
    for (name, form) in cases {
        refused.insert(name.to_owned(), wire(api.ask(form).await, &api.base).await);
    }
    insta::assert_json_snapshot!("token_refused", refused);
    api.stop().await;
}

#[actix_web::test]
async fn discovery_and_keys_have_the_shapes_verifiers_read() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    api.issuer.prepare().await.unwrap();
    let discovery = wire(
        api.get("/.well-known/openid-configuration", None).await,
        &api.base,
    )
    .await;
    insta::assert_json_snapshot!("discovery", discovery);
    let mut jwks = wire(api.get("/.well-known/jwks.json", None).await, &api.base).await;
    for name in ["kid", "x", "y"] {
        redact(&mut jwks, &format!("/body/keys/0/{name}"));
    }
    insta::assert_json_snapshot!("jwks", jwks);
    api.stop().await;
}

#[actix_web::test]
async fn whatever_goes_wrong_is_a_problem_document() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let credentials = api.client(&[Scope::Streaming]).await;
    let signed_in: Value = api.sign_in(&credentials).await.json().await.unwrap();
    let token = signed_in["access_token"].as_str();
    let post = |body: &str, media: &str| {
        api.http
            .post(format!("{}/body", api.base))
            .header("content-type", media)
            .body(body.to_owned())
            .send()
    };
    let huge = format!("\"{}\"", "x".repeat(3 * 1024 * 1024));
    let other_method = api
        .http
        .delete(format!("{}/connect/token", api.base))
        .send()
        .await
        .unwrap();
    let answers = [
        ("nothing there", api.get("/nowhere", None).await),
        ("wrong method", other_method),
        (
            "wrong method on a resource without a word on that",
            api.http
                .delete(format!("{}/body", api.base))
                .send()
                .await
                .unwrap(),
        ),
        ("not JSON", post("seven", "application/json").await.unwrap()),
        (
            "not said to be JSON",
            post("7", "text/plain").await.unwrap(),
        ),
        ("too large", post(&huge, "application/json").await.unwrap()),
        ("no token", api.get("/guarded", None).await),
        ("no such token", api.get("/guarded", Some("opaque")).await),
        ("missing scope", api.get("/operators", token).await),
    ];
    let mut problems = serde_json::Map::new();
    for (name, answer) in answers {
        problems.insert(name.to_owned(), wire(answer, &api.base).await);
    }
    insta::assert_json_snapshot!("problems", problems);
    api.stop().await;
}

#[actix_web::test]
async fn a_service_with_another_issuer_says_where_tokens_come_from() {
    let place = Place::sqlite();
    let api = Api::start(
        &place,
        Authentication::Required,
        Some("https://id.example/realm"),
    )
    .await;
    let asked = api.ask(&[("grant_type", "client_credentials")]).await;
    insta::assert_json_snapshot!("external_issuer", wire(asked, &api.base).await);
    for path in [
        "/.well-known/openid-configuration",
        "/.well-known/jwks.json",
    ] {
        let answer = api.get(path, None).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], "external-issuer", "{path}");
    }
    api.stop().await;
}

#[actix_web::test]
async fn where_no_authentication_is_wanted_a_token_still_decides() {
    let place = Place::sqlite();
    let api = Api::start(&place, Authentication::None, None).await;
    let anonymous = api.get("/guarded", None).await;
    assert_eq!(anonymous.text().await.unwrap(), "anonymous of default");
    let signed_in: Value = api
        .sign_in(&api.client(&[Scope::Streaming]).await)
        .await
        .json()
        .await
        .unwrap();
    let token = signed_in["access_token"].as_str();
    assert!(
        api.get("/guarded", token)
            .await
            .text()
            .await
            .unwrap()
            .ends_with(" of acme")
    );
    assert_eq!(
        api.get("/operators", token).await.status(),
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        api.get("/guarded", Some("bad")).await.status(),
        StatusCode::UNAUTHORIZED
    );
    api.stop().await;
}

#[actix_web::test]
async fn a_form_over_the_limit_or_of_another_type_is_refused() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let long = "x".repeat(17 * 1024);
    let answer = api.ask(&[("grant_type", long.as_str())]).await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        answer.json::<Value>().await.unwrap()["error"],
        "invalid_request"
    );
    let json = api
        .http
        .post(format!("{}/connect/token", api.base))
        .json(&json!({}))
        .send()
        .await
        .unwrap();
    assert_eq!(json.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        json.json::<Value>().await.unwrap()["error"],
        "invalid_request"
    );
    api.stop().await;
}

#[actix_web::test]
async fn who_guesses_secrets_has_to_wait() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let (victim, other) = (
        api.client(&[Scope::Streaming]).await,
        api.client(&[Scope::Streaming]).await,
    );
    let guess = Credentials {
        client_id: victim.client_id.clone(),
        client_secret: "guess".into(),
    };
    for _ in 0..5 {
        assert_eq!(api.sign_in(&guess).await.status(), StatusCode::UNAUTHORIZED);
    }
    let refused = api.sign_in(&guess).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = refused.headers()["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(
        api.sign_in(&other).await.status(),
        StatusCode::OK,
        "others are free"
    );
    api.stop().await;
}
