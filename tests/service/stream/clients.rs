//! Other people's clients: health checks, reflection, and one written in Python.

use std::process::{Command, Output};

use serde_json::Value;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use super::main_job::assert_events;
use crate::support::{Server, WAIT, fixture};

#[tokio::test]
async fn health_checks_and_reflection_tell_what_is_served() {
    let server = Server::start().await;
    let connection = server.connect().await;
    let mut health = HealthClient::new(connection.clone());
    for service in ["", "dataflow"] {
        let service = service.to_owned();
        let asked = health.check(HealthCheckRequest { service });
        let answer = timeout(WAIT, asked).await.unwrap().unwrap();
        assert_eq!(answer.into_inner().status(), ServingStatus::Serving);
    }
    let nobody = HealthCheckRequest {
        service: "nobody".to_owned(),
    };
    assert_eq!(
        health.check(nobody).await.unwrap_err().code(),
        tonic::Code::NotFound
    );
    let mut reflection = ServerReflectionClient::new(connection);
    let services = reflect(&mut reflection, MessageRequest::ListServices(String::new())).await;
    let MessageResponse::ListServicesResponse(list) = services else {
        panic!("{services:?}")
    };
    let names: Vec<_> = list
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    assert!(
        names.contains(&"dataflow") && names.contains(&"grpc.health.v1.Health"),
        "{names:?}"
    );
    let symbol = MessageRequest::FileContainingSymbol("dataflow".to_owned());
    let file = reflect(&mut reflection, symbol).await;
    assert!(
        matches!(file, MessageResponse::FileDescriptorResponse(_)),
        "{file:?}"
    );
}

async fn reflect(
    client: &mut ServerReflectionClient<tonic::transport::Channel>,
    message: MessageRequest,
) -> MessageResponse {
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(message),
    };
    let asked = client.server_reflection_info(tokio_stream::once(request));
    let mut answers = timeout(WAIT, asked).await.unwrap().unwrap().into_inner();
    let answer = timeout(WAIT, answers.next()).await.unwrap().unwrap();
    answer.unwrap().message_response.unwrap()
}

#[tokio::test]
async fn a_client_in_python_streams_the_sample_call() {
    let python = std::env::var("CALLWRIGHT_TEST_PYTHON").expect(
        "CALLWRIGHT_TEST_PYTHON must hold the path of a Python that has grpcio and grpcio-tools; `make test` makes one",
    );
    let server = Server::start().await;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "90", &python]);
    command.arg(root().join("tests/clients/python/stream.py"));
    command.env("CALLWRIGHT_PROTO", root().join("proto/dataflow.proto"));
    command.env("CALLWRIGHT_SERVER", server.address("stream"));
    command.env("CALLWRIGHT_CA", server.data("tls/ca.pem"));
    command.env("CALLWRIGHT_TOKEN", server.streaming_token().await);
    command.env("CALLWRIGHT_WAV", fixture("call.wav"));
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let Output {
        status,
        stdout,
        stderr,
    } = run.await.unwrap();
    let printed = String::from_utf8(stdout).unwrap();
    assert!(
        status.success(),
        "{status}\n{printed}\n{}",
        String::from_utf8_lossy(&stderr)
    );
    let lines: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["said"]["operation-result"], "success");
    assert_eq!(lines.last().unwrap()["said"], "OK");
    let events = lines.iter().filter(|line| line["kind"] == "EVENT");
    let events: Vec<&Value> = events.map(|line| &line["said"]["Event"]).collect();
    assert_events(&events);
    assert_eq!(events.last().unwrap()["Data"]["Reason"], "finalized");
    let answers = lines.iter().filter(|line| line["kind"] == "RESPONSE");
    let answers: Vec<_> = answers.map(|line| &line["said"]["MessageName"]).collect();
    assert_eq!(answers, ["StartResponse", "FinalizeResponse"]);
}

fn root() -> std::path::PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}
