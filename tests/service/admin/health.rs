//! `/livez` and `/readyz`, with everything well and with one dependency gone.

use std::time::Instant;

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, PgConnection};
use serde_json::Value;

use crate::store::Place;
use crate::support::{Call, Server, Start, WAIT};

async fn text(server: &Server, path: &str) -> (u16, String) {
    let answer = server.http().get(format!("{}{path}", server.admin()));
    let answer = answer.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// `/readyz?verbose`, once its status is as expected.
async fn readiness(server: &Server, expected: u16) -> Value {
    let begun = Instant::now();
    loop {
        let (status, body) = text(server, "/readyz?verbose").await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["ready"], status == 200);
        if status == expected {
            return body;
        }
        assert!(begun.elapsed() < WAIT, "not {expected}: {body}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Waits until the log, which a thread of its own writes, says so.
async fn await_log(server: &Server, words: &str) {
    let begun = Instant::now();
    while !server.log().contains(words) {
        assert!(begun.elapsed() < WAIT, "{words:?} is not in the log");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

fn dependency<'a>(readiness: &'a Value, name: &str) -> &'a Value {
    let all = readiness["dependencies"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap()
}

#[actix_web::test]
async fn a_service_that_is_well_says_so_of_each_dependency() {
    let server = Server::start().await;
    assert_eq!(text(&server, "/livez").await, (200, "ok\n".to_owned()));
    assert_eq!(text(&server, "/readyz").await, (200, "ready\n".to_owned()));
    let ready = readiness(&server, 200).await;
    assert_eq!(ready["draining"], false);
    for name in ["store", "identity", "recordings"] {
        let dependency = dependency(&ready, name);
        assert_eq!(dependency["ok"], true, "{ready}");
        assert!(dependency["last_success_age_ms"].as_u64().unwrap() < 2_000);
        assert_eq!(dependency.get("fault"), None);
    }
    assert_eq!(ready["dependencies"].as_array().unwrap().len(), 3);
}

#[actix_web::test]
async fn a_recordings_folder_that_is_gone_makes_the_service_unready_until_it_is_back() {
    let server = Server::start().await;
    readiness(&server, 200).await;
    std::fs::remove_dir(server.data("recordings")).unwrap();
    let unready = readiness(&server, 503).await;
    let recordings = dependency(&unready, "recordings");
    assert_eq!(recordings["ok"], false);
    assert!(recordings["last_success_age_ms"].is_u64());
    let fault = recordings["fault"].as_str().unwrap();
    assert!(fault.contains("cannot be written"), "{fault}");
    assert_eq!(dependency(&unready, "store")["ok"], true);
    let (status, said) = text(&server, "/readyz").await;
    assert_eq!((status, said.starts_with("not ready")), (503, true));
    assert_eq!(text(&server, "/livez").await.0, 200, "it lives");
    std::fs::create_dir(server.data("recordings")).unwrap();
    readiness(&server, 200).await;
    for words in ["a dependency does not answer", "it answers again"] {
        await_log(&server, words).await;
    }
    let told = server.log();
    let lines = told.lines().filter(|line| line.contains("does not answer"));
    assert_eq!(lines.count(), 1, "each change is told once: {told}");
}

/// Runs SQL on the server of the tests, outside the service's database.
fn administer(sql: &str) {
    let server = std::env::var("CALLWRIGHT_TEST_POSTGRES").unwrap();
    let mut connection = PgConnection::establish(&server).unwrap();
    connection.batch_execute(sql).unwrap();
}

#[actix_web::test]
async fn a_database_that_is_gone_refuses_new_calls_keeps_old_ones_and_is_found_again() {
    let place = Place::postgres();
    let (_, name) = place.url.rsplit_once('/').unwrap();
    let server = Server::builder()
        .set("store.url", &place.url)
        .set("store.acquire_timeout_ms", 1_000)
        .start()
        .await;
    let token = server.streaming_token().await;
    let call = server.call(&Start::new(&token)).await;
    administer(&format!(
        "ALTER DATABASE {name} ALLOW_CONNECTIONS false; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ));
    let unready = readiness(&server, 503).await;
    let store = dependency(&unready, "store");
    assert_eq!(store["ok"], false);
    assert!(store["last_success_age_ms"].is_u64());
    let password = url::Url::parse(&place.url).unwrap();
    let password = password.password().unwrap();
    assert!(!unready.to_string().contains(password), "{unready}");
    let mut refused: Call = server.stream().await;
    let answer = refused.start(&Start::new(&token)).await;
    assert_eq!(answer["operation-result"], "service-unavailable");
    call.chunks(&[0xFF; 3_200], 320).await;
    assert_eq!(call.hear_out().await.ended()["Data"]["AudioMsec"], 200);
    administer(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    readiness(&server, 200).await;
    server.call(&Start::new(&token)).await.hear_out().await;
}
