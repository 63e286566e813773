//! `POST /admin/drain`: the way out without hurting a call.

use std::time::Duration;

use serde_json::Value;

use crate::support::{Server, Start, reason};

#[actix_web::test]
async fn draining_refuses_new_calls_lets_old_ones_end_and_exits_with_0() {
    let mut server = Server::start().await;
    let operator = server.token("ops", &["operator"]).await;
    let token = server.streaming_token().await;
    let channel = server.connect().await;
    let mut call = server.call(&Start::new(&token)).await;
    let request = server
        .http()
        .post(format!("{}/admin/drain", server.admin()));
    let answer = request.bearer_auth(&operator).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 202);
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(
        (&answer["draining"], &answer["sessions"]),
        (&true.into(), &1.into())
    );

    let told = call.await_event("Server Draining").await;
    assert!(told["Data"]["DeadlineMsec"].as_u64().unwrap() > 20_000);
    let ready = server.http().get(format!("{}/readyz", server.admin()));
    let ready = ready.send().await.unwrap();
    assert_eq!(ready.status().as_u16(), 503);
    assert_eq!(ready.text().await.unwrap(), "draining\n");
    let mut late = crate::support::Call::open(channel).await;
    let answer = late.start(&Start::new(&token)).await;
    assert_eq!(answer["operation-result"], "draining");

    call.chunks(&[0xFF; 1_600], 320).await;
    let said = call.hear_out().await;
    assert_eq!(reason(said.ended()), "half-closed");
    assert_eq!(said.ended()["Data"]["AudioMsec"], 100);
    let status = server.exited(Duration::from_secs(15)).await;
    assert_eq!(status.code(), Some(0));
    assert!(!server.data("addresses.json").exists());
}

#[actix_web::test]
async fn watchers_do_not_hold_up_the_end() {
    let mut server = Server::builder()
        .set("service.drain_timeout_s", 3)
        .set("stream.finalize_timeout_ms", 1_000)
        .start()
        .await;
    let operator = server.token("ops", &["operator"]).await;
    let token = server.streaming_token().await;
    let call = server.call(&Start::new(&token)).await;
    let id = server.sessions(&operator).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let events = server
        .admin_get(&format!("/admin/sessions/{id}/events"), &operator)
        .await;
    let request = server
        .http()
        .post(format!("{}/admin/drain", server.admin()));
    request.bearer_auth(&operator).send().await.unwrap();
    let said = call.rest().await;
    assert_eq!(reason(said.ended()), "server-draining");
    let seen = events.text().await.unwrap();
    assert!(
        seen.contains("event: Server Draining") && seen.contains("event: Session Ended"),
        "{seen}"
    );
    assert_eq!(server.exited(Duration::from_secs(10)).await.code(), Some(0));
}
