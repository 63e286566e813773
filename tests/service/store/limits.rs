//! What the store does when its surroundings fail it, on one database or the other.

use std::time::Duration;

use callwright::store::{Error, Options, Store};

use super::{Place, key, moment, project};

#[tokio::test]
async fn connections_the_server_cut_are_replaced() {
    let place = Place::postgres();
    let store = place.store().await;
    place.meddle(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    assert!(store.ensure_tenant("acme", moment(0)).await.unwrap());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut options = Options::new(format!("postgres://ann:hunter2@{nobody}/calls"));
    options.acquire_timeout = Duration::from_millis(300);
    let fault = Store::open(options)
        .await
        .expect_err("nobody listens there");
    let (said, whole) = (fault.to_string(), format!("{fault:?}"));
    assert!(
        said.contains(&format!("postgres://{nobody}/calls")),
        "{said}"
    );
    assert!(said.contains("Connection refused"), "{said}");
    assert!(
        !whole.contains("hunter2") && !said.contains("hunter2"),
        "{whole}"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = Options::new(format!(
        "postgres://ann@{}/calls",
        silent.local_addr().unwrap()
    ));
    options.acquire_timeout = Duration::from_millis(300);
    let fault = tokio::time::timeout(Duration::from_secs(20), Store::open(options))
        .await
        .expect("in time");
    assert!(matches!(fault, Err(Error::Unreachable { .. })), "{fault:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let fault = Store::open(Options::new(format!(
        "sqlite:{}/callwright.db",
        file.display()
    )))
    .await
    .unwrap_err();
    assert!(matches!(fault, Error::File { .. }), "{fault:?}");
    assert!(
        fault.to_string().contains("callwright.db") || fault.to_string().contains("file"),
        "{fault}"
    );
}

#[tokio::test]
async fn the_database_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::sqlite();
    let store = place.store().await;
    store.insert_key(key("one", 0)).await.unwrap();
    let path = place.url.strip_prefix("sqlite:").unwrap();
    for name in [path.to_owned(), format!("{path}-wal")] {
        let mode = std::fs::metadata(&name).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
}

#[tokio::test]
async fn an_answered_write_reaches_the_disk_before_its_answer() {
    let place = Place::sqlite();
    let store = place.store().await;
    store
        .apply_project(project("acme", "demo", "kept = true"))
        .await
        .unwrap();
    // What a killed process leaves: the files as they are now, and no orderly close.
    let path = place.url.strip_prefix("sqlite:").unwrap();
    let copy = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        std::fs::copy(
            format!("{path}{suffix}"),
            copy.path().join(format!("left.db{suffix}")),
        )
        .unwrap();
    }
    let url = format!("sqlite:{}/left.db", copy.path().display());
    let found = Store::open(Options::new(url))
        .await
        .unwrap()
        .find_project("acme", "demo")
        .await
        .unwrap();
    assert_eq!(found.expect("it was answered").definition, "kept = true");
}
