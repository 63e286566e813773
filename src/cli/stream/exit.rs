//! How `stream` fails, and the exit code for it: those of `sysexits.h`, so that scripts can tell the cases apart.

use std::io;
use std::path::PathBuf;

use tonic::Code;

use crate::cli::server::ServerFault;
use crate::client::fault::ClientFault;
use crate::client::token::TokenFault;
use crate::client::wav::FileFault;

/// The command line does not say what is needed.
pub(in crate::cli) const USAGE: u8 = 64;
/// The input is not what it should be.
const DATA: u8 = 65;
/// The input is not there.
const NO_INPUT: u8 = 66;
/// The server cannot be reached.
pub(in crate::cli) const UNAVAILABLE: u8 = 69;
/// Something in the program itself.
pub(in crate::cli) const SOFTWARE: u8 = 70;
/// Files cannot be read or written.
pub(in crate::cli) const IO: u8 = 74;
/// The server broke off, or does not speak the protocol.
const PROTOCOL: u8 = 76;
/// The server refused.
const REFUSED: u8 = 77;
/// What a shell gives for a program ended by Ctrl-C: 128 and the number of SIGINT.
const INTERRUPTED: u8 = 130;

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
            Self::Read(_) => IO,
            Self::Server(fault) => of_server(fault),
            Self::Call(fault) => of_client(fault),
            Self::Cut | Self::Stuck(_) | Self::NoEnd(_) => PROTOCOL,
            Self::Interrupted => INTERRUPTED,
        }
    }
}

fn of_file(fault: &FileFault) -> u8 {
    match fault {
        FileFault::Read(fault) if fault.kind() == io::ErrorKind::NotFound => NO_INPUT,
        FileFault::Read(_) => IO,
        FileFault::Wav(_) | FileFault::HeadTooLong | FileFault::Empty => DATA,
    }
}

/// The exit code of a command that does not know its server.
pub(in crate::cli) fn of_server(fault: &ServerFault) -> u8 {
    match fault {
        ServerFault::NoServer { .. } | ServerFault::NoAuthority { .. } | ServerFault::NoSecret => {
            USAGE
        }
        ServerFault::Address(fault) => of_client(fault),
        ServerFault::Token(TokenFault::Unreachable { .. }) => UNAVAILABLE,
        ServerFault::Token(TokenFault::Refused(_)) => REFUSED,
        ServerFault::Token(TokenFault::Unexpected { .. }) => PROTOCOL,
    }
}

/// The exit code of a command whose call failed.
pub(in crate::cli) fn of_client(fault: &ClientFault) -> u8 {
    match fault {
        ClientFault::BadAddress(_) | ClientFault::BadAuthority(_) => USAGE,
        ClientFault::Unreachable { .. } | ClientFault::Silent { .. } => UNAVAILABLE,
        ClientFault::Refused(_) => REFUSED,
        ClientFault::Unexpected(_) => PROTOCOL,
        ClientFault::Ended(status) => match status.code() {
            Code::Unavailable => UNAVAILABLE,
            Code::Unauthenticated | Code::PermissionDenied => REFUSED,
            _ => PROTOCOL,
        },
    }
}
