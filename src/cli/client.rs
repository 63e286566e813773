//! `callwright client`: OAuth clients, by which programs get their tokens.

use std::sync::Arc;

use callwright_domain::identity::{Scope, TenantId};
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Subcommand;
use secrecy::ExposeSecret;
use serde::Serialize;

use super::operate::{tenant, with_store};
use super::{Context, Failure, print, print_json};
use crate::app::identity::StoredIdentity;
use crate::identity::clients::{self, ClientStore};
use crate::store::Store;

/// Add, list and remove OAuth clients.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a client and print its secret, this once.
    Add {
        /// Whose client it is; a new tenant is made.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
        /// What its tokens may do: streaming, abbreviations, evaluator, analytics, operator; may be repeated.
        #[arg(long = "scope", required = true, num_args = 1.., value_delimiter = ',')]
        scopes: Vec<Scope>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the clients of a tenant.
    List {
        /// Whose clients.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a client. Tokens it has already got are good until they expire.
    Remove {
        /// The client's id.
        client_id: String,
        /// Whose client it is.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
    },
}

#[derive(Serialize)]
struct Added<'a> {
    client_id: &'a str,
    client_secret: &'a str,
}

#[derive(Serialize)]
struct Listed {
    client_id: String,
    scopes: Vec<String>,
    created_at: DateTime<Utc>,
}

/// Does what is asked.
///
/// # Errors
/// A [`Failure`] when the store cannot be used or there is no such client.
pub fn run(args: Args, context: &Context) -> Result<(), Failure> {
    with_store(context, |_, store| async move {
        match args.action {
            Action::Add {
                tenant,
                scopes,
                json,
            } => add(store, tenant, scopes, json).await,
            Action::List { tenant, json } => list(&store, &tenant, json).await,
            Action::Remove { client_id, tenant } => remove(&store, &tenant, &client_id).await,
        }
    })
}

async fn add(
    store: Store,
    tenant: TenantId,
    mut scopes: Vec<Scope>,
    json: bool,
) -> Result<(), Failure> {
    scopes.sort_unstable();
    scopes.dedup();
    let store: Arc<dyn ClientStore> = Arc::new(StoredIdentity(store));
    let made = clients::register(&store, tenant, scopes, Utc::now()).await?;
    let secret = made.client_secret.expose_secret();
    if json {
        return print_json(&Added {
            client_id: &made.client_id,
            client_secret: secret,
        });
    }
    print(&format!(
        "client id      {}\nclient secret  {secret}\nThe secret is shown this once; only its hash is kept.",
        made.client_id
    ))
}

async fn list(store: &Store, tenant: &TenantId, json: bool) -> Result<(), Failure> {
    let listed = store
        .clients(tenant.as_str())
        .await?
        .into_iter()
        .map(|client| Listed {
            client_id: client.id,
            scopes: client
                .scopes
                .split_ascii_whitespace()
                .map(str::to_owned)
                .collect(),
            created_at: client.created_at,
        });
    let listed: Vec<_> = listed.collect();
    if json {
        return print_json(&listed);
    }
    for client in &listed {
        let made = client.created_at.to_rfc3339_opts(SecondsFormat::Secs, true);
        print(&format!(
            "{}  {made}  {}",
            client.client_id,
            client.scopes.join(" ")
        ))?;
    }
    if listed.is_empty() {
        print(&format!("tenant `{tenant}` has no clients"))?;
    }
    Ok(())
}

async fn remove(store: &Store, tenant: &TenantId, id: &str) -> Result<(), Failure> {
    if store.remove_client(tenant.as_str(), id).await? {
        print(&format!("removed {id}"))
    } else {
        Err(Failure::failed(format!(
            "tenant `{tenant}` has no client `{id}`"
        )))
    }
}
