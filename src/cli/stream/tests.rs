//! The whole command against a small server.

use clap::Parser;
use tonic::Code;

use super::*;
use crate::client::target::Security;
use crate::client::testserver::{Script, TestServer};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// A folder with `call.wav`, `msec` of mono μ-law at 8 000 Hz, and the authority of `server`.
fn folder(server: &TestServer, msec: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut wav = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x07\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data".to_vec();
    wav.extend(u32::try_from(msec * 8).unwrap().to_le_bytes());
    wav.resize(wav.len() + msec * 8, 0xff);
    std::fs::write(folder.path().join("call.wav"), wav).unwrap();
    if let Security::Tls { authorities } = &server.target.security {
        std::fs::write(folder.path().join("ca.pem"), authorities).unwrap();
    }
    folder
}

fn args(server: &TestServer, folder: &tempfile::TempDir, more: &[&str]) -> Args {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, ca, address) = (
        path("call.wav"),
        path("ca.pem"),
        server.target.address.to_string(),
    );
    let mut line = vec![
        "stream",
        &file,
        "--project",
        "demo-stream",
        "--server",
        &address,
    ];
    match server.target.security {
        Security::Tls { .. } => line.extend(["--ca", &ca]),
        Security::Plaintext => line.push("--plaintext"),
    }
    line.extend(more);
    Line::parse_from(line).args
}

async fn streamed(
    script: Script,
    msec: usize,
    more: &[&str],
) -> (TestServer, Result<(), StreamFault>) {
    let server = TestServer::tls(script);
    let folder = folder(&server, msec);
    let outcome = stream(args(&server, &folder, more)).await;
    (server, outcome)
}

#[tokio::test]
async fn a_file_is_streamed_whole_and_finalized() {
    let more = [
        "--fast",
        "--json",
        "--set",
        "sensitivity=0.7",
        "--external-id",
        "call-7",
    ];
    let (server, outcome) = streamed(Script::Echo, 1_010, &more).await;
    outcome.unwrap();
    let heard = server.heard();
    assert_eq!(heard.chunks.iter().map(Vec::len).sum::<usize>(), 8_080);
    assert_eq!((heard.chunks.len(), heard.chunks[50].len()), (51, 80));
    assert_eq!(heard.requests, ["Finalize"]);
    assert_eq!(heard.start["Audio"]["Encoding"], "ulaw");
    assert_eq!(heard.start["Settings"]["sensitivity"], 0.7);
    assert_eq!(heard.start["CallProperties"]["ExternalId"], "call-7");
}

#[tokio::test]
async fn real_time_takes_as_long_as_the_audio() {
    let begun = std::time::Instant::now();
    let (_, outcome) = streamed(Script::Echo, 300, &[]).await;
    outcome.unwrap();
    assert!(begun.elapsed() >= std::time::Duration::from_millis(280));
}

#[tokio::test]
async fn a_refusal_exits_with_77_and_says_the_error_value() {
    let (_, outcome) = streamed(
        Script::Refuse("invalid-token", Code::Unauthenticated),
        100,
        &["--fast"],
    )
    .await;
    let fault = outcome.unwrap_err();
    assert_eq!(
        (fault.exit_code(), fault.to_string().as_str()),
        (77, "refused, invalid-token: as scripted")
    );
}

#[tokio::test]
async fn a_call_that_breaks_off_says_with_which_status() {
    let (_, outcome) = streamed(
        Script::Break(2, Code::ResourceExhausted),
        10_000,
        &["--fast"],
    )
    .await;
    let fault = outcome.unwrap_err();
    assert_eq!(fault.exit_code(), 76);
    assert!(fault.to_string().contains("RESOURCE_EXHAUSTED"), "{fault}");
}

#[tokio::test]
async fn a_server_that_is_not_there_exits_with_69() {
    let server = TestServer::plaintext(Script::Echo);
    let folder = folder(&server, 100);
    let mut args = args(&server, &folder, &[]);
    args.server = Line::parse_from([
        "x",
        "f",
        "--project",
        "p",
        "--plaintext",
        "--server",
        "127.0.0.1:1",
    ])
    .args
    .server;
    assert_eq!(stream(args).await.unwrap_err().exit_code(), 69);
}

#[tokio::test]
async fn a_missing_file_exits_with_66_and_a_bad_one_with_65() {
    let server = TestServer::plaintext(Script::Echo);
    let folder = folder(&server, 100);
    let mut args = args(&server, &folder, &[]);
    args.file = folder.path().join("none.wav");
    let fault = stream(args.clone()).await.unwrap_err();
    assert_eq!(fault.exit_code(), 66);
    assert!(fault.to_string().contains("none.wav"), "{fault}");
    std::fs::write(
        &args.file,
        "a text that is long enough to be something else than a WAV file",
    )
    .unwrap();
    assert_eq!(stream(args).await.unwrap_err().exit_code(), 65);
}

#[tokio::test]
async fn an_interruption_stops_the_call_and_exits_with_130() {
    let server = TestServer::plaintext(Script::Echo);
    let folder = folder(&server, 60_000);
    let args = args(&server, &folder, &[]);
    let file = open_file(&args).await.unwrap();
    let call = call::open(&server.target, &crate::client::testserver::any_start())
        .await
        .unwrap();
    let talk = Talk::new(call.uplink, call.downlink, Show::new(true, None));
    let outcome = talk.run(file, Pacing::RealTime, async { Ok(()) }).await;
    assert_eq!(outcome.unwrap_err().exit_code(), 130);
    assert_eq!(server.heard().requests, ["Stop"]);
}

#[test]
fn set_after_stream_is_a_project_parameter_and_may_be_repeated() {
    let line = [
        "callwright",
        "stream",
        "f.wav",
        "--project",
        "p",
        "--set",
        "a=1",
        "--set",
        "b=x",
    ];
    let cli = crate::cli::Cli::try_parse_from(line).unwrap();
    let crate::cli::Command::Stream(args) = cli.command else {
        panic!("another command");
    };
    let settings = project_settings(&args.settings).unwrap();
    assert_eq!(Value::from(settings), serde_json::json!({"a": 1, "b": "x"}));
    assert!(project_settings(&["nonsense".to_owned()]).is_err());
}
