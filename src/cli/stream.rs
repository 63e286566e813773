//! `callwright stream`: streams one WAV file as a call and shows its events as they come.

mod fault;
mod show;
mod talk;

use std::path::PathBuf;

use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::fs::File;

pub use self::fault::StreamFault;
use self::show::Show;
use self::talk::{Pacing, Talk};
use super::Failure;
use super::server::{Caller, ServerArgs, block_on, project_settings};
use crate::client::call;
use crate::client::start::Start;
use crate::client::wav::Chunker;

/// Stream a WAV file as a call and show its events as they come.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// PCM, float, μ-law or A-law WAV file
    #[arg(value_name = "FILE.wav")]
    file: PathBuf,

    /// Flow project to run
    #[arg(long, value_name = "PROJECT")]
    project: String,

    /// Send as fast as the server takes it, not in real time
    #[arg(long)]
    fast: bool,

    /// One JSON line for the start response and for each event
    #[arg(long)]
    json: bool,

    /// A project parameter; may be given several times
    // The same id as the settings of the service, which mean nothing here: this takes their place.
    #[arg(id = "set", long, value_name = "KEY=VALUE")]
    settings: Vec<String>,

    /// Language of the call, for example en-GB
    #[arg(long, value_name = "CODE")]
    language: Option<String>,

    /// What your own systems call this call
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,

    #[command(flatten)]
    server: ServerArgs,
}

/// Streams the file to its end.
///
/// # Errors
/// A [`Failure`] with the exit code of a [`StreamFault`].
pub fn run(args: Args) -> Result<(), Failure> {
    block_on(async {
        stream(args).await.map_err(|fault| Failure {
            code: fault.exit_code(),
            sentence: fault.to_string(),
        })
    })
}

async fn stream(args: Args) -> Result<(), StreamFault> {
    let settings = project_settings(&args.settings)?;
    let file = open_file(&args).await?;
    let Caller {
        target,
        tenant,
        token,
    } = args.server.resolve().await?;
    let start = Start {
        settings,
        ..start(&args, &file, tenant, token)
    };
    let call = call::open(&target, &start).await?;
    let show = Show::new(args.json, file.chunks());
    show.started(&call.started, &start);
    let pacing = if args.fast {
        Pacing::Fast
    } else {
        Pacing::RealTime
    };
    let talk = Talk::new(call.uplink, call.downlink, show);
    talk.run(file, pacing, tokio::signal::ctrl_c()).await
}

async fn open_file(args: &Args) -> Result<Chunker<File>, StreamFault> {
    let bad = |fault| StreamFault::File {
        path: args.file.clone(),
        fault,
    };
    let file = File::open(&args.file)
        .await
        .map_err(|fault| bad(fault.into()))?;
    Chunker::open(file).await.map_err(bad)
}

fn start(args: &Args, file: &Chunker<File>, tenant: String, token: SecretString) -> Start {
    let mut call_properties = Map::new();
    if let Some(id) = &args.external_id {
        call_properties.insert("ExternalId".to_owned(), Value::from(id.as_str()));
    }
    Start {
        tenant,
        token,
        project: args.project.clone(),
        sample_rate: file.info().rate,
        channels: file.info().channels,
        encoding: file.info().wire_encoding(),
        language: args.language.clone(),
        settings: Map::new(),
        call_properties,
    }
}

#[cfg(test)]
mod tests;
