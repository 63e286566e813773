//! `callwright loadtest`: many calls at once, on a schedule that does not wait for the server.

mod table;
mod watch;

use std::io::Write as _;
use std::num::NonZeroU64;
use std::time::Duration;

use serde_json::{Map, Value};

use self::watch::Watch;
use super::server::{Caller, ServerArgs, ServerFault, block_on, call_exit_code, project_settings};
use super::{Failure, exit};
use crate::client::load::{Content, LoadFault, Plan, Report, run as run_plan};
use crate::client::start::Start;
use callwright_domain::audio::Encoding;

/// Calls opened each second when no ramp is given: TLS handshakes cost the server most of it.
const OPENED_PER_SECOND: f64 = 250.0;
/// Longest chunk that the service takes, in bytes.
const LONGEST_CHUNK: u64 = 60_000;

/// Stream many calls at once on an open-loop schedule and report rates and times.
///
/// Chunks are due each 20 ms whatever the server does; round trips count from when an event was due. The project
/// should pass the client's events on from its entry to its publisher.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Calls at once
    #[arg(long, value_name = "N", default_value = "100")]
    streams: NonZeroU64,

    /// Connections they share [default: one for each call]
    #[arg(long, value_name = "C")]
    connections: Option<NonZeroU64>,

    /// How long to measure once the calls are open, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    duration: Duration,

    /// How long to open calls for, in seconds [default: 1 for each 250 calls, at least 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    ramp: Option<Duration>,

    /// Flow project to run
    #[arg(long, value_name = "PROJECT")]
    project: String,

    /// Bytes of μ-law in a chunk of 20 ms
    #[arg(long, value_name = "BYTES", default_value = "160", value_parser = clap::value_parser!(u64).range(1..=LONGEST_CHUNK))]
    chunk_bytes: u64,

    /// How often each call sends an event that should come back, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    event_interval: Duration,

    /// Send no events
    #[arg(long, conflicts_with = "events_only")]
    audio_only: bool,

    /// Send no audio
    #[arg(long)]
    events_only: bool,

    /// A project parameter; may be given several times
    // The same id as the settings of the service, which mean nothing here: this takes their place.
    #[arg(id = "set", long, value_name = "KEY=VALUE")]
    settings: Vec<String>,

    /// The report as one JSON line
    #[arg(long)]
    json: bool,

    /// With --json, a line with the counts so far four times a second before it
    #[arg(long, requires = "json")]
    watch: bool,

    #[command(flatten)]
    server: ServerArgs,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum LoadtestFault {
    /// It is not known which server, or as whom.
    #[error(transparent)]
    Server(#[from] ServerFault),
    /// The test could not begin.
    #[error(transparent)]
    Load(#[from] LoadFault),
    /// Not one call could be opened; the report says why.
    #[error("no call could be opened: {0}")]
    NoneOpened(String),
    /// More connections than calls.
    #[error("{connections} connections are more than {streams} calls can use")]
    TooManyConnections {
        /// Connections asked for.
        connections: u64,
        /// Calls asked for.
        streams: u64,
    },
    /// The report cannot be written.
    #[error("the report cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl LoadtestFault {
    /// The exit code of the process, as in `stream`.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Server(fault) => fault.exit_code(),
            Self::Load(LoadFault::Tls(fault)) => call_exit_code(fault),
            Self::Load(LoadFault::Histogram(_)) => exit::FAILED,
            Self::NoneOpened(_) => exit::UNAVAILABLE,
            Self::TooManyConnections { .. } => exit::SETTINGS,
            Self::Output(_) => exit::IO,
        }
    }
}

/// Runs the test to its end and prints the report. Refused and failed calls are part of the report.
///
/// # Errors
/// A [`Failure`] with the exit code of a [`LoadtestFault`]; also when not one call was opened.
pub fn run(args: Args) -> Result<(), Failure> {
    block_on(async {
        test(args).await.map_err(|fault| Failure {
            code: fault.exit_code(),
            sentence: fault.to_string(),
        })
    })
}

async fn test(args: Args) -> Result<(), LoadtestFault> {
    let connections = args.connections.unwrap_or(args.streams);
    if connections > args.streams {
        return Err(LoadtestFault::TooManyConnections {
            connections: connections.get(),
            streams: args.streams.get(),
        });
    }
    let settings = project_settings(&args.settings)?;
    let caller = args.server.resolve().await?;
    let plan = plan(&args, connections.get(), caller, settings);
    let mut watch = Watch::new(&plan, args.watch);
    let report = run_plan(plan, |snapshot| watch.show(snapshot)).await?;
    watch.over();
    print(&report, args.json)?;
    if report.opened == 0 {
        return Err(LoadtestFault::NoneOpened(table::reasons(&report)));
    }
    Ok(())
}

fn plan(args: &Args, connections: u64, caller: Caller, settings: Map<String, Value>) -> Plan {
    let content = match (args.audio_only, args.events_only) {
        (true, _) => Content::Audio,
        (false, true) => Content::Events,
        (false, false) => Content::AudioAndEvents,
    };
    Plan {
        target: caller.target,
        start: Start {
            tenant: caller.tenant,
            token: caller.token,
            project: args.project.clone(),
            sample_rate: 8_000,
            channels: 1,
            encoding: Encoding::Ulaw,
            language: None,
            settings,
            call_properties: Map::new(),
        },
        streams: args.streams.get(),
        connections,
        ramp: args.ramp.unwrap_or_else(|| default_ramp(args.streams)),
        duration: args.duration,
        chunk_bytes: usize::try_from(args.chunk_bytes).unwrap_or(usize::MAX),
        event_interval: args.event_interval,
        content,
    }
    .with_its_format()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of calls stay far below 2^53"
)]
fn default_ramp(streams: NonZeroU64) -> Duration {
    Duration::from_secs_f64((streams.get() as f64 / OPENED_PER_SECOND).max(1.0))
}

fn print(report: &Report, json: bool) -> std::io::Result<()> {
    let text = if json {
        serde_json::to_string(report)?
    } else {
        table::of(report)
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}

/// Seconds from 0 to a day, fractions allowed.
fn seconds(text: &str) -> Result<Duration, String> {
    let secs: f64 = text
        .parse()
        .map_err(|_| "a number of seconds is wanted".to_owned())?;
    if (0.0..=86_400.0).contains(&secs) {
        Ok(Duration::from_secs_f64(secs))
    } else {
        Err("0 to 86400 seconds".to_owned())
    }
}

/// Seconds from one hundredth.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = seconds(text)?;
    if interval >= Duration::from_millis(10) {
        Ok(interval)
    } else {
        Err("0.01 seconds at least".to_owned())
    }
}
