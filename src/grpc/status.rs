//! gRPC statuses for what the core says.

use callwright_actors::session::Verdict;
use callwright_domain::protocol::{EndReason, ErrorValue, Refusal};
use tonic::{Code, Status};

/// The trailer that says when to try again, in milliseconds.
const RETRY_AFTER: &str = "retry-after-ms";

const fn code_of_error(value: ErrorValue) -> Code {
    match value {
        ErrorValue::InvalidRequest | ErrorValue::UnsupportedAudio | ErrorValue::UnknownRequest => {
            Code::InvalidArgument
        }
        ErrorValue::InvalidToken => Code::Unauthenticated,
        ErrorValue::TenantMismatch => Code::PermissionDenied,
        ErrorValue::ProjectNotFound => Code::NotFound,
        ErrorValue::NotStarted | ErrorValue::AlreadyStarted => Code::FailedPrecondition,
        ErrorValue::StartTimeout => Code::DeadlineExceeded,
        ErrorValue::CapacityExceeded => Code::ResourceExhausted,
        ErrorValue::Draining | ErrorValue::ServiceUnavailable => Code::Unavailable,
    }
}

const fn code_of_end(reason: EndReason) -> Code {
    match reason {
        EndReason::Finalized | EndReason::HalfClosed | EndReason::Stopped => Code::Ok,
        EndReason::ClientGone => Code::Cancelled,
        EndReason::SilenceTimeout | EndReason::MaximumDuration => Code::DeadlineExceeded,
        EndReason::MessageTooLarge | EndReason::SlowReader => Code::ResourceExhausted,
        EndReason::ProtocolError => Code::InvalidArgument,
        EndReason::NodeFault | EndReason::InternalError => Code::Internal,
        EndReason::EndedByOperator => Code::Aborted,
        EndReason::ServerDraining => Code::Unavailable,
    }
}

/// The status of a stream that never became a session.
pub(super) fn of_refusal(refusal: &Refusal) -> Status {
    let mut status = Status::new(code_of_error(refusal.value), refusal.to_string());
    if let Some(msec) = refusal.retry_after_msec
        && let Ok(value) = msec.to_string().parse()
    {
        status.metadata_mut().insert(RETRY_AFTER, value);
    }
    status
}

/// The status of a session that ended; none for one that ended as it should.
pub(super) fn of_verdict(verdict: &Verdict) -> Option<Status> {
    let code = code_of_end(verdict.reason);
    let message = if verdict.message.is_empty() {
        verdict.reason.as_str().to_owned()
    } else {
        format!("{}: {}", verdict.reason.as_str(), verdict.message)
    };
    (code != Code::Ok).then(|| Status::new(code, message))
}
