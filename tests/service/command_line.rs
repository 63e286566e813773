//! What the program prints and how it exits, where that needs no service.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program in an empty folder, with no settings of whoever runs the tests.
fn callwright(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    let settings = std::env::vars_os().map(|(name, _)| name);
    for name in settings.filter(|name| {
        name.to_string_lossy()
            .to_uppercase()
            .starts_with("CALLWRIGHT__")
    }) {
        command.env_remove(name);
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    (
        status.code(),
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    )
}

#[test]
fn faulty_settings_are_all_named_on_stderr_with_code_64() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("config.toml"),
        "[api]\nlisten = \"everywhere\"\n",
    )
    .unwrap();
    let (code, out, err) = run(callwright(folder.path())
        .env("CALLWRIGHT__STREAM__LISEN", "0.0.0.0:1")
        .args(["--set", "log.format=xml", "check-config"]));
    assert_eq!((code, out.as_str()), (Some(64), ""));
    for told in [
        "3 settings are at fault",
        "api.listen = \"everywhere\" (file config.toml)",
        "stream.lisen (environment CALLWRIGHT__STREAM__LISEN): there is no such key; the nearest is stream.listen",
        "log.format = xml (flag --set): allowed is text or json",
    ] {
        assert!(err.contains(told), "missing {told:?} in {err}");
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "it made something"
    );
}

#[test]
fn check_config_prints_every_setting_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = run(callwright(folder.path())
        .env(
            "CALLWRIGHT__STORE__URL",
            "postgres://me:pw4711@localhost/db",
        )
        .args(["check-config", "--json"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(!out.contains("pw4711"), "{out}");
    let settings: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    let url = settings
        .iter()
        .find(|setting| setting["key"] == "store.url")
        .unwrap();
    assert_eq!(url["value"], "(hidden)");
    assert_eq!(url["origin"], "environment CALLWRIGHT__STORE__URL");
    assert!(
        settings
            .iter()
            .any(|setting| setting["key"] == "stream.threads" && setting["value"] == 0)
    );
}

#[test]
fn the_doctor_exits_non_zero_when_a_port_is_taken_and_says_by_which_setting() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let doctor = |api: String| {
        let ports = [
            "--set",
            "stream.listen=127.0.0.1:0",
            "--set",
            "admin.listen=127.0.0.1:0",
            "--set",
            &api,
        ];
        run(callwright(folder.path())
            .arg("doctor")
            .arg("--json")
            .args(ports))
    };
    let (code, out, err) = doctor(format!("api.listen={}", taken.local_addr().unwrap()));
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let findings: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    let failing: Vec<_> = findings
        .iter()
        .filter(|finding| finding["status"] == "fail")
        .collect();
    assert_eq!(failing.len(), 1, "{out}");
    assert!(
        failing[0]["todo"].as_str().unwrap().contains("api.listen"),
        "{out}"
    );
    assert_eq!(doctor("api.listen=127.0.0.1:0".to_owned()).0, Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = callwright(folder.path())
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}
