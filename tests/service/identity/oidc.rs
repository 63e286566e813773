//! Tokens of an OIDC issuer: another service of ours, and one that misbehaves as the test says.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, rt, web};
use callwright::identity::oidc::{OidcKeys, Options};
use callwright::identity::{KeyCache, Verifier, system_clock};
use callwright_actors::ports::{TokenFault, TokenVerifier as _};
use callwright_domain::identity::Scope;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::api::{Api, expectations};
use crate::store::Place;

fn verifier(issuer: &str) -> Verifier {
    let source = OidcKeys::new(Options {
        issuer: issuer.to_owned(),
        authorities_pem: None,
        fetch_timeout: std::time::Duration::from_secs(5),
    })
    .unwrap();
    Verifier::new(
        KeyCache::new(Box::new(source), system_clock()),
        expectations(issuer),
        system_clock(),
    )
}

async fn token(api: &Api) -> String {
    let issued = api
        .issuer
        .mint(&"acme".parse().unwrap(), "robot", &[Scope::Evaluator])
        .await
        .unwrap();
    issued.access_token.expose_secret().to_owned()
}

/// What the misbehaving issuer answers.
#[derive(Default)]
struct Script {
    discovery: Mutex<Value>,
    keys: Mutex<String>,
    key_requests: AtomicUsize,
}

struct Odd {
    base: String,
    script: Arc<Script>,
    server: ServerHandle,
}

impl Odd {
    /// An issuer that publishes the keys of `api` under its own name.
    async fn publishing_keys_of(api: &Api) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Script::default());
        *script.keys.lock().unwrap() = api.issuer.jwks().await.unwrap().to_string();
        *script.discovery.lock().unwrap() =
            json!({ "issuer": base, "jwks_uri": format!("{base}/keys") });
        let shared = web::Data::from(Arc::clone(&script));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(shared.clone())
                .route(
                    "/.well-known/openid-configuration",
                    web::get().to(discovery),
                )
                .route("/keys", web::get().to(keys))
                .route("/moved", web::get().to(moved))
        })
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
        let handle = server.handle();
        rt::spawn(server);
        Self {
            base,
            script,
            server: handle,
        }
    }

    fn discover(&self, document: Value) {
        *self.script.discovery.lock().unwrap() = document;
    }
}

async fn discovery(script: web::Data<Script>) -> HttpResponse {
    HttpResponse::Ok().body(script.discovery.lock().unwrap().to_string())
}

async fn keys(script: web::Data<Script>) -> HttpResponse {
    script.key_requests.fetch_add(1, Ordering::SeqCst);
    HttpResponse::Ok().body(script.keys.lock().unwrap().clone())
}

async fn moved() -> HttpResponse {
    HttpResponse::Found()
        .insert_header(("location", "/keys"))
        .finish()
}

/// Why the issuer's keys cannot be read: for the operator, not for the caller with the token.
async fn cause(issuer: &str, token: &str) -> String {
    let verifier = verifier(issuer);
    let fault = verifier.verify(token).await.unwrap_err();
    let said = "the token cannot be checked now: the issuer's keys could not be read";
    assert_eq!(fault, TokenFault::Unavailable(said.to_owned()));
    verifier.keys().refresh().await.unwrap_err()
}

#[actix_web::test]
async fn tokens_of_an_oidc_issuer_verify_and_go_on_doing_so_while_it_is_down() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let verifier = verifier(&api.base);
    let token = token(&api).await;
    let principal = verifier.verify(&token).await.unwrap();
    assert_eq!(
        (principal.tenant.as_str(), principal.subject.as_str()),
        ("acme", "robot")
    );
    assert_eq!(principal.scopes, [Scope::Evaluator]);
    api.stop().await;
    verifier
        .keys()
        .refresh()
        .await
        .expect_err("nobody answers any more");
    verifier
        .verify(&token)
        .await
        .expect("the keys at hand go on serving");
}

#[actix_web::test]
async fn an_issuer_that_is_not_there_is_named() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let token = token(&api).await;
    let base = api.base.clone();
    api.stop().await;
    let said = cause(&base, &token).await;
    assert!(
        said.contains(&base) && said.contains("Connection refused"),
        "{said}"
    );
}

#[actix_web::test]
async fn a_flood_of_unknown_keys_reaches_the_issuer_once() {
    let place = Place::sqlite();
    let (api, other) = (Api::embedded(&place).await, Place::sqlite());
    let odd = Odd::publishing_keys_of(&api).await;
    // Signed with keys that the issuer does not publish.
    let stranger = Api::embedded(&other).await;
    let token = token(&stranger).await;
    let verifier = verifier(&odd.base);
    let checks = futures_util::future::join_all((0..100).map(|_| verifier.verify(&token))).await;
    assert!(
        checks
            .iter()
            .all(|check| matches!(check, Err(TokenFault::Refused(_)))),
        "{:?}",
        checks[0]
    );
    assert_eq!(odd.script.key_requests.load(Ordering::SeqCst), 1);
    odd.server.stop(false).await;
    api.stop().await;
    stranger.stop().await;
}

#[actix_web::test]
async fn an_issuer_whose_answers_cannot_be_trusted_gives_no_keys() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let token = token(&api).await;
    let odd = Odd::publishing_keys_of(&api).await;
    let base = odd.base.clone();
    let cases = [
        (
            json!({ "issuer": "https://evil.example", "jwks_uri": format!("{base}/keys") }),
            "names the issuer `https://evil.example`",
        ),
        (
            json!({ "issuer": format!("{base}/"), "jwks_uri": format!("{base}/keys") }),
            "names the issuer",
        ),
        (
            json!({ "issuer": base, "jwks_uri": "http://keys.example/" }),
            "is not an https URL",
        ),
        (
            json!({ "issuer": base, "jwks_uri": format!("{base}/moved") }),
            "answered 302",
        ),
        (
            json!({ "issuer": base, "jwks_uri": format!("{base}/nowhere") }),
            "answered 404",
        ),
        (json!({ "issuer": base }), "did not answer as expected"),
        (json!("x".repeat(300 * 1024)), "more than 256 KiB"),
    ];
    for (document, expected) in cases {
        odd.discover(document);
        let said = cause(&base, &token).await;
        assert!(said.contains(expected), "{said}");
    }
    odd.server.stop(false).await;
    api.stop().await;
}

#[actix_web::test]
async fn one_unreadable_key_does_not_spoil_the_others() {
    let place = Place::sqlite();
    let api = Api::embedded(&place).await;
    let good = token(&api).await;
    let odd = Odd::publishing_keys_of(&api).await;
    let mut set = api.issuer.jwks().await.unwrap();
    let list = set["keys"].as_array_mut().unwrap();
    list.insert(0, json!({ "kty": "from the future", "kid": 7 }));
    list.insert(0, json!("no key at all"));
    *odd.script.keys.lock().unwrap() = set.to_string();
    let verifier = verifier(&odd.base);
    let said = verifier.verify(&good).await.unwrap_err().to_string();
    // The signature was checked with the good key; only then is the issuer looked at.
    assert!(said.starts_with("the token is from the issuer"), "{said}");
    odd.server.stop(false).await;
    api.stop().await;
}
