//! An OIDC issuer of the tests, which signs whatever a test wants.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, web};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};

/// How long a hanging issuer takes: longer than anybody waits for it.
const HANGING: Duration = Duration::from_secs(60);

pub(super) struct TestIssuer {
    pub(super) base: String,
    key: KeyPair,
    hanging: Arc<AtomicBool>,
    server: ServerHandle,
}

impl TestIssuer {
    /// Must run inside an actix system.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let key = KeyPair::generate().unwrap();
        let discovery = json!({ "issuer": base, "jwks_uri": format!("{base}/keys") });
        let (keys, hanging) = (json!({ "keys": [jwk(&key)] }), Arc::<AtomicBool>::default());
        let hangs = Arc::clone(&hanging);
        let server = HttpServer::new(move || {
            let (discovery, keys, hangs) = (discovery.clone(), keys.clone(), Arc::clone(&hangs));
            let discover = move || std::future::ready(web::Json(discovery.clone()));
            let publish = move || {
                let (keys, hangs) = (keys.clone(), Arc::clone(&hangs));
                async move {
                    if hangs.load(Ordering::SeqCst) {
                        actix_web::rt::time::sleep(HANGING).await;
                    }
                    web::Json(keys)
                }
            };
            App::new()
                .route("/.well-known/openid-configuration", web::get().to(discover))
                .route("/keys", web::get().to(publish))
        })
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self {
            base,
            key,
            hanging,
            server: handle,
        }
    }

    /// From now on its keys are never answered for.
    pub(super) fn hang(&self) {
        self.hanging.store(true, Ordering::SeqCst);
    }

    /// The claims of a good token of tenant `default`.
    pub(super) fn claims(&self) -> Value {
        let now = chrono::Utc::now().timestamp();
        json!({
            "iss": self.base, "aud": "callwright", "sub": "robot", "tenant": "default",
            "scope": "streaming", "iat": now, "nbf": now - 60, "exp": now + 3_600,
        })
    }

    /// A token with these claims, signed as it should be, naming the key `kid`.
    pub(super) fn sign(&self, claims: &Value, kid: &str) -> String {
        sign_with(&self.key, claims, kid)
    }

    pub(super) fn good(&self) -> String {
        self.sign(&self.claims(), KID)
    }

    /// Secrets that whoever knows only the published key could sign with.
    pub(super) fn public_secrets(&self) -> Vec<Vec<u8>> {
        vec![
            self.key.public_key_pem().into_bytes(),
            self.key.der_bytes().to_vec(),
            jwk(&self.key).to_string().into_bytes(),
        ]
    }

    pub(super) async fn stop(self) {
        self.server.stop(false).await;
    }
}

/// The key id that the issuer publishes.
pub(super) const KID: &str = "published";

/// A token signed with a key of the test's own.
pub(super) fn sign_with(key: &KeyPair, claims: &Value, kid: &str) -> String {
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some(kid.to_owned());
    let key = EncodingKey::from_ec_pem(key.serialize_pem().as_bytes()).unwrap();
    jsonwebtoken::encode(&header, claims, &key).unwrap()
}

/// A token that says it is signed by HMAC.
pub(super) fn sign_by_hmac(secret: &[u8], claims: &Value) -> String {
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some(KID.to_owned());
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(secret)).unwrap()
}

/// A token that says it is not signed.
pub(super) fn unsigned(claims: &Value, alg: &str, signature: &str) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(json!({ "alg": alg, "typ": "JWT", "kid": KID }));
    format!("{header}.{}.{signature}", part(claims.clone()))
}

fn jwk(key: &KeyPair) -> Value {
    // An uncompressed point: 4, then both coordinates.
    let point = key.der_bytes();
    let part = |range| URL_SAFE_NO_PAD.encode(&point[range]);
    json!({ "kty": "EC", "crv": "P-256", "kid": KID, "use": "sig", "alg": "ES256", "x": part(1..33), "y": part(33..65) })
}
