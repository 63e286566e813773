//! Bad tokens, each refused with what is wrong, and none of them repeated.

mod caching;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{EncodingKey, Header};
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::json;

use super::*;
use crate::identity::key_cache::KeySource;

const NOW: i64 = 1_790_000_000;

/// A key of an issuer, with its JWK.
struct TestKey {
    pem: String,
    public_pem: String,
    jwk: Value,
}

impl TestKey {
    fn ec(kid: &str) -> Self {
        Self::curve(kid, &rcgen::PKCS_ECDSA_P256_SHA256, "P-256", 32)
    }

    fn curve(
        kid: &str,
        algorithm: &'static rcgen::SignatureAlgorithm,
        name: &str,
        length: usize,
    ) -> Self {
        let pair = KeyPair::generate_for(algorithm).unwrap();
        let (x, y) = pair.der_bytes()[1..].split_at(length);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let jwk = json!({ "kty": "EC", "crv": name, "x": x, "y": y, "kid": kid, "use": "sig" });
        Self {
            pem: pair.serialize_pem(),
            public_pem: pair.public_key_pem(),
            jwk,
        }
    }

    fn rsa(kid: &str) -> Self {
        let pair =
            KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048).unwrap();
        let encoding = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).unwrap();
        let jwk = jsonwebtoken::jwk::Jwk::from_encoding_key(&encoding, Algorithm::RS256).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(kid);
        jwk.as_object_mut().unwrap().remove("alg");
        Self {
            pem: pair.serialize_pem(),
            public_pem: pair.public_key_pem(),
            jwk,
        }
    }

    fn encoding(&self, algorithm: Algorithm) -> EncodingKey {
        match algorithm {
            Algorithm::ES256 | Algorithm::ES384 => {
                EncodingKey::from_ec_pem(self.pem.as_bytes()).unwrap()
            }
            _ => EncodingKey::from_rsa_pem(self.pem.as_bytes()).unwrap(),
        }
    }

    fn sign(&self, kid: Option<&str>, algorithm: Algorithm, claims: &Value) -> String {
        let mut header = Header::new(algorithm);
        header.typ = Some("at+jwt".to_owned());
        header.kid = kid.map(ToOwned::to_owned);
        jsonwebtoken::encode(&header, claims, &self.encoding(algorithm)).unwrap()
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example", "aud": "callwright", "sub": "robot", "tenant": "acme",
        "scope": "streaming", "iat": NOW, "nbf": NOW, "exp": NOW + 3600,
    })
}

/// An issuer whose answers the test writes; the last one stays.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Result<Vec<Value>, String>>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn answer(&self, answer: Result<Vec<Value>, String>) {
        let mut answers = self.answers.lock().unwrap();
        answers.clear();
        answers.push_back(answer);
    }
}

struct Ask(Arc<Scripted>);

#[async_trait]
impl KeySource for Ask {
    async fn fetch(&self) -> Result<Vec<Value>, String> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        // Long enough for every task of a flood to come and wait.
        tokio::task::yield_now().await;
        self.0.answers.lock().unwrap().front().cloned().unwrap()
    }
}

struct Bench {
    issuer: Arc<Scripted>,
    now: Arc<Mutex<DateTime<Utc>>>,
    verifier: Arc<Verifier>,
}

impl Bench {
    fn publishing(keys: &[&TestKey]) -> Self {
        let issuer = Arc::new(Scripted::default());
        issuer.answer(Ok(keys.iter().map(|key| key.jwk.clone()).collect()));
        let now = Arc::new(Mutex::new(DateTime::from_timestamp(NOW, 0).unwrap()));
        let told = Arc::clone(&now);
        let clock: Clock = Arc::new(move || *told.lock().unwrap());
        let cache = KeyCache::new(Box::new(Ask(Arc::clone(&issuer))), Arc::clone(&clock));
        let expected = Expectations {
            issuer: "https://id.example".to_owned(),
            audience: "callwright".to_owned(),
            tenant_claim: "tenant".to_owned(),
            leeway: TimeDelta::seconds(30),
        };
        Self {
            issuer,
            now,
            verifier: Arc::new(Verifier::new(cache, expected, clock)),
        }
    }

    fn pass(&self, time: TimeDelta) {
        *self.now.lock().unwrap() += time;
    }

    fn asked(&self) -> usize {
        self.issuer.asked.load(Ordering::SeqCst)
    }

    async fn refusal(&self, token: &str) -> String {
        match self.verifier.verify(token).await {
            Err(TokenFault::Refused(said)) => {
                let longest = token
                    .split('.')
                    .filter(|part| part.len() > 8)
                    .find(|part| said.contains(part));
                assert_eq!(longest, None, "the refusal repeats the token");
                said
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut claims = claims();
    change(&mut claims);
    claims
}

fn raw(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.{}",
        encode(header),
        encode(claims),
        URL_SAFE_NO_PAD.encode(signature)
    )
}

#[tokio::test]
async fn tokens_of_every_accepted_algorithm_verify() {
    let (p256, rsa) = (TestKey::ec("p256"), TestKey::rsa("rsa"));
    let p384 = TestKey::curve("p384", &rcgen::PKCS_ECDSA_P384_SHA384, "P-384", 48);
    let bench = Bench::publishing(&[&p256, &p384, &rsa]);
    for (key, kid, algorithm) in [
        (&p256, "p256", Algorithm::ES256),
        (&p384, "p384", Algorithm::ES384),
        (&rsa, "rsa", Algorithm::RS256),
        (&rsa, "rsa", Algorithm::PS256),
    ] {
        let principal = bench
            .verifier
            .verify(&key.sign(Some(kid), algorithm, &claims()))
            .await;
        assert_eq!(principal.unwrap().tenant.as_str(), "acme", "{algorithm:?}");
    }
    assert_eq!(bench.asked(), 1);
}

#[tokio::test]
async fn claims_that_do_not_hold_are_refused() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let cases = [
        (
            changed(|claims| claims["exp"] = json!(NOW - 3600)),
            "the token expired at 2026-09-21T13:13:20Z",
        ),
        (
            changed(|claims| claims["nbf"] = json!(NOW + 60)),
            "the token is not valid before 2026-09-21T14:14:20Z",
        ),
        (
            changed(|claims| claims["aud"] = json!("other")),
            "the token is for audience `other`, not `callwright`",
        ),
        (
            changed(|claims| claims["iss"] = json!("https://evil.example")),
            "the token is from the issuer `https://evil.example`, not `https://id.example`",
        ),
        (
            changed(|claims| claims["tenant"] = json!(null)),
            "the token names no tenant (it has no claim `tenant`)",
        ),
    ];
    for (claims, said) in cases {
        assert_eq!(
            bench
                .refusal(&key.sign(Some("k"), Algorithm::ES256, &claims))
                .await,
            said
        );
    }
}

#[tokio::test]
async fn a_token_without_scopes_allows_nothing() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let claims = changed(|claims| claims["scope"] = json!(null));
    let principal = bench
        .verifier
        .verify(&key.sign(Some("k"), Algorithm::ES256, &claims))
        .await
        .unwrap();
    assert!(principal.scopes.is_empty(), "{principal:?}");
}

#[tokio::test]
async fn a_token_that_is_not_signed_is_refused() {
    let bench = Bench::publishing(&[&TestKey::ec("k")]);
    for none in ["none", "None", "NONE"] {
        let token = raw(&json!({ "alg": none, "kid": "k" }), &claims(), b"");
        assert_eq!(
            bench.refusal(&token).await,
            "the token is not signed (its `alg` is `none`)"
        );
    }
    assert_eq!(bench.asked(), 0, "nobody needs a key for that");
}

#[tokio::test]
async fn a_token_signed_with_the_public_key_as_hmac_secret_is_refused() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("k".to_owned());
    let secret = EncodingKey::from_secret(key.public_pem.as_bytes());
    let token = jsonwebtoken::encode(&header, &claims(), &secret).unwrap();
    let said = bench.refusal(&token).await;
    assert_eq!(
        said,
        "the token is signed with `HS256`; accepted are ES256, ES384, RS256 and PS256"
    );
}

#[tokio::test]
async fn an_algorithm_that_is_not_the_keys_is_refused() {
    let (key, rsa) = (TestKey::ec("k"), TestKey::rsa("rsa"));
    let mut pinned = TestKey {
        jwk: rsa.jwk.clone(),
        pem: rsa.pem.clone(),
        public_pem: rsa.public_pem.clone(),
    };
    pinned.jwk["alg"] = json!("PS256");
    let bench = Bench::publishing(&[&key, &pinned]);
    let crossed = rsa.sign(Some("k"), Algorithm::RS256, &claims());
    assert_eq!(
        bench.refusal(&crossed).await,
        "the token is signed with RS256, but its key is for ES256 only"
    );
    let other = rsa.sign(Some("rsa"), Algorithm::RS256, &claims());
    assert_eq!(
        bench.refusal(&other).await,
        "the token is signed with RS256, but its key is for PS256 only"
    );
    let right = rsa.sign(Some("rsa"), Algorithm::PS256, &claims());
    bench.verifier.verify(&right).await.unwrap();
}

#[tokio::test]
async fn a_signature_of_another_key_or_of_other_claims_is_refused() {
    let (key, other) = (TestKey::ec("k"), TestKey::ec("k"));
    let bench = Bench::publishing(&[&key]);
    let mismatch = "the token's signature does not match its content and key";
    assert_eq!(
        bench
            .refusal(&other.sign(Some("k"), Algorithm::ES256, &claims()))
            .await,
        mismatch
    );
    let good = key.sign(Some("k"), Algorithm::ES256, &claims());
    let parts: Vec<&str> = good.split('.').collect();
    let raised =
        URL_SAFE_NO_PAD.encode(changed(|claims| claims["tenant"] = json!("north")).to_string());
    assert_eq!(
        bench
            .refusal(&format!("{}.{raised}.{}", parts[0], parts[2]))
            .await,
        mismatch
    );
    assert_eq!(
        bench
            .refusal(&format!("{}.{}.AAAA", parts[0], parts[1]))
            .await,
        mismatch
    );
    assert_eq!(
        bench.refusal(&format!("{}.{}.", parts[0], parts[1])).await,
        mismatch
    );
}

#[tokio::test]
async fn what_is_no_token_is_refused() {
    let key = TestKey::ec("k");
    let bench = Bench::publishing(&[&key]);
    let three = "the token is no signed JWT (three parts with dots between them)";
    let header = "the token's header cannot be read";
    let huge = "a".repeat(16 * 1024 + 1);
    let cases = [
        ("", three),
        ("secret-opaque-token", three),
        ("a.b", three),
        ("a.b.c.d", three),
        ("..", header),
        ("!!!.e30.AA", header),
        (huge.as_str(), "the token is longer than 16 KiB"),
    ];
    for (token, said) in cases {
        assert_eq!(bench.refusal(token).await, said);
    }
    let id_token = json!({ "alg": "ES256", "kid": "k", "typ": "dpop+jwt" });
    assert_eq!(
        bench.refusal(&raw(&id_token, &claims(), b"x")).await,
        "the token is of type `dpop+jwt`, not an access token"
    );
    let critical = json!({ "alg": "ES256", "kid": "k", "crit": ["b64"] });
    let said = bench.refusal(&raw(&critical, &claims(), b"x")).await;
    assert_eq!(
        said,
        "the token demands extensions (`crit`) that are not supported"
    );
}

#[tokio::test]
async fn a_token_that_names_no_key_is_checked_with_the_only_one() {
    let (one, two) = (TestKey::ec("one"), TestKey::ec("two"));
    let token = one.sign(None, Algorithm::ES256, &claims());
    Bench::publishing(&[&one])
        .verifier
        .verify(&token)
        .await
        .unwrap();
    let said = Bench::publishing(&[&one, &two]).refusal(&token).await;
    assert_eq!(
        said,
        "the token names no key (`kid`), and the issuer publishes several or none"
    );
}
