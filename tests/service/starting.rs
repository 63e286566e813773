//! Starts that cannot be: each with one plain sentence, the right exit code, and nothing left behind.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Server, WAIT};

/// Runs `serve` in `folder` with these settings, on free ports where they name none. It must end by itself.
fn serve(folder: &Path, settings: &[(&str, &str)]) -> (Option<i32>, String) {
    let err = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        "--",
        env!("CARGO_BIN_EXE_callwright"),
        "serve",
    ]);
    for (name, _) in
        std::env::vars().filter(|(name, _)| name.to_uppercase().starts_with("CALLWRIGHT__"))
    {
        command.env_remove(name);
    }
    for key in ["stream.listen", "api.listen", "admin.listen"] {
        if !settings.iter().any(|(set, _)| *set == key) {
            command.args(["--set", &format!("{key}=127.0.0.1:0")]);
        }
    }
    for (key, value) in settings {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut child = command.stderr(err.reopen().unwrap()).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > WAIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "it serves, or hangs: {}",
                fs::read_to_string(err.path()).unwrap()
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    (status.code(), fs::read_to_string(err.path()).unwrap())
}

/// The start fails with `code`, and its last line says each of `words`.
#[track_caller]
fn fails(folder: &Path, settings: &[(&str, &str)], code: i32, words: &[&str]) {
    let (found, err) = serve(folder, settings);
    assert_eq!(found, Some(code), "{err}");
    let last = err.lines().last().unwrap_or_default();
    assert!(last.starts_with("callwright: "), "{err}");
    for word in words {
        assert!(last.contains(word), "missing {word:?} in {last:?}");
    }
    assert!(
        !err.contains("panicked") && !err.contains("RUST_BACKTRACE"),
        "{err}"
    );
    assert!(
        !folder.join("data/addresses.json").exists(),
        "somebody would look for it"
    );
}

#[test]
fn a_port_that_another_program_has_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for door in ["stream.listen", "api.listen", "admin.listen"] {
        fails(
            folder.path(),
            &[(door, &address)],
            73,
            &[&address, "taken by another program"],
        );
    }
}

#[actix_web::test]
async fn a_port_that_another_callwright_has_is_never_shared_in_silence() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    for door in ["stream", "api", "admin"] {
        let address = server.address(door);
        let key = format!("{door}.listen");
        fails(folder.path(), &[(&key, address)], 73, &[address, "taken"]);
    }
}

#[actix_web::test]
async fn a_data_folder_in_which_another_works_is_left_alone() {
    let server = Server::start().await;
    let before = fs::read(server.data("addresses.json")).unwrap();
    let data = server.data("").to_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    fails(
        folder.path(),
        &[("data_dir", &data)],
        73,
        &["another callwright", &data],
    );
    assert_eq!(fs::read(server.data("addresses.json")).unwrap(), before);
    let operator = server.token("ops", &["operator"]).await;
    assert!(
        server.sessions(&operator).await.is_empty(),
        "the other works on"
    );
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named_with_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (data, cause) in [
        ("file", "File exists"),
        ("file/data", "Not a directory"),
        ("/proc/callwright", ""),
    ] {
        fails(
            folder.path(),
            &[("data_dir", data)],
            73,
            &["data folder", data, cause],
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_recordings_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let settings = [("recordings.directory", "file/recordings")];
    fails(
        folder.path(),
        &settings,
        73,
        &["recordings cannot be written", "file/recordings"],
    );
}

#[test]
fn faulty_settings_are_all_told_before_anything_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, err) = serve(
        folder.path(),
        &[
            ("stream.listen", &address),
            ("api.treads", "1"),
            ("log.format", "xml"),
        ],
    );
    assert_eq!(code, Some(64), "{err}");
    assert!(
        err.contains("api.treads") && err.contains("log.format"),
        "{err}"
    );
    assert!(!err.contains("taken"), "a port was tried: {err}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "it made something"
    );
}

#[test]
fn an_open_api_on_an_address_of_the_network_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (code, err) = serve(folder.path(), &[("api.listen", "0.0.0.0:0")]);
    assert_eq!(code, Some(64), "{err}");
    assert!(err.contains("api.authentication"), "{err}");
}

#[test]
fn certificates_that_do_not_serve_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.pem"), "no certificate").unwrap();
    fs::write(folder.path().join("k.pem"), "no key").unwrap();
    let files = |door: &str| [format!("{door}.tls.certificate"), format!("{door}.tls.key")];
    for door in ["stream", "api"] {
        let [certificate, key] = files(door);
        let settings = [(certificate.as_str(), "c.pem"), (key.as_str(), "k.pem")];
        fails(folder.path(), &settings, 64, &["TLS", "c.pem"]);
        let settings = [(certificate.as_str(), "gone.pem"), (key.as_str(), "k.pem")];
        fails(folder.path(), &settings, 64, &["gone.pem"]);
    }
}

#[test]
fn a_store_that_does_not_answer_is_named_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        ("store.url", "postgres://me:pw4711@127.0.0.1:1/calls"),
        ("store.acquire_timeout_ms", "1000"),
    ];
    fails(folder.path(), &settings, 69, &["127.0.0.1:1/calls"]);
    let (_, err) = serve(folder.path(), &settings);
    assert!(!err.contains("pw4711"), "{err}");
}

#[test]
fn a_database_file_that_cannot_be_used_is_named_with_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("taken.db")).unwrap();
    fails(
        folder.path(),
        &[("store.url", "sqlite:taken.db")],
        69,
        &["taken.db", "Is a directory"],
    );
    fs::write(folder.path().join("junk.db"), vec![b'x'; 4_096]).unwrap();
    fails(
        folder.path(),
        &[("store.url", "sqlite:junk.db")],
        69,
        &["not a database"],
    );
    assert_eq!(
        fs::read(folder.path().join("junk.db")).unwrap(),
        vec![b'x'; 4_096]
    );
}
