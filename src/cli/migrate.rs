//! `callwright migrate`: brings the store up to date; `serve` does so by itself.

use serde::Serialize;

use super::server::block_on;
use super::{Context, Failure, print, print_json};
use crate::app;
use crate::store::Store;

/// Bring the store up to date; serve does so by itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Outcome {
    applied: Vec<String>,
    pending: Vec<String>,
}

/// Migrates.
///
/// # Errors
/// A [`Failure`] when the store cannot be reached or was made by a later version.
pub fn run(args: &Args, context: &Context) -> Result<(), Failure> {
    let settings = context.begin_saying(Some("warn"))?;
    block_on(async {
        let store = Store::open(app::store_options(&settings)).await?;
        let (applied, pending) = if args.dry_run {
            (Vec::new(), store.pending().await?)
        } else {
            (store.migrate().await?, Vec::new())
        };
        if args.json {
            return print_json(&Outcome { applied, pending });
        }
        for name in &applied {
            print(&format!("applied {name}"))?;
        }
        for name in &pending {
            print(&format!("pending {name}"))?;
        }
        if applied.is_empty() && pending.is_empty() {
            print("the store is up to date")?;
        }
        Ok(())
    })
}
