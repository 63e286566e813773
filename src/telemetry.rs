//! Starts what the whole process shares: the log, and the one provider of cryptography.

use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// Lines that may wait to be written. A reader of the log that has stopped reading costs lines, never calls.
const QUEUE: usize = 8_192;

/// Writes what still waits when it is dropped.
static WRITER: Mutex<Option<WorkerGuard>> = Mutex::new(None);

/// Why logging did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The level is neither a level nor a list of directives.
    #[error("log.level cannot be read: {0}")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    /// Logging was started before.
    #[error("the log cannot be started: {0}")]
    Taken(#[from] tracing_subscriber::util::TryInitError),
}

/// Sends log lines to stderr, so that stdout holds nothing but results. A thread of its own writes them: no call ever waits
/// for whoever reads the log. [`finish`] writes the last of them.
///
/// # Errors
/// [`Error`] when the level cannot be read, or a log is running already.
pub fn start(settings: &LogSettings) -> Result<(), Error> {
    use tracing_subscriber::util::SubscriberInitExt as _;
    let filter = EnvFilter::try_new(&settings.level)?;
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(QUEUE)
        .lossy(true)
        .finish(std::io::stderr());
    *WRITER.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer);
    match settings.format {
        LogFormat::Text => lines
            .with_ansi(std::io::stderr().is_terminal())
            .finish()
            .try_init()?,
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_ansi(false)
            .finish()
            .try_init()?,
    }
    Ok(())
}

/// Writes the lines that still wait; the last thing of a process. What is logged after it is lost.
pub fn finish() {
    drop(WRITER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Makes aws-lc-rs the provider of every TLS connection of the process. More than one call does no harm.
pub fn install_crypto() {
    // An error only means that a provider is installed; none but this one is compiled in.
    _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
