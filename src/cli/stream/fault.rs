//! How `stream` fails, and the exit code for it, so that scripts can tell the cases apart.

use std::io;
use std::path::PathBuf;

use crate::cli::exit;
use crate::cli::server::{ServerFault, call_exit_code};
use crate::client::fault::ClientFault;
use crate::client::wav::FileFault;

/// Why a file was not streamed to its end.
#[derive(Debug, thiserror::Error)]
pub enum StreamFault {
    /// The file cannot be opened, or is no WAV file that can be sent.
    #[error("{}: {fault}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// The file broke off while it was read.
    #[error("the file cannot be read on: {0}")]
    Read(#[from] io::Error),
    /// It is not known which server, or as whom.
    #[error(transparent)]
    Server(#[from] ServerFault),
    /// The call could not be opened or did not end well.
    #[error(transparent)]
    Call(#[from] ClientFault),
    /// The server ended the call before the whole file was sent.
    #[error("the server ended the call before the end of the file")]
    Cut,
    /// The server takes no more audio, for so many seconds.
    #[error("the server took no audio for {0} s")]
    Stuck(u64),
    /// The server does not end the call, for so many seconds.
    #[error("the server did not end the call within {0} s of the end of the file")]
    NoEnd(u64),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl StreamFault {
    /// The exit code of the process: 77 refused, 69 unreachable, 65 a bad file, 66 no such file, 130 Ctrl-C,
    /// 64 something missing on the command line, 74 a file that cannot be read, 76 a call that broke off.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File { fault, .. } => of_file(fault),
            Self::Read(_) => exit::IO,
            Self::Server(fault) => fault.exit_code(),
            Self::Call(fault) => call_exit_code(fault),
            Self::Cut | Self::Stuck(_) | Self::NoEnd(_) => exit::PROTOCOL,
            Self::Interrupted => exit::INTERRUPTED,
        }
    }
}

fn of_file(fault: &FileFault) -> u8 {
    match fault {
        FileFault::Read(fault) if fault.kind() == io::ErrorKind::NotFound => exit::NO_INPUT,
        FileFault::Read(_) => exit::IO,
        FileFault::Wav(_) | FileFault::HeadTooLong | FileFault::Empty => exit::DATA,
    }
}
