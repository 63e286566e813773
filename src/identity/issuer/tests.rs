use std::sync::Mutex as StdMutex;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callwright_actors::ports::{TokenFault, TokenVerifier as _};
use secrecy::ExposeSecret as _;

use super::*;
use crate::identity::claims::Expectations;
use crate::identity::clients::memory::MemoryClients;
use crate::identity::clients::{Credentials, register};
use crate::identity::key_cache::StoredKeys;
use crate::identity::keys::memory::MemoryKeys;
use crate::identity::{KeyCache, Verifier};

const ISSUER: &str = "http://127.0.0.1:8080";

/// Several replicas over one store, at a time the test sets.
struct House {
    keys: Arc<MemoryKeys>,
    clients: Arc<dyn ClientStore>,
    now: Arc<StdMutex<DateTime<Utc>>>,
}

impl House {
    fn new() -> Self {
        let start = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        Self {
            keys: Arc::default(),
            clients: Arc::new(MemoryClients::default()),
            now: Arc::new(StdMutex::new(start)),
        }
    }

    fn clock(&self) -> Clock {
        let now = Arc::clone(&self.now);
        Arc::new(move || *now.lock().unwrap())
    }

    fn pass(&self, time: TimeDelta) {
        *self.now.lock().unwrap() += time;
    }

    fn issuer(&self) -> Issuer {
        let options = Options {
            issuer: ISSUER.to_owned(),
            audience: "callwright".to_owned(),
            tenant_claim: "tenant".to_owned(),
            token_lifetime: Duration::from_secs(24 * 3600),
        };
        Issuer::new(
            options,
            self.keys.clone(),
            Arc::clone(&self.clients),
            self.clock(),
        )
    }

    fn verifier(&self) -> Verifier {
        let source = StoredKeys {
            keys: self.keys.clone(),
            clock: self.clock(),
        };
        let expected = Expectations {
            issuer: ISSUER.to_owned(),
            audience: "callwright".to_owned(),
            tenant_claim: "tenant".to_owned(),
            leeway: TimeDelta::seconds(30),
        };
        Verifier::new(
            KeyCache::new(Box::new(source), self.clock()),
            expected,
            self.clock(),
        )
    }

    async fn client(&self, scopes: &[Scope]) -> Credentials {
        let now = *self.now.lock().unwrap();
        register(&self.clients, "acme".parse().unwrap(), scopes.to_vec(), now)
            .await
            .unwrap()
    }
}

fn request(credentials: &Credentials, scope: Option<&str>) -> TokenRequest {
    TokenRequest {
        client_id: credentials.client_id.clone(),
        client_secret: credentials.client_secret.clone(),
        scope: scope.map(ToOwned::to_owned),
    }
}

async fn token(issuer: &Issuer) -> String {
    let issued = issuer
        .mint(&"acme".parse().unwrap(), "robot", &[Scope::Streaming])
        .await
        .unwrap();
    issued.access_token.expose_secret().to_owned()
}

fn part(token: &str, index: usize) -> Value {
    let bytes = URL_SAFE_NO_PAD
        .decode(token.split('.').nth(index).unwrap())
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn a_client_gets_a_token_that_verifies() {
    let house = House::new();
    let credentials = house.client(&[Scope::Streaming, Scope::Operator]).await;
    let issued = house
        .issuer()
        .issue(request(&credentials, None))
        .await
        .unwrap();
    assert_eq!(issued.scope, "streaming operator");
    assert_eq!(issued.lifetime, Duration::from_secs(86_400));
    let principal = house
        .verifier()
        .verify(issued.access_token.expose_secret())
        .await
        .unwrap();
    assert_eq!(principal.tenant.as_str(), "acme");
    assert_eq!(principal.subject, credentials.client_id);
    assert_eq!(principal.scopes, [Scope::Streaming, Scope::Operator]);
}

#[tokio::test]
async fn a_token_says_what_rfc_9068_wants() {
    let house = House::new();
    let issuer = house.issuer();
    let token = token(&issuer).await;
    let (header, claims) = (part(&token, 0), part(&token, 1));
    let jwks = issuer.jwks().await.unwrap();
    assert_eq!(
        (header["typ"].as_str(), header["alg"].as_str()),
        (Some("at+jwt"), Some("ES256"))
    );
    assert_eq!(header["kid"], jwks["keys"][0]["kid"]);
    assert_eq!(claims["iss"], ISSUER);
    assert_eq!(claims["aud"], "callwright");
    assert_eq!(
        (claims["sub"].as_str(), claims["tenant"].as_str()),
        (Some("robot"), Some("acme"))
    );
    assert_eq!(claims["scope"], "streaming");
    assert_eq!(
        claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(),
        86_400
    );
    assert_eq!(claims["nbf"], claims["iat"]);
    assert!(Uuid::parse_str(claims["jti"].as_str().unwrap()).is_ok());
}

#[tokio::test]
async fn a_client_without_its_secret_gets_nothing() {
    let house = House::new();
    let (one, two) = (
        house.client(&[Scope::Streaming]).await,
        house.client(&[Scope::Streaming]).await,
    );
    let issuer = house.issuer();
    let crossed = Credentials {
        client_id: one.client_id,
        client_secret: two.client_secret,
    };
    assert_eq!(
        issuer.issue(request(&crossed, None)).await.unwrap_err(),
        Refusal::InvalidClient
    );
    let unknown = Credentials {
        client_id: "nobody".to_owned(),
        ..crossed
    };
    assert_eq!(
        issuer.issue(request(&unknown, None)).await.unwrap_err(),
        Refusal::InvalidClient
    );
}

#[tokio::test]
async fn a_client_gets_the_scopes_it_asks_for_among_those_it_has() {
    let house = House::new();
    let credentials = house.client(&[Scope::Streaming, Scope::Operator]).await;
    let issuer = house.issuer();
    for (asked, given) in [
        ("operator", "operator"),
        ("operator  operator", "operator"),
        (" ", "streaming operator"),
    ] {
        let issued = issuer
            .issue(request(&credentials, Some(asked)))
            .await
            .unwrap();
        assert_eq!(issued.scope, given, "asked for `{asked}`");
    }
    for (asked, said) in [
        (
            "streaming analytics",
            "this client may not have the scope `analytics`",
        ),
        ("everything", "`everything` is no scope"),
    ] {
        let refusal = issuer
            .issue(request(&credentials, Some(asked)))
            .await
            .unwrap_err();
        assert_eq!(refusal, Refusal::InvalidScope(said.to_owned()));
    }
}

#[tokio::test]
async fn replicas_starting_at_once_share_one_key() {
    let house = House::new();
    let (one, two) = (house.issuer(), house.issuer());
    let (first, second) = tokio::join!(token(&one), token(&two));
    assert_eq!(part(&first, 0)["kid"], part(&second, 0)["kid"]);
    assert_eq!(house.keys.count(), 1);
}

#[tokio::test]
async fn after_a_rotation_old_tokens_verify_until_they_expire_and_then_the_key_is_gone() {
    let house = House::new();
    let (issuer, verifier) = (house.issuer(), house.verifier());
    let old = token(&issuer).await;
    verifier.verify(&old).await.unwrap();
    let kid = issuer.rotate().await.unwrap();
    assert_ne!(part(&old, 0)["kid"], kid.as_str());
    house.pass(TimeDelta::seconds(31));
    let new = token(&issuer).await;
    assert_eq!(
        part(&new, 0)["kid"],
        kid.as_str(),
        "the new key signs at once"
    );
    verifier.verify(&new).await.unwrap();
    house.pass(TimeDelta::hours(24) - TimeDelta::seconds(32));
    verifier.verify(&old).await.unwrap();
    assert_eq!(
        issuer.jwks().await.unwrap()["keys"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    house.pass(TimeDelta::minutes(8));
    assert_eq!(
        issuer.jwks().await.unwrap()["keys"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    issuer.rotate().await.unwrap();
    assert_eq!(house.keys.count(), 2, "the first key was pruned");
}

#[tokio::test]
async fn another_replica_signs_with_the_new_key_within_five_seconds_and_its_last_old_token_stays_good()
 {
    let house = House::new();
    let (one, two) = (house.issuer(), house.issuer());
    let before = part(&token(&two).await, 0)["kid"].clone();
    let kid = one.rotate().await.unwrap();
    house.pass(TimeDelta::seconds(4));
    let last = token(&two).await;
    assert_eq!(part(&last, 0)["kid"], before, "it has not asked again yet");
    house.pass(TimeDelta::seconds(1));
    assert_eq!(part(&token(&two).await, 0)["kid"], kid.as_str());
    house.pass(TimeDelta::hours(24) - TimeDelta::seconds(2));
    house.verifier().verify(&last).await.unwrap();
}

#[tokio::test]
async fn a_verifier_elsewhere_learns_of_a_new_key_from_the_first_token_signed_with_it() {
    let house = House::new();
    let (issuer, verifier) = (house.issuer(), house.verifier());
    verifier.verify(&token(&issuer).await).await.unwrap();
    house.pass(TimeDelta::minutes(5));
    issuer.rotate().await.unwrap();
    verifier.verify(&token(&issuer).await).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_down_stops_signing_when_the_key_could_have_been_rotated_away() {
    let house = House::new();
    let (issuer, verifier) = (house.issuer(), house.verifier());
    let good = token(&issuer).await;
    verifier.verify(&good).await.unwrap();
    house.keys.down.store(true, Ordering::SeqCst);
    house.pass(TimeDelta::seconds(119));
    token(&issuer).await;
    house.pass(TimeDelta::seconds(1));
    let fault = issuer
        .mint(&"acme".parse().unwrap(), "robot", &[])
        .await
        .unwrap_err();
    assert_eq!(fault.to_string(), "the store did not answer: it is down");
    house.pass(TimeDelta::hours(23));
    verifier
        .verify(&good)
        .await
        .expect("the keys at hand go on serving");
}

#[tokio::test]
async fn a_verifier_with_no_keys_and_no_store_says_that_it_cannot_check() {
    let house = House::new();
    let good = token(&house.issuer()).await;
    house.keys.down.store(true, Ordering::SeqCst);
    let fault = house.verifier().verify(&good).await.unwrap_err();
    assert!(
        matches!(&fault, TokenFault::Unavailable(said) if said.ends_with("the issuer's keys could not be read")),
        "{fault:?}"
    );
}
