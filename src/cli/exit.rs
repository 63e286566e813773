//! How a run ends: the exit codes and the one sentence of a failure.

use std::io::Write as _;
use std::process::ExitCode;

use crate::config::Faults;

/// It was tried and went wrong; something else will not help.
pub const FAILED: u8 = 1;
/// The settings are at fault. `EX_USAGE` of sysexits.h.
pub const SETTINGS: u8 = 64;
/// The input is not what it should be. `EX_DATAERR`.
pub const DATA: u8 = 65;
/// The input is not there. `EX_NOINPUT`.
pub const NO_INPUT: u8 = 66;
/// Something needed does not answer: a server, a database, the network. `EX_UNAVAILABLE`.
pub const UNAVAILABLE: u8 = 69;
/// A file, a folder or a listener cannot be made. `EX_CANTCREAT`.
pub const CANNOT_CREATE: u8 = 73;
/// A file or the output cannot be read or written. `EX_IOERR`.
pub const IO: u8 = 74;
/// The other side broke off, or does not speak the protocol. `EX_PROTOCOL`.
pub const PROTOCOL: u8 = 76;
/// The other side refused. `EX_NOPERM`.
pub const REFUSED: u8 = 77;
/// Ctrl-C: 128 and the number of SIGINT, as shells give it.
pub const INTERRUPTED: u8 = 130;

/// Why a subcommand failed. Code 2, a command line that cannot be read, is clap's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Failure {
    /// One of the codes of this module.
    pub code: u8,
    /// What went wrong and what to do, in plain words, for stderr. Never holds a secret. Empty: all is said already.
    pub sentence: String,
}

impl Failure {
    /// It went wrong: [`FAILED`].
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self {
            code: FAILED,
            sentence: sentence.into(),
        }
    }

    /// Something needed does not answer: [`UNAVAILABLE`].
    pub fn unavailable(sentence: impl Into<String>) -> Self {
        Self {
            code: UNAVAILABLE,
            sentence: sentence.into(),
        }
    }

    /// Something cannot be made: [`CANNOT_CREATE`].
    pub fn cannot_create(sentence: impl Into<String>) -> Self {
        Self {
            code: CANNOT_CREATE,
            sentence: sentence.into(),
        }
    }

    /// The other side said no: [`REFUSED`].
    pub fn refused(sentence: impl Into<String>) -> Self {
        Self {
            code: REFUSED,
            sentence: sentence.into(),
        }
    }

    /// It failed, and the output already says how.
    #[must_use]
    pub fn silent() -> Self {
        Self::failed("")
    }

    /// Writes the sentence to stderr and gives the code.
    #[must_use]
    pub(super) fn tell(&self) -> ExitCode {
        if !self.sentence.is_empty() {
            // With stderr gone nobody is left to tell; the code still says it.
            _ = writeln!(std::io::stderr(), "callwright: {}", self.sentence);
        }
        ExitCode::from(self.code)
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        Self {
            code: SETTINGS,
            sentence: faults.to_string(),
        }
    }
}
