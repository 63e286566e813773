//! The wire messages a client sends and the ones it gets back.

use bytes::Bytes;
use callwright_domain::event::Event;
use callwright_proto::{ContentType, Message, StreamInput, StreamOutput};
use serde::Deserialize;
use serde_json::Value;

use super::fault::Refusal;

/// The value of `operation-result` that means that a request was done.
const SUCCESS: &str = "success";

/// The request that flushes every node and ends the call well.
pub const FINALIZE: &str = r#"{"MessageName":"Finalize"}"#;
/// The request that ends the call at once.
pub const STOP: &str = r#"{"MessageName":"Stop"}"#;

/// A request, for example [`FINALIZE`].
#[must_use]
pub fn request(json: impl Into<String>) -> StreamInput {
    text(ContentType::Request, json.into())
}

/// An event that the client puts into the flow; `json` is `{"Event":{…}}`.
#[must_use]
pub fn event(json: impl Into<String>) -> StreamInput {
    text(ContentType::Event, json.into())
}

/// Audio in the encoding told in Start.
#[must_use]
pub const fn audio(bytes: Bytes) -> StreamInput {
    StreamInput {
        message: Some(Message {
            content: String::new(),
            binary_content: bytes,
            content_type: ContentType::Audio as i32,
        }),
    }
}

const fn text(kind: ContentType, json: String) -> StreamInput {
    StreamInput {
        message: Some(Message {
            content: json,
            binary_content: Bytes::new(),
            content_type: kind as i32,
        }),
    }
}

/// Something the service said.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The answer to one request.
    Response(Response),
    /// Something that happened in the call.
    Event(Event),
    /// Audio from the service, headerless.
    Audio(Bytes),
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Which answer it is, for example `StartResponse`.
    pub name: String,
    /// `success`, or an error value.
    pub result: String,
    /// What the service says about an error.
    pub error: String,
    /// The whole answer.
    pub body: Value,
}

impl Response {
    /// The answer, if it is success.
    ///
    /// # Errors
    /// [`Refusal`] with the error value and message otherwise.
    pub fn accepted(self) -> Result<Self, Refusal> {
        if self.result == SUCCESS {
            return Ok(self);
        }
        Err(Refusal {
            value: self.result,
            message: self.error,
        })
    }

    /// The session's id, which only the answer to Start carries.
    #[must_use]
    pub fn session(&self) -> &str {
        self.body
            .get("SessionId")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// A message outside the protocol; the text says how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadReply(pub String);

/// Reads one message of the service.
///
/// # Errors
/// [`BadReply`] for an empty message, an unknown content type, and JSON of the wrong shape.
pub fn reply(output: StreamOutput) -> Result<Reply, BadReply> {
    let message = output
        .message
        .ok_or_else(|| BadReply("an empty message".to_owned()))?;
    match ContentType::try_from(message.content_type) {
        Ok(ContentType::Audio) => Ok(Reply::Audio(message.binary_content)),
        Ok(ContentType::Event) => read_event(&message.content).map(Reply::Event),
        Ok(ContentType::Response) => read_response(&message.content).map(Reply::Response),
        Ok(ContentType::Request) => Err(BadReply("a request".to_owned())),
        Err(_) => Err(BadReply(format!("content type {}", message.content_type))),
    }
}

fn read_event(json: &str) -> Result<Event, BadReply> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Envelope {
        event: Event,
    }
    serde_json::from_str::<Envelope>(json)
        .map(|envelope| envelope.event)
        .map_err(|fault| BadReply(format!("an event that cannot be read: {fault}")))
}

fn read_response(json: &str) -> Result<Response, BadReply> {
    let body: Value = serde_json::from_str(json)
        .map_err(|fault| BadReply(format!("a response that is not JSON: {fault}")))?;
    let field = |key: &str| {
        body.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let result = field("operation-result");
    if result.is_empty() {
        return Err(BadReply("a response without operation-result".to_owned()));
    }
    Ok(Response {
        name: field("MessageName"),
        result,
        error: field("error-message"),
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(kind: ContentType, content: &str) -> StreamOutput {
        StreamOutput {
            message: text(kind, content.to_owned()).message,
        }
    }

    #[test]
    fn a_start_response_carries_the_session() {
        let json =
            r#"{"MessageName":"StartResponse","operation-result":"success","SessionId":"s-1"}"#;
        let Reply::Response(response) = reply(output(ContentType::Response, json)).unwrap() else {
            panic!("no response");
        };
        assert_eq!(response.accepted().unwrap().session(), "s-1");
    }

    #[test]
    fn any_result_but_success_is_a_refusal_with_its_words() {
        let json = r#"{"MessageName":"StartResponse","operation-result":"invalid-token","error-message":"it expired"}"#;
        let Reply::Response(response) = reply(output(ContentType::Response, json)).unwrap() else {
            panic!("no response");
        };
        assert_eq!(
            response.accepted().unwrap_err().to_string(),
            "invalid-token: it expired"
        );
    }

    #[test]
    fn an_event_may_leave_out_all_but_its_name() {
        let read = reply(output(ContentType::Event, r#"{"Event":{"Name":"X"}}"#)).unwrap();
        let Reply::Event(event) = read else {
            panic!("no event")
        };
        assert_eq!(
            (event.name.as_str(), event.channel, event.start_msec),
            ("X", -1, -1)
        );
    }

    #[test]
    fn messages_outside_the_protocol_are_named() {
        let cases = [
            (StreamOutput { message: None }, "an empty message"),
            (output(ContentType::Request, "{}"), "a request"),
            (
                output(ContentType::Response, "{}"),
                "without operation-result",
            ),
            (output(ContentType::Response, "x"), "not JSON"),
            (output(ContentType::Event, "{}"), "cannot be read"),
        ];
        for (message, expected) in cases {
            let fault = reply(message).unwrap_err();
            assert!(
                fault.to_string().contains(expected),
                "{fault} should say {expected}"
            );
        }
    }
}
