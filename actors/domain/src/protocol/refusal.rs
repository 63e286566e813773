//! Why a request is not accepted, and why a session ends.

/// The error values of `operation-result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorValue {
    /// Not JSON, a field missing or of the wrong type.
    InvalidRequest,
    /// Rate, channels or encoding outside what is supported.
    UnsupportedAudio,
    /// Absent, malformed, badly signed, expired, of another issuer or audience, or without the scope.
    InvalidToken,
    /// The token is another tenant's.
    TenantMismatch,
    /// No such flow project for the tenant.
    ProjectNotFound,
    /// Anything but Start came first.
    NotStarted,
    /// No first message in time.
    StartTimeout,
    /// The tenant or the server is full.
    CapacityExceeded,
    /// The server is shutting down.
    Draining,
    /// A part that the answer depends on (identity, store) cannot be reached now.
    ServiceUnavailable,
    /// A second Start.
    AlreadyStarted,
    /// A request that nobody knows.
    UnknownRequest,
}

impl ErrorValue {
    /// Every error value.
    pub const ALL: [Self; 12] = [
        Self::InvalidRequest,
        Self::UnsupportedAudio,
        Self::InvalidToken,
        Self::TenantMismatch,
        Self::ProjectNotFound,
        Self::NotStarted,
        Self::StartTimeout,
        Self::CapacityExceeded,
        Self::Draining,
        Self::ServiceUnavailable,
        Self::AlreadyStarted,
        Self::UnknownRequest,
    ];

    /// The value on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid-request",
            Self::UnsupportedAudio => "unsupported-audio",
            Self::InvalidToken => "invalid-token",
            Self::TenantMismatch => "tenant-mismatch",
            Self::ProjectNotFound => "project-not-found",
            Self::NotStarted => "not-started",
            Self::StartTimeout => "start-timeout",
            Self::CapacityExceeded => "capacity-exceeded",
            Self::Draining => "draining",
            Self::ServiceUnavailable => "service-unavailable",
            Self::AlreadyStarted => "already-started",
            Self::UnknownRequest => "unknown-request",
        }
    }
}

/// A request not accepted: the error value, and why in plain words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", value.as_str())]
pub struct Refusal {
    /// The error value.
    pub value: ErrorValue,
    /// What is wrong, for people; names the field where there is one.
    pub message: String,
    /// When to try again, in milliseconds from now.
    pub retry_after_msec: Option<u64>,
}

impl Refusal {
    /// A refusal with no time to try again.
    #[must_use]
    pub fn new(value: ErrorValue, message: impl Into<String>) -> Self {
        Self {
            value,
            message: message.into(),
            retry_after_msec: None,
        }
    }

    /// The same refusal with when to try again, in milliseconds.
    #[must_use]
    pub const fn retry_after(mut self, msec: u64) -> Self {
        self.retry_after_msec = Some(msec);
        self
    }
}

/// Why a session ended: the `Reason` of `Session Ended`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// The client sent Finalize.
    Finalized,
    /// The client closed its side.
    HalfClosed,
    /// The client sent Stop.
    Stopped,
    /// The client reset the call or its connection was lost.
    ClientGone,
    /// Nothing came over the wire for too long.
    SilenceTimeout,
    /// The session was over its maximum length.
    MaximumDuration,
    /// A message was over the limit.
    MessageTooLarge,
    /// The client did not read its events.
    SlowReader,
    /// The client broke the protocol.
    ProtocolError,
    /// A node whose policy is `end` failed.
    NodeFault,
    /// An operator ended it.
    EndedByOperator,
    /// The server shut down.
    ServerDraining,
    /// The service failed.
    InternalError,
}

impl EndReason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::Finalized,
        Self::HalfClosed,
        Self::Stopped,
        Self::ClientGone,
        Self::SilenceTimeout,
        Self::MaximumDuration,
        Self::MessageTooLarge,
        Self::SlowReader,
        Self::ProtocolError,
        Self::NodeFault,
        Self::EndedByOperator,
        Self::ServerDraining,
        Self::InternalError,
    ];

    /// The value on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finalized => "finalized",
            Self::HalfClosed => "half-closed",
            Self::Stopped => "stopped",
            Self::ClientGone => "client-gone",
            Self::SilenceTimeout => "silence-timeout",
            Self::MaximumDuration => "maximum-duration",
            Self::MessageTooLarge => "message-too-large",
            Self::SlowReader => "slow-reader",
            Self::ProtocolError => "protocol-error",
            Self::NodeFault => "node-fault",
            Self::EndedByOperator => "ended-by-operator",
            Self::ServerDraining => "server-draining",
            Self::InternalError => "internal-error",
        }
    }
}
