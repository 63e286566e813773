//! The store's promises, each kept on SQLite and on PostgreSQL by the same test.

use std::time::Duration;

use callwright::store::{
    Applied, Change, Client, Error, KeyInsertion, Options, Project, SigningKey, Store,
};
use chrono::{DateTime, TimeDelta, Utc};
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, PgConnection, SqliteConnection};
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;
use uuid::Uuid;

/// An empty database of the test's own, gone when dropped.
pub(crate) struct Place {
    pub(crate) url: String,
    _folder: Option<TempDir>,
    server: Option<(String, String)>,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}/deep/er/callwright.db", folder.path().display());
        Self {
            url,
            _folder: Some(folder),
            server: None,
        }
    }

    pub(crate) fn postgres() -> Self {
        let server = std::env::var("CALLWRIGHT_TEST_POSTGRES").expect(
            "CALLWRIGHT_TEST_POSTGRES must hold the URL of a PostgreSQL server on which this test may create databases; `make test` starts one",
        );
        let name = format!("callwright_{}", Uuid::now_v7().simple());
        PgConnection::establish(&server)
            .expect("the server of CALLWRIGHT_TEST_POSTGRES answers")
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a database can be created");
        let mut url = url::Url::parse(&server).expect("CALLWRIGHT_TEST_POSTGRES is a URL");
        url.set_path(&name);
        Self {
            url: url.into(),
            _folder: None,
            server: Some((server, name)),
        }
    }

    /// Runs SQL behind the store's back.
    fn meddle(&self, sql: &str) {
        match &self.server {
            Some(_) => PgConnection::establish(&self.url)
                .unwrap()
                .batch_execute(sql)
                .unwrap(),
            None => {
                let path = self.url.strip_prefix("sqlite:").unwrap();
                SqliteConnection::establish(path)
                    .unwrap()
                    .batch_execute(sql)
                    .unwrap();
            }
        }
    }

    pub(crate) async fn store(&self) -> Store {
        let store = Store::open(Options::new(&self.url))
            .await
            .expect("the store opens");
        store.migrate().await.expect("the store migrates");
        store
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((server, name)) = &self.server
            && let Ok(mut connection) = PgConnection::establish(server)
        {
            let dropped = connection.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
            assert!(dropped.is_ok() || std::thread::panicking(), "{dropped:?}");
        }
    }
}

macro_rules! on_both_databases {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test] async fn $name() { super::$name(super::Place::sqlite()).await; })*
        }
        mod postgres {
            $(#[tokio::test] async fn $name() { super::$name(super::Place::postgres()).await; })*
        }
    };
}

on_both_databases! {
    migrations_apply_once_and_then_nothing_is_pending
    processes_that_start_at_once_all_find_a_migrated_store
    a_store_from_a_later_version_is_refused_in_plain_words
    a_tenant_is_made_once_and_listed
    clients_belong_to_their_tenant
    a_client_id_cannot_be_taken_twice
    of_many_first_keys_exactly_one_signs
    rotation_retires_one_key_however_many_ask
    retired_keys_are_published_for_their_time_and_then_pruned
    a_project_counts_up_only_when_it_changes
    projects_of_one_tenant_are_unknown_to_another
    writers_at_once_all_succeed
    what_was_written_is_there_after_reopening
    the_age_of_the_last_success_starts_anew_with_each
    more_callers_than_connections_wait_their_turn
}

fn moment(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000 + second, 123_456_000).unwrap()
}

fn key(kid: &str, created: i64) -> SigningKey {
    SigningKey {
        kid: kid.to_owned(),
        private_key_pem: SecretString::from(format!("private half of {kid}")),
        public_jwk: format!("public half of {kid}"),
        created_at: moment(created),
        retired_at: None,
        published_until: None,
    }
}

fn client(tenant: &str, id: &str) -> Client {
    Client {
        id: id.to_owned(),
        tenant: tenant.to_owned(),
        secret_hash: "$argon2id$…".to_owned(),
        scopes: "streaming operator".to_owned(),
        created_at: moment(0),
    }
}

fn project(tenant: &str, name: &str, definition: &str) -> Project {
    Project {
        tenant: tenant.to_owned(),
        name: name.to_owned(),
        kind: "flow".to_owned(),
        definition: definition.to_owned(),
        version: 0,
        updated_at: moment(0),
    }
}

async fn migrations_apply_once_and_then_nothing_is_pending(place: Place) {
    let store = Store::open(Options::new(&place.url)).await.unwrap();
    let pending = store.pending().await.unwrap();
    assert_eq!(pending, ["2026-11-20-000000_identity_and_projects"]);
    assert_eq!(store.migrate().await.unwrap(), pending);
    assert!(store.pending().await.unwrap().is_empty());
    assert!(store.migrate().await.unwrap().is_empty());
}

async fn processes_that_start_at_once_all_find_a_migrated_store(place: Place) {
    let starts = (0..4).map(|_| async {
        let store = Store::open(Options::new(&place.url)).await.unwrap();
        let applied = store.migrate().await.unwrap().len();
        assert!(store.tenants().await.unwrap().is_empty());
        applied
    });
    let applied = futures_util::future::join_all(starts).await;
    assert_eq!(
        applied.iter().sum::<usize>(),
        1,
        "one of them applied it: {applied:?}"
    );
}

async fn a_store_from_a_later_version_is_refused_in_plain_words(place: Place) {
    let store = place.store().await;
    place.meddle("INSERT INTO __diesel_schema_migrations (version) VALUES ('20991231000000')");
    for fault in [
        store.migrate().await.unwrap_err(),
        store.pending().await.unwrap_err(),
    ] {
        assert!(
            matches!(&fault, Error::Newer(unknown) if unknown == &["20991231000000"]),
            "{fault:?}"
        );
        assert!(
            fault.to_string().contains("newer than this program"),
            "{fault}"
        );
    }
}

async fn a_tenant_is_made_once_and_listed(place: Place) {
    let store = place.store().await;
    assert!(store.ensure_tenant("north", moment(1)).await.unwrap());
    assert!(!store.ensure_tenant("north", moment(2)).await.unwrap());
    assert!(store.ensure_tenant("acme", moment(3)).await.unwrap());
    let tenants = store.tenants().await.unwrap();
    let seen: Vec<_> = tenants
        .iter()
        .map(|tenant| (tenant.id.as_str(), tenant.created_at))
        .collect();
    assert_eq!(seen, [("acme", moment(3)), ("north", moment(1))]);
}

async fn clients_belong_to_their_tenant(place: Place) {
    let store = place.store().await;
    let (one, two) = (client("acme", "id-1"), client("north", "id-2"));
    store.add_client(one.clone()).await.unwrap();
    store.add_client(two.clone()).await.unwrap();
    assert_eq!(
        store.clients("acme").await.unwrap(),
        std::slice::from_ref(&one)
    );
    assert_eq!(store.find_client("id-2").await.unwrap(), Some(two));
    assert_eq!(store.find_client("id-3").await.unwrap(), None);
    assert!(
        !store.remove_client("north", "id-1").await.unwrap(),
        "it is another tenant's"
    );
    assert_eq!(store.find_client("id-1").await.unwrap(), Some(one));
    assert!(store.remove_client("acme", "id-1").await.unwrap());
    assert!(store.clients("acme").await.unwrap().is_empty());
}

async fn a_client_id_cannot_be_taken_twice(place: Place) {
    let store = place.store().await;
    store.add_client(client("acme", "id-1")).await.unwrap();
    let fault = store.add_client(client("north", "id-1")).await.unwrap_err();
    assert!(matches!(fault, Error::Query { .. }), "{fault:?}");
    let tenants = store.tenants().await.unwrap();
    assert_eq!(
        tenants.len(),
        1,
        "the failed transaction left no tenant behind: {tenants:?}"
    );
}

async fn of_many_first_keys_exactly_one_signs(place: Place) {
    let stores = [place.store().await, place.store().await];
    let offers =
        (0..8).map(|number| stores[number % 2].insert_key(key(&format!("key-{number}"), 0)));
    let outcomes = futures_util::future::join_all(offers).await;
    let won = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Ok(KeyInsertion::Signs)))
        .count();
    assert_eq!(
        (
            won,
            outcomes.iter().filter(|outcome| outcome.is_err()).count()
        ),
        (1, 0),
        "{outcomes:?}"
    );
    let signing = stores[0].newest_key().await.unwrap().unwrap();
    let won = outcomes
        .iter()
        .position(|outcome| matches!(outcome, Ok(KeyInsertion::Signs)))
        .unwrap();
    assert_eq!(signing.kid, format!("key-{won}"));
    assert_eq!(
        signing.private_key_pem.expose_secret(),
        format!("private half of key-{won}")
    );
    assert_eq!(stores[1].published_keys(moment(0)).await.unwrap().len(), 1);
}

async fn rotation_retires_one_key_however_many_ask(place: Place) {
    let store = place.store().await;
    store.insert_key(key("first", 0)).await.unwrap();
    let asks = (0..4)
        .map(|number| store.replace_key("first", moment(100), key(&format!("next-{number}"), 10)));
    let outcomes = futures_util::future::join_all(asks).await;
    let won = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Ok(KeyInsertion::Signs)))
        .count();
    assert_eq!(
        (
            won,
            outcomes.iter().filter(|outcome| outcome.is_err()).count()
        ),
        (1, 0),
        "{outcomes:?}"
    );
    assert_eq!(store.published_keys(moment(20)).await.unwrap().len(), 2);
}

async fn retired_keys_are_published_for_their_time_and_then_pruned(place: Place) {
    let store = place.store().await;
    store.insert_key(key("old", 0)).await.unwrap();
    store
        .replace_key("old", moment(100), key("new", 10))
        .await
        .unwrap();
    let kids = |keys: Vec<SigningKey>| keys.into_iter().map(|key| key.kid).collect::<Vec<_>>();
    assert_eq!(
        kids(store.published_keys(moment(99)).await.unwrap()),
        ["new", "old"]
    );
    assert_eq!(store.prune_keys(moment(99)).await.unwrap(), 0);
    assert_eq!(
        kids(store.published_keys(moment(100)).await.unwrap()),
        ["new"]
    );
    assert_eq!(store.prune_keys(moment(100)).await.unwrap(), 1);
    assert_eq!(
        kids(store.published_keys(moment(0)).await.unwrap()),
        ["new"]
    );
}

async fn a_project_counts_up_only_when_it_changes(place: Place) {
    let store = place.store().await;
    let applied = |change, version| Applied { change, version };
    let mut sample = project("acme", "demo", "a = 1");
    assert_eq!(
        store.apply_project(sample.clone()).await.unwrap(),
        applied(Change::Created, 1)
    );
    sample.updated_at += TimeDelta::seconds(5);
    assert_eq!(
        store.apply_project(sample.clone()).await.unwrap(),
        applied(Change::Unchanged, 1)
    );
    assert_eq!(
        store
            .find_project("acme", "demo")
            .await
            .unwrap()
            .unwrap()
            .updated_at,
        moment(0)
    );
    sample.definition = "a = 2".to_owned();
    assert_eq!(
        store.apply_project(sample.clone()).await.unwrap(),
        applied(Change::Changed, 2)
    );
    sample.kind = "evaluator".to_owned();
    assert_eq!(
        store.apply_project(sample.clone()).await.unwrap(),
        applied(Change::Changed, 3)
    );
    let kept = Project {
        version: 3,
        ..sample
    };
    assert_eq!(
        store.find_project("acme", "demo").await.unwrap(),
        Some(kept)
    );
}

async fn projects_of_one_tenant_are_unknown_to_another(place: Place) {
    let store = place.store().await;
    for (tenant, name) in [("acme", "b"), ("acme", "a"), ("north", "a")] {
        store
            .apply_project(project(tenant, name, tenant))
            .await
            .unwrap();
    }
    let names = |found: Vec<Project>| {
        found
            .into_iter()
            .map(|project| project.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(store.projects("acme").await.unwrap()), ["a", "b"]);
    assert_eq!(
        store
            .find_project("north", "a")
            .await
            .unwrap()
            .unwrap()
            .definition,
        "north"
    );
    assert_eq!(store.find_project("north", "b").await.unwrap(), None);
    assert!(!store.remove_project("north", "b").await.unwrap());
    assert!(store.remove_project("north", "a").await.unwrap());
    assert_eq!(names(store.projects("acme").await.unwrap()), ["a", "b"]);
}

async fn writers_at_once_all_succeed(place: Place) {
    let stores = [place.store().await, place.store().await];
    let writes = (0..60).map(|number| {
        stores[number % 2].apply_project(project(
            "acme",
            &format!("p{}", number % 3),
            &format!("n = {number}"),
        ))
    });
    for outcome in futures_util::future::join_all(writes).await {
        outcome.unwrap();
    }
    let versions: i32 = stores[0]
        .projects("acme")
        .await
        .unwrap()
        .iter()
        .map(|found| found.version)
        .sum();
    assert_eq!(versions, 60, "no write was lost");
}

async fn what_was_written_is_there_after_reopening(place: Place) {
    let written = client("acme", "id-1");
    place
        .store()
        .await
        .add_client(written.clone())
        .await
        .unwrap();
    assert_eq!(
        place.store().await.find_client("id-1").await.unwrap(),
        Some(written)
    );
}

async fn the_age_of_the_last_success_starts_anew_with_each(place: Place) {
    let store = place.store().await;
    store.ping().await.unwrap();
    let age = store.last_success_age().expect("a call has succeeded");
    assert!(age < Duration::from_secs(5), "{age:?}");
}

async fn more_callers_than_connections_wait_their_turn(place: Place) {
    place.store().await;
    let narrow = Options {
        pool_size: 1,
        ..Options::new(&place.url)
    };
    let store = Store::open(narrow).await.unwrap();
    let calls = (0..50).map(|_| store.tenants());
    for outcome in futures_util::future::join_all(calls).await {
        outcome.unwrap();
    }
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
