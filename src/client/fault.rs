//! What can go wrong between a client and the service.

use tonic::{Code, Status};

/// The service answered Start with something else than success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value}: {message}")]
pub struct Refusal {
    /// The error value of `operation-result`, for example `invalid-token`.
    pub value: String,
    /// What the service says about it in plain words.
    pub message: String,
}

/// Why a call could not be opened or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum ClientFault {
    /// The server address is not `host:port`.
    #[error(
        "`{0}` is no server address: it should look like host:port, for example localhost:8443"
    )]
    BadAddress(String),
    /// The file of certificate authorities holds no certificate.
    #[error("no PEM certificate of an authority was found in it: {0}")]
    BadAuthority(String),
    /// Nothing answers at the address, or its certificate is not trusted.
    #[error("cannot reach {server}: {reason}")]
    Unreachable {
        /// The address tried.
        server: String,
        /// The innermost cause.
        reason: String,
    },
    /// The service does not accept this call.
    #[error("refused, {0}")]
    Refused(#[from] Refusal),
    /// The server did not answer within the time allowed.
    #[error("{server} did not answer {what} within {seconds} s")]
    Silent {
        /// The address tried.
        server: String,
        /// What was waited for.
        what: &'static str,
        /// How long, in seconds.
        seconds: u64,
    },
    /// The call ended with a status other than OK.
    #[error("the call ended with {}: {}", code_name(.0.code()), .0.message())]
    Ended(#[source] Box<Status>),
    /// The service sent something that is outside the protocol.
    #[error("the server sent something unexpected: {0}")]
    Unexpected(String),
}

impl From<Status> for ClientFault {
    fn from(status: Status) -> Self {
        Self::Ended(Box::new(status))
    }
}

/// The name of a gRPC status as the gRPC documentation writes it, for example `RESOURCE_EXHAUSTED`.
#[must_use]
pub const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// The innermost cause of `error`: connection errors wrap it several times and say nothing themselves.
#[must_use]
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
