//! `/admin/sessions/{id}/events`: a call's events as they happen.

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use crate::support::{Call, Server, Start, WAIT};

async fn watch(server: &Server, operator: &str) -> Response {
    let id = server.sessions(operator).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let answer = server
        .admin_get(&format!("/admin/sessions/{id}/events"), operator)
        .await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    answer
}

/// Name and event of each message until the stream ends.
async fn all(mut answer: Response) -> Vec<(String, Value)> {
    let mut text = String::new();
    let read = async {
        while let Some(chunk) = answer.chunk().await.unwrap() {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    };
    timeout(WAIT, read)
        .await
        .expect("the stream ends with its session");
    let messages = text
        .split("\n\n")
        .filter(|message| message.starts_with("event: "));
    let message = |message: &str| {
        let (name, data) = message.split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap().to_owned();
        let data = data.strip_prefix("data: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap_or(Value::Null);
        (name, data["Event"].clone())
    };
    messages.map(message).collect()
}

async fn mark(call: &mut Call, name: &str) {
    let event = serde_json::json!({"Event": {"Name": name}});
    call.event(&event.to_string()).await;
    call.await_event(name).await;
}

#[actix_web::test]
async fn a_watcher_sees_what_the_client_sees_from_then_on_until_the_end() {
    let server = Server::start().await;
    let operator = server.token("ops", &["operator"]).await;
    let token = server.streaming_token().await;
    let mut call = server.call(&Start::new(&token)).await;
    mark(&mut call, "Before").await;
    let (one, other) = (
        watch(&server, &operator).await,
        watch(&server, &operator).await,
    );
    for name in ["A", "B", "two\nlines"] {
        mark(&mut call, name).await;
    }
    call.chunks(&[0xFF; 1_600], 320).await;
    let said = call.hear_out().await;
    let seen = all(one).await;
    let names: Vec<_> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["A", "B", "two lines", "Recording Saved", "Session Ended"]
    );
    assert_eq!(seen[2].1["Name"], "two\nlines");
    assert_eq!(&seen[4].1, said.ended(), "the same event, word for word");
    assert_eq!(all(other).await, seen);
}

#[actix_web::test]
async fn watchers_are_bounded_and_the_one_too_many_is_told() {
    let server = Server::start().await;
    let operator = server.token("ops", &["operator"]).await;
    let token = server.streaming_token().await;
    let call = server.call(&Start::new(&token)).await;
    let mut watchers = Vec::new();
    for _ in 0..8 {
        watchers.push(watch(&server, &operator).await);
    }
    let ninth = all(watch(&server, &operator).await).await;
    assert_eq!(ninth.len(), 1);
    assert_eq!(ninth[0].0, "lagged");
    call.hear_out().await;
    for watcher in watchers {
        assert_eq!(all(watcher).await.last().unwrap().0, "Session Ended");
    }
}
