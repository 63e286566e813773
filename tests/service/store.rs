//! The store's promises, each kept on SQLite and on PostgreSQL by the same test.

mod limits;
mod place;

use std::time::Duration;

use callwright::store::{
    Applied, Change, Client, Error, KeyInsertion, Options, Project, SigningKey, Store,
};
use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret as _, SecretString};

pub(crate) use place::Place;

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
    a_writer_that_blocks_others_is_waited_for_only_so_long
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

async fn a_writer_that_blocks_others_is_waited_for_only_so_long(place: Place) {
    place.store().await;
    let hasty = Options {
        pool_size: 1,
        statement_timeout: Duration::from_millis(200),
        ..Options::new(&place.url)
    };
    let store = Store::open(hasty).await.unwrap();
    let blocker = place.blocker();
    let fault = store.ensure_tenant("acme", moment(0)).await.unwrap_err();
    assert!(
        matches!(
            fault,
            Error::Query {
                what: "adding a tenant",
                ..
            }
        ),
        "{fault:?}"
    );
    let fault = store.add_client(client("acme", "id-1")).await.unwrap_err();
    assert!(matches!(fault, Error::Query { .. }), "{fault:?}");
    drop(blocker);
    assert!(
        store.ensure_tenant("acme", moment(0)).await.unwrap(),
        "the connection is of use again"
    );
}
