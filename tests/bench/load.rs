//! The load: `callwright loadtest` on its own core, and the server's cost while it runs.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::Fault;
use crate::process::{self, LOAD_CORE, Server, pinned};
use crate::shape::Shape;

/// Counts within this long of the end of the ramp are left out: the server is still busy with handshakes.
const SETTLE_MSEC: u64 = 1_000;

/// An OAuth client of the service.
#[derive(Clone, Deserialize)]
pub(crate) struct Client {
    client_id: String,
    client_secret: String,
}

/// Where and as whom the load calls.
pub(crate) enum Door {
    /// The raw handler, which checks nobody.
    Raw {
        /// `host:port`.
        server: String,
        /// The authority to trust.
        authority: PathBuf,
    },
    /// The service, found through its data folder.
    Service {
        /// The data folder.
        data: PathBuf,
        /// Who calls.
        client: Client,
        /// The project that the calls run.
        project: &'static str,
    },
}

impl Door {
    fn enter(&self, command: &mut Command) {
        command
            .env_remove("CALLWRIGHT_TOKEN")
            .env_remove("CALLWRIGHT_CLIENT_SECRET");
        match self {
            Self::Raw { server, authority } => {
                command
                    .args(["--project", "raw", "--server", server])
                    .arg("--ca")
                    .arg(authority);
            }
            Self::Service {
                data,
                client,
                project,
            } => {
                command
                    .args(["--project", project, "--client-id", &client.client_id])
                    .arg("--data-dir")
                    .arg(data);
                command.env("CALLWRIGHT_CLIENT_SECRET", &client.client_secret);
            }
        }
    }
}

/// What one load showed.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// CPU time of the server for one chunk, in µs.
    pub(crate) cpu_usec: f64,
    /// Resident memory of the server at its largest while measured, in KiB.
    pub(crate) resident_kib: f64,
    /// The report of the load itself.
    pub(crate) report: Value,
}

impl Finding {
    /// A number of the report by its path, 0 if it is not there.
    pub(crate) fn number(&self, path: &str) -> f64 {
        self.report
            .pointer(path)
            .and_then(Value::as_f64)
            .unwrap_or_default()
    }

    /// What shows that the load was not the one asked for; empty if it was.
    pub(crate) fn blemishes(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut note = |is: bool, text: String| {
            if is {
                found.push(text)
            }
        };
        let (streams, opened) = (self.number("/streams"), self.number("/opened"));
        note(
            opened < streams,
            format!("{opened} of {streams} calls opened"),
        );
        let (due, sent) = (self.number("/chunks_due"), self.number("/chunks_sent"));
        note(sent < due * 0.999, format!("{sent} of {due} chunks sent"));
        let late = self.number("/lateness/p99_msec");
        note(late > 20.0, format!("chunks {late:.0} ms late (p99)"));
        let lost = self.number("/events_lost");
        note(lost > 0.0, format!("{lost} events lost"));
        found
    }
}

/// What the server had cost when so many chunks were sent.
#[derive(Debug, Clone, Copy)]
struct Mark {
    chunks: f64,
    cpu: Duration,
}

/// Puts `shape` on the server behind `door` and measures process `pid` meanwhile.
pub(crate) fn put(shape: Shape, door: &Door, pid: u32) -> Result<Finding, Fault> {
    let mut load = start(shape, door)?;
    let (mut first, mut last, mut resident, mut steady) = (None, None, 0.0_f64, None);
    let mut report = Value::Null;
    for line in BufReader::new(load.stdout()?).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let Some(phase) = line.get("phase").and_then(Value::as_str) else {
            report = line;
            break;
        };
        let elapsed = line
            .get("elapsed_msec")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        if phase != "steady" || elapsed < *steady.get_or_insert(elapsed) + SETTLE_MSEC {
            continue;
        }
        let chunks = line.get("sent").and_then(Value::as_f64).unwrap_or_default();
        let mark = Mark {
            chunks,
            cpu: process::cpu_time(pid)?,
        };
        first.get_or_insert(mark);
        last = Some(mark);
        resident = resident.max(process::resident_kib(pid)?);
    }
    let (Some(first), Some(last)) = (first, last) else {
        return Err("the load ended before anything was measured".into());
    };
    Ok(Finding {
        cpu_usec: cpu_usec(first, last),
        resident_kib: resident,
        report,
    })
}

fn cpu_usec(first: Mark, last: Mark) -> f64 {
    let cpu = last.cpu.saturating_sub(first.cpu).as_secs_f64() * 1e6;
    let chunks = last.chunks - first.chunks;
    if chunks > 0.0 { cpu / chunks } else { f64::NAN }
}

fn start(shape: Shape, door: &Door) -> Result<Server, Fault> {
    let mut command = pinned(LOAD_CORE, env!("CARGO_BIN_EXE_callwright"));
    command
        .args(["loadtest", "--json", "--watch"])
        .args(["--streams", &shape.streams.to_string()])
        .args(["--connections", &shape.connections.to_string()])
        .args(["--duration", &shape.seconds.to_string()])
        .stdout(Stdio::piped());
    door.enter(&mut command);
    if !shape.events {
        command.arg("--audio-only");
    }
    Server::start(&mut command)
}
