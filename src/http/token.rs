//! `POST /connect/token`: OAuth 2.0 client credentials (RFC 6749, 4.4), answered as its section 5 says.

mod credentials;
mod refusal;

use std::time::{Duration, Instant};

use actix_web::http::header;
use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder, Resource, ResponseError as _, web,
};
use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::IdentityRoutes;
use super::throttle::Claimant;
use crate::web::problem::method_not_allowed;
use refusal::{Refused, refusal_of};

/// Largest request body. A real one has some 200 bytes.
const BODY_LIMIT: usize = 16 * 1024;

/// Where the endpoint is.
pub(super) const PATH: &str = "/connect/token";

/// A client asking for a token.
#[derive(Debug)]
pub struct TokenRequest {
    /// Who asks.
    pub client_id: String,
    /// The proof.
    pub client_secret: SecretString,
    /// Scope names separated by spaces; nothing asks for all the client has.
    pub scope: Option<String>,
}

/// A token for a client.
#[derive(Debug)]
pub struct Token {
    /// The access token.
    pub access_token: SecretString,
    /// How long it is good for.
    pub lifetime: Duration,
    /// The scopes it has, separated by spaces.
    pub scope: String,
}

/// Why a client gets no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// No such client, or not its secret.
    #[error("no client has this id and secret")]
    InvalidClient,
    /// A scope that does not exist or that the client may not have; the text says which.
    #[error("{0}")]
    InvalidScope(String),
    /// It cannot be found out now; the text is for the log.
    #[error("{0}")]
    Unavailable(String),
}

/// Issues tokens.
#[async_trait]
pub trait TokenIssuer: Send + Sync {
    /// The issuer's URL, exactly as its tokens name it.
    fn url(&self) -> &str;

    /// Issues a token to a client that proves itself.
    ///
    /// # Errors
    /// [`TokenRefusal`] says who is at fault.
    async fn issue(&self, request: TokenRequest) -> Result<Token, TokenRefusal>;

    /// The keys that verify the tokens, as a JSON Web Key Set.
    ///
    /// # Errors
    /// The cause, for the log.
    async fn jwks(&self) -> Result<Value, String>;
}

#[derive(Deserialize)]
struct Form {
    grant_type: Option<String>,
    scope: Option<String>,
    client_id: Option<String>,
    client_secret: Option<SecretString>,
}

pub(super) fn resource() -> Resource {
    let form = web::FormConfig::default()
        .limit(BODY_LIMIT)
        .error_handler(|fault, _| refusal_of(&fault).into_error());
    web::resource(PATH)
        .app_data(form)
        .route(web::post().to(issue))
        .default_service(method_not_allowed("POST"))
}

async fn issue(
    request: HttpRequest,
    routes: web::Data<IdentityRoutes>,
    form: Result<web::Form<Form>, actix_web::Error>,
) -> HttpResponse {
    let issuer = match routes.embedded() {
        Ok(issuer) => issuer,
        Err(problem) => return problem.error_response(),
    };
    // Only now does the form matter: where no tokens are issued, any form gets to hear that.
    let form = match form {
        Ok(form) => form.into_inner(),
        Err(fault) => return HttpResponse::from_error(fault),
    };
    let asked = match read(&request, form) {
        Ok(asked) => asked,
        Err(refused) => return refused.answer(),
    };
    let claimant = Claimant::new(&asked.client_id, request.peer_addr().map(|peer| peer.ip()));
    if let Some(wait) = routes.throttle.wait(&claimant, Instant::now()) {
        return Refused::too_many(wait).answer();
    }
    match issuer.issue(asked).await {
        Ok(token) => {
            routes.throttle.succeeded(&claimant);
            granted(&token)
        }
        Err(refusal) => {
            if refusal == TokenRefusal::InvalidClient {
                routes.throttle.failed(claimant, Instant::now());
            }
            Refused::from(refusal).answer()
        }
    }
}

fn granted(token: &Token) -> HttpResponse {
    let body = json!({
        "access_token": token.access_token.expose_secret(),
        "token_type": "Bearer",
        "expires_in": token.lifetime.as_secs(),
        "scope": token.scope,
    });
    uncached(HttpResponse::Ok()).body(body.to_string())
}

/// Answers about tokens are for the asker alone (RFC 6749, 5.1).
fn uncached(mut response: HttpResponseBuilder) -> HttpResponseBuilder {
    response
        .content_type("application/json")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::PRAGMA, "no-cache"));
    response
}

fn read(request: &HttpRequest, form: Form) -> Result<TokenRequest, Refused> {
    match form.grant_type.as_deref() {
        Some("client_credentials") => {}
        Some(_) => {
            return Err(Refused::bad(
                "unsupported_grant_type",
                "the only grant_type here is client_credentials",
            ));
        }
        None => return Err(Refused::bad("invalid_request", "grant_type is missing")),
    }
    let (client_id, client_secret) =
        credentials::read(request, form.client_id, form.client_secret)?;
    Ok(TokenRequest {
        client_id,
        client_secret,
        scope: form.scope,
    })
}
