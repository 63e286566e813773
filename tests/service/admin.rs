//! The operators' door of a running service.

mod access;
mod draining;
mod health;
mod metrics;
mod sessions;
mod watching;

use reqwest::Response;
use serde_json::Value;

/// The problem document of an answer, its status checked against the document's.
async fn problem(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    assert_eq!(
        answer.headers()["content-type"],
        "application/problem+json",
        "{answer:?}"
    );
    let document: Value = answer.json().await.unwrap();
    assert_eq!(document["status"], status);
    assert!(
        document["detail"]
            .as_str()
            .is_some_and(|detail| !detail.is_empty())
    );
    (status, document)
}

/// Status and code of a problem.
async fn problem_code(answer: Response) -> (u16, String) {
    let (status, document) = problem(answer).await;
    (status, document["code"].as_str().unwrap().to_owned())
}
