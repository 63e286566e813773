//! `POST /connect/token`: OAuth 2.0 client credentials (RFC 6749, 4.4), answered as its section 5 says.

use std::time::{Duration, Instant};

use actix_web::error::UrlencodedError;
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder, Resource, ResponseError as _, web,
};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::problem::method_not_allowed;
use super::throttle::Claimant;
use super::{IdentityRoutes, json_text};

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

/// An error answer (RFC 6749, 5.2).
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    error: &'static str,
    description: String,
    retry_after: Option<Duration>,
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
    form: web::Form<Form>,
) -> HttpResponse {
    let issuer = match routes.embedded() {
        Ok(issuer) => issuer,
        Err(problem) => return problem.error_response(),
    };
    let asked = match read(&request, form.into_inner()) {
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
    uncached(HttpResponse::Ok()).body(json_text(&body))
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
    let (client_id, client_secret) = credentials(request, form.client_id, form.client_secret)?;
    Ok(TokenRequest {
        client_id,
        client_secret,
        scope: form.scope,
    })
}

/// The client's id and secret, from the header (client_secret_basic) or the body (client_secret_post), never both.
fn credentials(
    request: &HttpRequest,
    id: Option<String>,
    secret: Option<SecretString>,
) -> Result<(String, SecretString), Refused> {
    let Some(header) = request.headers().get(header::AUTHORIZATION) else {
        return match (id, secret) {
            (Some(id), Some(secret)) => Ok((id, secret)),
            (None, _) => Err(Refused::client("client_id is missing")),
            (Some(_), None) => Err(Refused::client("client_secret is missing")),
        };
    };
    if secret.is_some() {
        return Err(Refused::bad(
            "invalid_request",
            "send the client's secret in the header or in the body, not in both",
        ));
    }
    let basic = header.to_str().ok().and_then(basic);
    let (named, secret) = basic
        .ok_or_else(|| Refused::client("the Authorization header holds no Basic credentials"))?;
    if id.is_some_and(|id| id != named) {
        return Err(Refused::bad(
            "invalid_request",
            "header and body name different clients",
        ));
    }
    Ok((named, secret))
}

/// Reads Basic credentials; both halves are form-encoded first (RFC 6749, 2.3.1).
fn basic(value: &str) -> Option<(String, SecretString)> {
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((form_decoded(id), SecretString::from(form_decoded(secret))))
}

fn form_decoded(text: &str) -> String {
    let pair = format!("v={}", text.replace('&', "%26"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

fn refusal_of(fault: &UrlencodedError) -> Refused {
    match fault {
        UrlencodedError::Overflow { limit, .. } => Refused {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            ..Refused::bad(
                "invalid_request",
                format!("the body is larger than {limit} bytes"),
            )
        },
        UrlencodedError::ContentType => Refused::bad(
            "invalid_request",
            "the body must be application/x-www-form-urlencoded by its Content-Type",
        ),
        // The parser's message may quote the body, which holds the secret.
        _ => Refused::bad(
            "invalid_request",
            "the body is no form, or names a parameter twice",
        ),
    }
}

impl Refused {
    fn bad(error: &'static str, description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            error,
            description: description.into(),
            retry_after: None,
        }
    }

    fn client(description: &str) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            ..Self::bad("invalid_client", description)
        }
    }

    fn too_many(wait: Duration) -> Self {
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(wait),
            ..Self::bad(
                "temporarily_unavailable",
                "too many failures for this client; wait and try again",
            )
        }
    }

    fn answer(&self) -> HttpResponse {
        let mut response = uncached(HttpResponse::build(self.status));
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((
                header::WWW_AUTHENTICATE,
                "Basic realm=\"callwright\", charset=\"UTF-8\"",
            ));
        }
        if let Some(wait) = self.retry_after {
            response.insert_header((header::RETRY_AFTER, (wait.as_secs() + 1).to_string()));
        }
        response.body(json_text(
            &json!({ "error": self.error, "error_description": self.description }),
        ))
    }

    fn into_error(self) -> actix_web::Error {
        actix_web::error::InternalError::from_response(self.error, self.answer()).into()
    }
}

impl From<TokenRefusal> for Refused {
    fn from(refusal: TokenRefusal) -> Self {
        match refusal {
            TokenRefusal::InvalidClient => Self::client("no client has this id and secret"),
            TokenRefusal::InvalidScope(said) => Self::bad("invalid_scope", said),
            TokenRefusal::Unavailable(cause) => {
                tracing::warn!(cause = %cause, "a token could not be issued");
                Self {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    retry_after: Some(Duration::from_secs(4)),
                    ..Self::bad(
                        "temporarily_unavailable",
                        "tokens cannot be issued now; try again in a few seconds",
                    )
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_form_encoded_inside() {
        let encode = |text: &str| format!("Basic {}", STANDARD.encode(text));
        let cases = [
            (encode("id:secret"), Some(("id", "secret"))),
            (encode("a%3Ab:c+d%2B"), Some(("a:b", "c d+"))),
            (encode("id:a:b"), Some(("id", "a:b"))),
            (encode("id:a&b=c"), Some(("id", "a&b=c"))),
            (encode("no colon"), None),
            ("Bearer abc".to_owned(), None),
            ("Basic !!!".to_owned(), None),
            ("Basic".to_owned(), None),
        ];
        for (header, expected) in cases {
            let found = basic(&header);
            let found = found
                .as_ref()
                .map(|(id, secret)| (id.as_str(), secret.expose_secret()));
            assert_eq!(found, expected, "{header}");
        }
    }
}
