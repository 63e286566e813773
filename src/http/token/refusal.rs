//! The token endpoint's error answers (RFC 6749, 5.2).

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::error::UrlencodedError;
use actix_web::http::StatusCode;
use actix_web::http::header;
use serde_json::json;

use super::{TokenRefusal, uncached};

/// An error answer (RFC 6749, 5.2).
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    error: &'static str,
    description: String,
    retry_after: Option<Duration>,
}

pub(super) fn refusal_of(fault: &UrlencodedError) -> Refused {
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
    pub(super) fn bad(error: &'static str, description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            error,
            description: description.into(),
            retry_after: None,
        }
    }

    pub(super) fn client(description: &str) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            ..Self::bad("invalid_client", description)
        }
    }

    pub(super) fn too_many(wait: Duration) -> Self {
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(wait),
            ..Self::bad(
                "temporarily_unavailable",
                "too many failures for this client; wait and try again",
            )
        }
    }

    pub(super) fn answer(&self) -> HttpResponse {
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
        response
            .body(json!({ "error": self.error, "error_description": self.description }).to_string())
    }

    pub(super) fn into_error(self) -> actix_web::Error {
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
