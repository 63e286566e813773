//! The JSON that a client and a session say to each other: requests, responses, refusals.
//!
//! Two dialects are in the field, `MessageName` and `message-name`, so keys and names match whatever their case, `-` or `_`.

mod fields;
mod refusal;
mod request;
#[cfg(test)]
mod tests;

pub use fields::fold_key;
pub use refusal::{EndReason, ErrorValue, Refusal};
pub use request::{Request, Start, client_event};

use serde_json::{Map, Value};
use uuid::Uuid;

/// The answer to a Start that was accepted.
#[must_use]
pub fn started(session: Uuid) -> String {
    let mut response = success("StartResponse");
    response.insert("SessionId".to_owned(), session.to_string().into());
    Value::Object(response).to_string()
}

/// The answer to any other request that was accepted: `UpdateResponse`, `FinalizeResponse`, `StopResponse`.
#[must_use]
pub fn accepted(request: &str) -> String {
    Value::Object(success(&format!("{request}Response"))).to_string()
}

/// The answer to a request that was not accepted.
#[must_use]
pub fn refused(request: &str, refusal: &Refusal) -> String {
    let mut response = Map::new();
    response.insert(
        "MessageName".to_owned(),
        format!("{request}Response").into(),
    );
    response.insert("operation-result".to_owned(), refusal.value.as_str().into());
    response.insert("error-message".to_owned(), refusal.message.as_str().into());
    if let Some(wait) = refusal.retry_after_msec {
        response.insert("retry-after-ms".to_owned(), wait.into());
    }
    Value::Object(response).to_string()
}

fn success(name: &str) -> Map<String, Value> {
    let mut response = Map::new();
    response.insert("MessageName".to_owned(), name.into());
    response.insert("operation-result".to_owned(), "success".into());
    response
}
