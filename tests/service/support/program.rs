//! The program as a process: its settings, its end, what it printed.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked whether a process has ended.
const LOOK: Duration = Duration::from_millis(10);

/// What a command printed and how it exited.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command to its end.
pub(super) async fn to_end(mut command: Command, within: Duration) -> Outcome {
    let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdout(out.try_clone().unwrap());
    command.stderr(err.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let Some(status) = ended(&mut child, within).await else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("the command does not end: {}", text(err));
    };
    Outcome {
        code: status.code(),
        out: text(out),
        err: text(err),
    }
}

/// How the process ended, if it did in that time.
pub(super) async fn ended(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < within {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        tokio::time::sleep(LOOK).await;
    }
    None
}

/// All of a file, whatever was read or written last.
fn text(mut file: File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

/// The program with these settings and none of whoever runs the tests. `setpriv` becomes the program; should the tests
/// be killed, the system kills it too.
pub(super) fn command(folder: &Path, settings: &[(String, String)]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]);
    command.arg(env!("CARGO_BIN_EXE_callwright"));
    let variables = std::env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| is_setting(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.envs(settings.iter().map(|(name, value)| (name, value)));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn is_setting(name: &str) -> bool {
    name.to_uppercase().starts_with("CALLWRIGHT__")
}
