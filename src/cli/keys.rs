//! `callwright keys`: the signing keys of the embedded issuer.

use chrono::{DateTime, SecondsFormat, Utc};
use clap::Subcommand;
use serde::Serialize;

use super::operate::with_store;
use super::{Context, Failure, print, print_json};
use crate::app::identity::embedded_issuer;
use crate::config::Issuer;

/// List and rotate the keys that sign access tokens.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the keys that tokens are checked with.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let a new key sign; the old one stays published until its last token has expired.
    Rotate {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Listed {
    kid: String,
    signs: bool,
    created_at: DateTime<Utc>,
    published_until: Option<DateTime<Utc>>,
}

#[derive(Serialize)]
struct Rotated {
    kid: String,
}

/// Does what is asked.
///
/// # Errors
/// A [`Failure`] when the store cannot be used, or tokens come from another issuer.
pub fn run(args: Args, context: &Context) -> Result<(), Failure> {
    with_store(context, |settings, store| async move {
        if let Issuer::Url(url) = &settings.identity.issuer {
            return Err(Failure::failed(format!(
                "tokens come from {url}; its keys are rotated there"
            )));
        }
        match args.action {
            Action::List { json } => {
                let keys = store.published_keys(Utc::now()).await?;
                let listed = keys.into_iter().map(|key| Listed {
                    kid: key.kid,
                    signs: key.retired_at.is_none(),
                    created_at: key.created_at,
                    published_until: key.published_until,
                });
                let listed: Vec<_> = listed.collect();
                if json {
                    print_json(&listed)
                } else {
                    show(&listed)
                }
            }
            Action::Rotate { json } => {
                let kid = embedded_issuer(&settings.identity, &store, settings.api.listen)
                    .rotate()
                    .await?;
                if json {
                    print_json(&Rotated { kid })
                } else {
                    print(&format!(
                        "key {kid} signs; services that run follow within 5 s"
                    ))
                }
            }
        }
    })
}

fn show(keys: &[Listed]) -> Result<(), Failure> {
    for key in keys {
        let state = match key.published_until {
            None => "signs".to_owned(),
            Some(until) => format!(
                "published until {}",
                until.to_rfc3339_opts(SecondsFormat::Secs, true)
            ),
        };
        print(&format!("{}  {state}", key.kid))?;
    }
    if keys.is_empty() {
        print("there is no key yet; the service makes one when it starts")?;
    }
    Ok(())
}
