//! A service of the tests: its api listener with identity behind it, on a port of its own.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use callwright::app::identity::{EmbeddedIssuer, StoredIdentity};
use callwright::http::{self, Identity, IdentityRoutes};
use callwright::identity::claims::Expectations;
use callwright::identity::clients::{ClientStore, Credentials, register};
use callwright::identity::issuer::Options;
use callwright::identity::key_cache::StoredKeys;
use callwright::identity::{Issuer, KeyCache, Verifier, system_clock};
use callwright::web::auth::{Allowed, Authentication, Guard, Operator, Streaming};
use callwright::web::problem;
use callwright_actors::ports::TokenVerifier;
use callwright_domain::identity::Scope;
use chrono::Utc;
use reqwest::{Client, Response};
use secrecy::ExposeSecret as _;

use crate::store::Place;

/// The api listener of one service, on a port of its own.
pub(super) struct Api {
    pub(super) base: String,
    pub(super) issuer: Arc<Issuer>,
    pub(super) clients: Arc<dyn ClientStore>,
    pub(super) http: Client,
    server: ServerHandle,
}

pub(super) fn browser() -> Client {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Client::builder()
        .timeout(Duration::from_secs(20))
        .build()
        .unwrap()
}

pub(super) fn expectations(issuer: &str) -> Expectations {
    Expectations {
        issuer: issuer.to_owned(),
        audience: "callwright".to_owned(),
        tenant_claim: "tenant".to_owned(),
        leeway: chrono::TimeDelta::seconds(30),
    }
}

async fn guarded(caller: Allowed<Streaming>) -> String {
    format!(
        "{} of {}",
        caller.principal.subject, caller.principal.tenant
    )
}

async fn operators(_: Allowed<Operator>) -> &'static str {
    "an operator"
}

async fn body(number: web::Json<u8>) -> String {
    number.to_string()
}

impl Api {
    /// A service that issues its own tokens.
    pub(super) async fn embedded(place: &Place) -> Self {
        Self::start(place, Authentication::Required, None).await
    }

    pub(super) async fn start(
        place: &Place,
        authentication: Authentication,
        external: Option<&str>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let stored = Arc::new(StoredIdentity(place.store().await));
        let options = Options {
            issuer: base.clone(),
            audience: "callwright".to_owned(),
            tenant_claim: "tenant".to_owned(),
            token_lifetime: Duration::from_secs(86_400),
        };
        let issuer = Arc::new(Issuer::new(
            options,
            stored.clone(),
            stored.clone(),
            system_clock(),
        ));
        let source = StoredKeys {
            keys: stored.clone(),
            clock: system_clock(),
        };
        let keys = KeyCache::new(Box::new(source), system_clock());
        let verifier: Arc<dyn TokenVerifier> =
            Arc::new(Verifier::new(keys, expectations(&base), system_clock()));
        let identity = match external {
            Some(url) => Identity::External(url.to_owned()),
            None => Identity::Embedded(Arc::new(EmbeddedIssuer(Arc::clone(&issuer)))),
        };
        let routes = web::Data::new(IdentityRoutes::new(identity));
        let guard = web::Data::new(Guard::new(verifier, authentication));
        let server = HttpServer::new(move || {
            App::new()
                .wrap(from_fn(problem::shape))
                .configure(http::configure(routes.clone(), guard.clone()))
                .route("/guarded", web::get().to(guarded))
                .route("/operators", web::get().to(operators))
                .service(web::resource("/body").route(web::post().to(body)))
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
            issuer,
            clients: stored,
            http: browser(),
            server: handle,
        }
    }

    pub(super) async fn client(&self, scopes: &[Scope]) -> Credentials {
        register(
            &self.clients,
            "acme".parse().unwrap(),
            scopes.to_vec(),
            Utc::now(),
        )
        .await
        .unwrap()
    }

    pub(super) async fn ask(&self, form: &[(&str, &str)]) -> Response {
        self.http
            .post(format!("{}/connect/token", self.base))
            .form(form)
            .send()
            .await
            .unwrap()
    }

    pub(super) async fn sign_in(&self, credentials: &Credentials) -> Response {
        let secret = credentials.client_secret.expose_secret();
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &credentials.client_id),
            ("client_secret", secret),
        ];
        self.ask(&form).await
    }

    pub(super) async fn get(&self, path: &str, token: Option<&str>) -> Response {
        let request = self.http.get(format!("{}{path}", self.base));
        match token {
            Some(token) => request.bearer_auth(token).send().await.unwrap(),
            None => request.send().await.unwrap(),
        }
    }

    pub(super) async fn stop(self) {
        self.server.stop(false).await;
    }
}
