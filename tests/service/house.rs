//! Imports run one way: src → actors → domain and src → proto, and inside src no edge knows another.
//!
//! Read from the sources and the manifests, since the compiler allows more than the design does.

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use imports::{Source, sources};

/// Modules of the service crate that speak a wire or touch a disk, and know nothing of each other.
const EDGES: [&str; 7] = [
    "store",
    "identity",
    "http",
    "grpc",
    "admin",
    "client",
    "recordings",
];

/// The only modules that may join an edge with an actor.
const COMPOSITION: [&str; 2] = ["app", "cli"];

/// What belongs to the edges: no network and no SQL in the core.
const NOT_FOR_ACTORS: [&str; 11] = [
    "actix-web",
    "diesel",
    "diesel_migrations",
    "hyper",
    "hyper-util",
    "lapin",
    "reqwest",
    "rustls",
    "tonic",
    "tokio-rustls",
    "callwright-proto",
];

/// What would give the rules a clock, a runtime or I/O of their own.
const NOT_FOR_DOMAIN: [&str; 7] = [
    "actix",
    "actix-rt",
    "async-trait",
    "callwright-actors",
    "futures-util",
    "rand",
    "tokio",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names of every dependency of a manifest, development included.
fn dependencies(manifest: &Path) -> BTreeSet<String> {
    let table: toml::Table = toml::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| table.get(*section)?.as_table())
        .flat_map(|section| section.keys().cloned())
        .collect()
}

fn offenders(dependencies: &BTreeSet<String>, forbidden: &[&str]) -> Vec<String> {
    dependencies
        .iter()
        .filter(|name| forbidden.contains(&name.as_str()))
        .cloned()
        .collect()
}

#[test]
fn the_domain_is_pure_and_depends_on_no_other_crate_of_ours() {
    let found = dependencies(&root().join("actors/domain/Cargo.toml"));
    assert!(
        found.contains("thiserror"),
        "the manifest was not read: {found:?}"
    );
    let none: Vec<String> = Vec::new();
    assert_eq!(offenders(&found, &NOT_FOR_DOMAIN), none);
    assert_eq!(offenders(&found, &NOT_FOR_ACTORS), none);
}

#[test]
fn the_actors_know_the_domain_but_no_network_and_no_sql() {
    let found = dependencies(&root().join("actors/Cargo.toml"));
    assert!(
        found.contains("callwright-domain"),
        "the manifest was not read: {found:?}"
    );
    assert_eq!(offenders(&found, &NOT_FOR_ACTORS), Vec::<String>::new());
    assert!(!found.contains("callwright"));
}

#[test]
fn the_wire_messages_depend_on_no_other_crate_of_ours() {
    let found = dependencies(&root().join("proto/Cargo.toml"));
    assert!(
        found.contains("prost"),
        "the manifest was not read: {found:?}"
    );
    assert!(
        !found.iter().any(|name| name.starts_with("callwright")),
        "{found:?}"
    );
}

#[test]
fn no_edge_imports_another_edge() {
    let faults: Vec<_> = sources(&root().join("src"))
        .iter()
        .flat_map(edge_faults)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn only_the_composition_root_names_both_an_edge_and_an_actor() {
    let faults: Vec<_> = sources(&root().join("src"))
        .iter()
        .filter_map(composition_fault)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_broken_direction_would_be_noticed() {
    let http = |text: &str| Source::new("http/token.rs", text);
    assert_eq!(
        edge_faults(&http("use crate::store::Tenants;")),
        ["http/token.rs imports store"]
    );
    assert_eq!(
        edge_faults(&http("use crate::{config::Settings, grpc::{A, B}};")),
        ["http/token.rs imports grpc"]
    );
    assert_eq!(
        edge_faults(&http("fn f() { super::super::admin::serve() }")),
        ["http/token.rs imports admin"]
    );
    assert_eq!(
        edge_faults(&http("use crate::http::problem; use http::StatusCode;")),
        Vec::<String>::new()
    );
    assert_eq!(
        edge_faults(&http("// crate::store is not for us")),
        Vec::<String>::new()
    );
    assert_eq!(
        edge_faults(&Source::new("app.rs", "use crate::store;")),
        Vec::<String>::new()
    );

    let both = "use crate::store::Store; use callwright_actors::session::Session;";
    assert!(composition_fault(&Source::new("telemetry.rs", both)).is_some());
    assert!(composition_fault(&Source::new("app/start.rs", both)).is_none());
    let port = "use crate::store::Store; use callwright_actors::{ports::Projects};";
    assert!(composition_fault(&Source::new("telemetry.rs", port)).is_none());
}

fn edge_faults(source: &Source) -> Vec<String> {
    if !EDGES.contains(&source.module()) {
        return Vec::new();
    }
    let others = source.crate_imports().into_iter();
    others
        .filter(|import| EDGES.contains(&import.as_str()) && import != source.module())
        .map(|import| format!("{} imports {import}", source.path()))
        .collect()
}

fn composition_fault(source: &Source) -> Option<String> {
    if COMPOSITION.contains(&source.module()) {
        return None;
    }
    let edge = source
        .crate_imports()
        .into_iter()
        .find(|import| EDGES.contains(&import.as_str()) && import != source.module())?;
    let actor = source
        .imports_of("callwright_actors")
        .into_iter()
        .find(|import| import != "ports")?;
    Some(format!(
        "{} names the edge {edge} and the actors' {actor}",
        source.path()
    ))
}

#[test]
fn no_module_is_a_file_named_mod() {
    let all: Vec<_> = ["src", "actors", "proto", "tests"]
        .iter()
        .flat_map(|part| imports::rust_files(&root().join(part)))
        .collect();
    assert!(all.len() > 20, "the sources were not found");
    let named_mod: Vec<_> = all.iter().filter(|path| path.ends_with("mod.rs")).collect();
    assert!(named_mod.is_empty(), "{named_mod:?}");
}
