//! What is refused at the start of a call, and how: the answer, then the status.

mod asking;
mod shape;

use bytes::Bytes;
use callwright_proto::{ContentType, StreamInput};
use serde_json::{Map, Value, json};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::support::{Call, Heard, Said, message};

/// What came of a first message: the response, and the status that ended the call.
struct Refused {
    response: Value,
    status: Status,
}

async fn refused(channel: &Channel, first: StreamInput) -> Refused {
    let call = Call::open(channel.clone()).await;
    // A full server does not wait for the message.
    let _ = call.send(first).await;
    heard_out(call).await
}

async fn heard_out(call: Call) -> Refused {
    // This side stays open: the server ends the call by itself.
    let Said { heard, status } = call.rest().await;
    match heard.as_slice() {
        [Heard::Response(response)] => Refused {
            response: response.clone(),
            status,
        },
        other => panic!("a refusal is one response, not {other:?} and {status:?}"),
    }
}

impl Refused {
    /// Holds the refusal against the table: error value and status, and what its words must name.
    fn is(&self, value: &str, code: Code, named: &str) -> Value {
        let Self { response, status } = self;
        assert_eq!(response["operation-result"], value, "{response}");
        assert_eq!(status.code(), code, "{status:?}");
        let words = response["error-message"].as_str().unwrap();
        assert!(words.contains(named), "{words}");
        assert_eq!(status.message(), format!("{value}: {words}"));
        json!({ "response": response, "status": format!("{code:?}") })
    }
}

fn request(json: &str) -> StreamInput {
    message(ContentType::Request, json, Bytes::new())
}

/// Tries each row on one connection and gives all the answers, for a snapshot.
async fn all(channel: &Channel, rows: &[(&str, String, &str, Code)]) -> Map<String, Value> {
    let mut answers = Map::new();
    for (named, first, value, code) in rows {
        let refused = refused(channel, request(first)).await;
        let answer = refused.is(value, *code, named);
        assert!(
            answers
                .insert(format!("{named} <- {}", shown(first)), answer)
                .is_none(),
            "{named} twice"
        );
    }
    answers
}

/// A Start without its token, which no snapshot could hold.
fn shown(first: &str) -> String {
    match serde_json::from_str::<Value>(first) {
        Ok(Value::Object(mut start)) => {
            start.remove("Token");
            Value::Object(start).to_string()
        }
        _ => first.to_owned(),
    }
}
