//! Problem documents (RFC 9457): how every fault looks on the wire, this service's own and the web server's.

use std::fmt;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::{JsonPayloadError, PathError, PayloadError, QueryPayloadError};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, ResponseError, Route};
use serde_json::{Map, Value, json};

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong, for the program and the person at the other end.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// Stable, for programs: lower case with dashes.
    pub code: &'static str,
    /// The kind of problem in a few words, the same for every occurrence.
    pub title: &'static str,
    /// What is wrong this time, in plain words.
    pub detail: String,
    /// What to do about it, where that is known.
    pub fix: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem of its own kind.
    #[must_use]
    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            status,
            code,
            title,
            detail: detail.into(),
            fix: None,
            headers: Vec::new(),
        }
    }

    /// Something that is not there, or is another tenant's.
    #[must_use]
    pub fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, "Not found", detail)
    }

    /// A request that cannot be understood.
    #[must_use]
    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, "Bad request", detail)
    }

    /// Something this service leans on does not answer; the same request may succeed later.
    #[must_use]
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "Not available now",
            detail,
        )
        .fix("Try again in a few seconds.")
        .header(header::RETRY_AFTER, "5")
    }

    /// Says what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds a header. A value that cannot stand in one is left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    fn document(&self) -> Value {
        let mut document = Map::new();
        document.insert(
            "type".to_owned(),
            json!(format!("urn:callwright:problem:{}", self.code)),
        );
        document.insert("title".to_owned(), json!(self.title));
        document.insert("status".to_owned(), json!(self.status.as_u16()));
        document.insert("code".to_owned(), json!(self.code));
        document.insert("detail".to_owned(), json!(self.detail));
        if let Some(fix) = &self.fix {
            document.insert("fix".to_owned(), json!(fix));
        }
        Value::Object(document)
    }

    /// The problem of a bare status, as the web server gives it.
    fn of_status(status: StatusCode, said: Option<String>) -> Self {
        let (code, title, detail) = match status {
            StatusCode::NOT_FOUND => (
                "not-found",
                "Not found",
                "There is nothing at this address.",
            ),
            StatusCode::METHOD_NOT_ALLOWED => (
                "method-not-allowed",
                "Method not allowed",
                "This address does not take that method.",
            ),
            StatusCode::PAYLOAD_TOO_LARGE => {
                ("too-large", "Too large", "The body is larger than allowed.")
            }
            StatusCode::UNSUPPORTED_MEDIA_TYPE => (
                "unsupported-media-type",
                "Unsupported media type",
                "The body is not of a type this address takes.",
            ),
            StatusCode::REQUEST_TIMEOUT => {
                ("timeout", "Timeout", "The request took too long to arrive.")
            }
            status if status.is_client_error() => (
                "bad-request",
                "Bad request",
                "The request cannot be understood.",
            ),
            _ => (
                "internal",
                "Internal error",
                "The service failed; its log says why.",
            ),
        };
        // What a server error says inside is for the log, not for the other end.
        let said = said.filter(|_| status.is_client_error());
        Self::new(
            status,
            code,
            title,
            said.unwrap_or_else(|| detail.to_owned()),
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::build(self.status);
        response
            .content_type(MEDIA_TYPE)
            .insert_header((header::CACHE_CONTROL, "no-store"));
        for (name, value) in &self.headers {
            response.append_header((name.clone(), value.clone()));
        }
        response.body(self.document().to_string())
    }
}

/// Makes problems of what the extractors refuse and of addresses nobody serves.
pub(crate) fn handlers(config: &mut ServiceConfig) {
    config
        .app_data(web::JsonConfig::default().error_handler(|fault, _| json_problem(&fault).into()))
        .app_data(
            web::QueryConfig::default().error_handler(|fault, _| query_problem(&fault).into()),
        )
        .app_data(web::PathConfig::default().error_handler(|fault, _| path_problem(&fault).into()))
        .default_service(web::to(nothing_here));
}

async fn nothing_here(request: HttpRequest) -> Problem {
    let path: String = request.path().chars().take(200).collect();
    Problem::not_found("not-found", format!("There is nothing at {path}."))
}

/// Answers methods a resource does not have; `allowed` names those it has, separated by commas.
pub fn method_not_allowed(allowed: &'static str) -> Route {
    web::to(move |request: HttpRequest| async move {
        Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            format!("This address does not take {}.", request.method()),
        )
        .fix(format!("Use {allowed}."))
        .header(header::ALLOW, allowed)
    })
}

impl actix_web::Responder for Problem {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        self.error_response()
    }
}

fn json_problem(fault: &JsonPayloadError) -> Problem {
    match fault {
        JsonPayloadError::OverflowKnownLength { limit, .. }
        | JsonPayloadError::Overflow { limit } => too_large(*limit),
        JsonPayloadError::Payload(PayloadError::Overflow) => {
            Problem::of_status(StatusCode::PAYLOAD_TOO_LARGE, None)
        }
        JsonPayloadError::ContentType => Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            "The body is not JSON by its Content-Type.",
        )
        .fix("Send the header Content-Type: application/json."),
        JsonPayloadError::Deserialize(fault) => {
            Problem::bad_request("bad-json", format!("The body cannot be read: {fault}."))
        }
        other => Problem::bad_request("bad-request", other.to_string()),
    }
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("The body is larger than the {limit} bytes this address takes.");
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        "Too large",
        detail,
    )
}

fn query_problem(fault: &QueryPayloadError) -> Problem {
    Problem::bad_request("bad-query", format!("The query cannot be read: {fault}."))
}

fn path_problem(fault: &PathError) -> Problem {
    Problem::bad_request("bad-path", format!("The address cannot be read: {fault}."))
}

/// Put into the extensions of an answer whose words are meant as they are, whatever its status: probes read plain text.
pub struct Worded;

/// Gives every error answer that has no document yet a problem document. To be wrapped around the whole app.
///
/// # Errors
/// None of its own: an error from within becomes an answer here.
pub async fn shape(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let answer = next.call(request).await?.map_into_boxed_body();
    let status = answer.status();
    if !(status.is_client_error() || status.is_server_error()) || has_document(&answer) {
        return Ok(answer);
    }
    let said = answer.response().error().map(ToString::to_string);
    let allowed = answer.headers().get(header::ALLOW).cloned();
    let problem = Problem::of_status(status, said);
    let problem = match allowed.as_ref().and_then(|value| value.to_str().ok()) {
        Some(value) => problem.header(header::ALLOW, value),
        None => problem,
    };
    Ok(answer.into_response(problem.error_response()))
}

/// Whether the answer's body is as it should be already: a problem document, an OAuth error, or [`Worded`].
fn has_document<B>(answer: &ServiceResponse<B>) -> bool {
    if answer.response().extensions().contains::<Worded>() {
        return true;
    }
    let media_type = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    media_type.is_some_and(|media_type| {
        media_type.starts_with(MEDIA_TYPE) || media_type.starts_with("application/json")
    })
}
