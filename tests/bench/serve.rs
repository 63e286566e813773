//! The service itself: set up in a folder of its own, started on one core, asked whether it is ready.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tempfile::TempDir;

use crate::Fault;
use crate::load::{Client, Door};
use crate::process::{SERVER_CORE, Server, pinned};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_callwright");
/// How long the service may take to be ready: far beyond the bar, so that a miss is measured and not an error.
const READY_DEADLINE: Duration = Duration::from_secs(60);
/// How often readiness is asked for: the resolution of the start-to-ready time.
const ASK: Duration = Duration::from_millis(2);

/// The name of the project that passes the client's events on.
pub(crate) const PASS_PROJECT: &str = "bench-pass";
/// The name of the one that has voice activity besides.
pub(crate) const VOICE_PROJECT: &str = "bench-voice";

/// Passes the client's events on, and nothing else.
const PASS: &str = "name = \"bench-pass\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n";
/// The same with voice activity on the only channel.
const VOICE: &str = "name = \"bench-voice\"\nkind = \"flow\"\nwires = [\"entry -> publisher\", \"entry -> voice -> publisher\"]\n\
    [[nodes]]\nid = \"voice\"\ntype = \"voice-activity\"\n";

/// A data folder with a client and the projects of this bench.
pub(crate) struct Home {
    folder: TempDir,
    client: Client,
}

/// A service that is ready.
pub(crate) struct Service {
    /// Its process.
    pub(crate) server: Server,
    /// From its start until it said that it was ready.
    pub(crate) ready_after: Duration,
}

/// The addresses that a running service leaves in its data folder.
#[derive(Deserialize)]
struct Addresses {
    admin: String,
}

impl Home {
    /// Sets up a data folder through the command line, as an operator would.
    pub(crate) fn new() -> Result<Self, Fault> {
        let folder = tempfile::tempdir()?;
        let made = output(command(
            folder.path(),
            &[
                "client",
                "add",
                "--tenant",
                "default",
                "--scope",
                "streaming",
                "--json",
            ],
        ))?;
        let client = serde_json::from_slice(&made)?;
        for (name, definition) in [("pass.toml", PASS), ("voice.toml", VOICE)] {
            let file = folder.path().join(name);
            std::fs::write(&file, definition)?;
            let mut apply = command(folder.path(), &["project", "apply"]);
            apply.arg(&file);
            output(apply)?;
        }
        Ok(Self { folder, client })
    }

    /// Starts the service on its core and waits until it is ready.
    pub(crate) fn start(&self) -> Result<Service, Fault> {
        let addresses = self.data().join("addresses.json");
        // One left by a service that was killed would be taken for the new one's.
        let _ = std::fs::remove_file(&addresses);
        let log = std::fs::File::create(self.folder.path().join("serve.log"))?;
        let begun = Instant::now();
        let mut serve = pinned(SERVER_CORE, PROGRAM);
        settle(&mut serve, self.folder.path());
        let mut server = Server::start(serve.arg("serve").stdout(log.try_clone()?).stderr(log))?;
        while !is_ready(&addresses) {
            if !server.runs() {
                return Err(format!("`callwright serve` ended: {}", self.last_words()).into());
            }
            if begun.elapsed() > READY_DEADLINE {
                return Err("`callwright serve` was not ready in time".into());
            }
            std::thread::sleep(ASK);
        }
        Ok(Service {
            server,
            ready_after: begun.elapsed(),
        })
    }

    /// How the load gets in.
    pub(crate) fn door(&self, project: &'static str) -> Door {
        Door::Service {
            data: self.data(),
            client: self.client.clone(),
            project,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("serve.log")).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    settle(&mut command, folder);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Settings of the bench: free ports, a folder of its own, and room for 400 calls on one connection, whose window
/// the raw handler has as well.
fn settle(command: &mut Command, folder: &Path) {
    command
        .current_dir(folder)
        .env("CALLWRIGHT__DATA_DIR", folder.join("data"))
        .env("CALLWRIGHT__STREAM__LISTEN", "127.0.0.1:0")
        .env("CALLWRIGHT__STREAM__MAX_STREAMS_PER_CONNECTION", "400")
        .env("CALLWRIGHT__STREAM__CONNECTION_WINDOW_BYTES", "33554432")
        .env("CALLWRIGHT__API__LISTEN", "127.0.0.1:0")
        .env("CALLWRIGHT__ADMIN__LISTEN", "127.0.0.1:0")
        .env("CALLWRIGHT__LOG__LEVEL", "warn");
}

fn output(mut command: Command) -> Result<Vec<u8>, Fault> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!(
        "callwright {:?}: {}",
        command.get_args(),
        String::from_utf8_lossy(&output.stderr).trim()
    )
    .into())
}

/// Whether `/readyz` of the service that wrote `addresses` answers 200.
fn is_ready(addresses: &Path) -> bool {
    let ask = || -> Result<String, Fault> {
        let Addresses { admin } = serde_json::from_slice(&std::fs::read(addresses)?)?;
        let mut socket = TcpStream::connect_timeout(&admin.parse()?, Duration::from_secs(1))?;
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
        socket
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut head = [0; 12];
        socket.read_exact(&mut head)?;
        Ok(String::from_utf8_lossy(&head).into_owned())
    };
    ask().is_ok_and(|head| head == "HTTP/1.1 200")
}
