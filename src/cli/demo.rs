//! `callwright demo`: the service and a call, side by side, for whoever wants to see it work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use callwright_domain::identity::{DEFAULT_TENANT, Scope, TenantId};
use chrono::Utc;
use secrecy::ExposeSecret;

use super::operate::tenant;
use super::{Context, Failure, exit, print};
use crate::app::identity::StoredIdentity;
use crate::app::{self, Service};
use crate::config::Settings;
use crate::identity::clients::{self, ClientStore, Credentials};

/// The sample call: two voices and some keys, 8 kHz stereo μ-law.
const CALL: &[u8] = include_bytes!("../../tests/fixtures/call.wav");

/// Run the service with a sample call, and stay open.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Exit when the call is over.
    #[arg(long, env = "DEMO_ONCE", value_parser = clap::builder::FalseyValueParser::new())]
    once: bool,
    /// Another WAV file to stream.
    #[arg(long, value_name = "FILE.wav")]
    call: Option<PathBuf>,
}

/// Shows the service at work.
///
/// # Errors
/// A [`Failure`] when the service does not start or the call is refused.
pub fn run(args: Args, context: &Context) -> Result<(), Failure> {
    // The call is the story here; the log would run across it.
    let mut settings = context.begin_saying(Some("warn"))?;
    actix_rt::System::new().block_on(async move {
        let data_dir = settings.data_dir.clone();
        let service = Service::start(settings.clone()).await?;
        let addresses = *service.addresses();
        // Ports that were picked are told to the client by their numbers.
        settings.api.listen = addresses.api;
        let switch = service.drain_switch();
        let serving = actix_rt::spawn(service.run());
        let shown = show(&settings, &data_dir, args.call).await;
        if args.once || shown.is_err() {
            switch.send_replace(true);
        } else {
            print(&format!(
                "\nThe service stays open: streams on {}, HTTP on http://{}, operators on http://{}/readyz?verbose\n`callwright client add --scope streaming` makes a client for calls of your own; docs/streaming.md says how.\nCtrl-C ends it.",
                addresses.stream, addresses.api, addresses.admin
            ))?;
        }
        serving.await.map_err(|fault| Failure::failed(format!("the service failed: {fault}")))?;
        shown
    })
}

async fn show(settings: &Settings, data_dir: &Path, call: Option<PathBuf>) -> Result<(), Failure> {
    let credentials = client(settings).await?;
    let call = match call {
        Some(call) => call,
        None => sample(data_dir)?,
    };
    print(&format!(
        "Streaming {} through project `demo-stream`, in real time:\n",
        call.display()
    ))?;
    let data_dir = data_dir.to_owned();
    let streamed =
        tokio::task::spawn_blocking(move || stream(&data_dir, &call, &credentials)).await;
    streamed.map_err(|fault| Failure::failed(format!("the call failed: {fault}")))?
}

/// The call is streamed by the command that anybody would use, in a process of its own.
fn stream(data_dir: &Path, call: &Path, credentials: &Credentials) -> Result<(), Failure> {
    let own = std::env::current_exe()
        .map_err(|fault| Failure::failed(format!("the program cannot find itself: {fault}")))?;
    let status = Command::new(own)
        .arg("stream")
        .arg(call)
        .args([
            "--project",
            "demo-stream",
            "--tenant",
            DEFAULT_TENANT,
            "--client-id",
            &credentials.client_id,
        ])
        .arg("--data-dir")
        .arg(data_dir)
        .env(
            "CALLWRIGHT_CLIENT_SECRET",
            credentials.client_secret.expose_secret(),
        )
        .status()
        .map_err(|fault| Failure::failed(format!("the call could not be started: {fault}")))?;
    match status.code() {
        Some(0) => Ok(()),
        // The command has said why itself.
        code => Err(Failure {
            code: code
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(exit::FAILED),
            sentence: String::new(),
        }),
    }
}

/// A client of its own for each demo: a secret is shown once and kept nowhere.
async fn client(settings: &Settings) -> Result<Credentials, Failure> {
    let store: Arc<dyn ClientStore> = Arc::new(StoredIdentity(app::open_store(settings).await?));
    let tenant: TenantId = tenant(DEFAULT_TENANT).map_err(Failure::failed)?;
    Ok(clients::register(&store, tenant, vec![Scope::Streaming], Utc::now()).await?)
}

fn sample(data_dir: &Path) -> Result<PathBuf, Failure> {
    let path = data_dir.join("demo-call.wav");
    fs::write(&path, CALL).map_err(|fault| {
        Failure::cannot_create(format!("{} cannot be written: {fault}", path.display()))
    })?;
    Ok(path)
}
