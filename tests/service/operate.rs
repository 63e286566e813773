//! What operators do from the command line, beside a running service or without one.

mod clients;
mod keys;
mod projects;
mod upkeep;

use serde_json::Value;

use crate::support::Server;

/// What a command prints with `--json`.
async fn json(server: &Server, arguments: &[&str]) -> Value {
    let out = server.done(arguments).await;
    serde_json::from_str(&out).unwrap_or_else(|fault| panic!("{arguments:?}: {fault}: {out}"))
}

/// Each value of `key` in a list of objects.
fn each<'a>(list: &'a Value, key: &str) -> Vec<&'a Value> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| &one[key])
        .collect()
}
