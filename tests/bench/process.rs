//! Processes pinned to a core, and what the kernel says they cost.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Fault;

/// The core of the server.
pub(crate) const SERVER_CORE: &str = "0";
/// The core of the load, and of this program.
pub(crate) const LOAD_CORE: &str = "1";
/// How long a process may take to end after it was asked to.
const END_DEADLINE: Duration = Duration::from_secs(40);

/// `program`, to be run on one core.
pub(crate) fn pinned(core: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core]).arg(program).stdin(Stdio::null());
    command
}

/// A server, ended with the value that owns it.
pub(crate) struct Server {
    child: Child,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Fault> {
        let child = command
            .spawn()
            .map_err(|fault| format!("{:?} does not start: {fault}", command.get_program()))?;
        Ok(Self { child })
    }

    /// `taskset` becomes the program it starts, so its process is the server's.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stdout(&mut self) -> Result<std::process::ChildStdout, Fault> {
        self.child
            .stdout
            .take()
            .ok_or_else(|| "the server's output is not piped".into())
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to end, as an operator would, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<(), Fault> {
        Command::new("kill").arg(self.pid().to_string()).status()?;
        let deadline = Instant::now() + END_DEADLINE;
        while self.runs() {
            if Instant::now() > deadline {
                return Err("the server did not end".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time of all threads of a process so far, user and kernel, to the nanosecond.
///
/// `stat` counts in ticks of 10 ms; `schedstat` is what the scheduler itself measures.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration, Fault> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that ended since takes its time with it; servers here keep theirs.
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
            continue;
        };
        let ran: u64 = text.split_whitespace().next().unwrap_or_default().parse()?;
        nanos += ran;
    }
    Ok(Duration::from_nanos(nanos))
}

/// Resident memory of a process, in KiB.
pub(crate) fn resident_kib(pid: u32) -> Result<f64, Fault> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = std::fs::read_to_string(Path::new(&path))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let size = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("no Rss in smaps_rollup")?;
    Ok(size.parse()?)
}
