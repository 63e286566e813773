//! Who may use which route.

use reqwest::{Method, Response};

use super::problem_code;
use crate::support::Server;

const GUARDED: [(Method, &str); 5] = [
    (Method::GET, "/admin/sessions"),
    (
        Method::GET,
        "/admin/sessions/0197c1c0-0000-7000-8000-000000000000",
    ),
    (
        Method::GET,
        "/admin/sessions/0197c1c0-0000-7000-8000-000000000000/events",
    ),
    (
        Method::DELETE,
        "/admin/sessions/0197c1c0-0000-7000-8000-000000000000?reason=x",
    ),
    (Method::POST, "/admin/drain"),
];

async fn ask(server: &Server, method: &Method, path: &str, token: Option<&str>) -> Response {
    let request = server
        .http()
        .request(method.clone(), format!("{}{path}", server.admin()));
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.unwrap()
}

#[actix_web::test]
async fn everything_but_health_and_metrics_is_for_operators_of_any_tenant() {
    let server = Server::start().await;
    for path in ["/livez", "/readyz", "/readyz?verbose", "/metrics"] {
        let answer = ask(&server, &Method::GET, path, None).await;
        assert!(answer.status().is_success(), "{path}");
    }
    let streaming = server.token("default", &["streaming", "analytics"]).await;
    for (method, path) in &GUARDED {
        let answer = ask(&server, method, path, None).await;
        let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with("Bearer "), "{challenge}");
        assert_eq!(
            problem_code(answer).await,
            (401, "no-token".to_owned()),
            "{path}"
        );
        let answer = ask(&server, method, path, Some("e30.e30.secret")).await;
        assert_eq!(
            problem_code(answer).await,
            (401, "invalid-token".to_owned()),
            "{path}"
        );
        let answer = ask(&server, method, path, Some(&streaming)).await;
        assert_eq!(
            problem_code(answer).await,
            (403, "missing-scope".to_owned()),
            "{path}"
        );
    }
    let operator = server.token("somebody-else", &["operator"]).await;
    assert!(server.sessions(&operator).await.is_empty());
    let ready = ask(&server, &Method::GET, "/readyz", None).await;
    assert!(ready.status().is_success(), "nobody has drained it");
    let log = server.log();
    for secret in ["e30.e30.secret", streaming.as_str(), operator.as_str()] {
        assert!(!log.contains(secret), "a token is in the log");
    }
}

#[actix_web::test]
async fn what_is_not_there_is_a_problem_too() {
    let server = Server::start().await;
    let answer = ask(&server, &Method::GET, "/admin/nothing", None).await;
    assert_eq!(problem_code(answer).await.0, 404);
    let answer = ask(&server, &Method::PUT, "/admin/sessions", None).await;
    assert_eq!(problem_code(answer).await.0, 405);
}
