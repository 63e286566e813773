//! `callwright tenant`: who is served.

use callwright_domain::identity::TenantId;
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Subcommand;
use serde::Serialize;

use super::operate::{tenant, with_store};
use super::{Context, Failure, print, print_json};

/// Add and list tenants.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a tenant; one that is there stays as it is.
    Add {
        /// 1 to 64 letters, digits, `-`, `_` or `.`.
        #[arg(value_parser = tenant)]
        name: TenantId,
    },
    /// List the tenants.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Listed {
    tenant: String,
    created_at: DateTime<Utc>,
}

/// Does what is asked.
///
/// # Errors
/// A [`Failure`] when the store cannot be used.
pub fn run(args: Args, context: &Context) -> Result<(), Failure> {
    with_store(context, |_, store| async move {
        match args.action {
            Action::Add { name } => {
                let made = store.ensure_tenant(name.as_str(), Utc::now()).await?;
                print(&format!(
                    "tenant `{name}` {}",
                    if made { "made" } else { "was there" }
                ))
            }
            Action::List { json } => {
                let tenants = store.tenants().await?;
                let listed: Vec<_> = tenants
                    .into_iter()
                    .map(|tenant| Listed {
                        tenant: tenant.id,
                        created_at: tenant.created_at,
                    })
                    .collect();
                if json {
                    return print_json(&listed);
                }
                listed.iter().try_for_each(|tenant| {
                    let made = tenant.created_at.to_rfc3339_opts(SecondsFormat::Secs, true);
                    print(&format!("{made}  {}", tenant.tenant))
                })
            }
        }
    })
}
