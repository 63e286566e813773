//! What the tasks of a load test tell its pacer.

use bytes::Bytes;
use h2::SendStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::plan::Plan;

/// Room for two notices of every call besides these many: the pacer takes all there are each millisecond, and
/// a reader that finds no room waits, which costs only that its call reads later.
const SPARE: u64 = 4_096;

/// Something that happened to one call.
#[derive(Debug)]
pub(super) struct Notice {
    /// The call, counted from 0.
    pub(super) stream: u64,
    /// What happened.
    pub(super) what: What,
}

/// What happened to it.
#[derive(Debug)]
pub(super) enum What {
    /// The server accepted it; this is the way to the server.
    Opened(SendStream<Bytes>),
    /// The server answered Start with this error value.
    Refused(String),
    /// It could not be opened; a gRPC status name, or what was met below gRPC.
    Failed(String),
    /// The event `id` came back.
    Pong {
        /// Which event it was.
        id: u64,
        /// When it was read.
        at: Instant,
    },
    /// Another event, a response, or audio came.
    Other,
    /// It ended with this gRPC status name, or what was met below gRPC.
    Ended(String),
}

/// Where the pacer reads.
pub(super) type Inbox = mpsc::Receiver<Notice>;
/// Where the tasks write.
pub(super) type Notices = mpsc::Sender<Notice>;

/// A queue long enough for `plan`.
pub(super) fn channel(plan: &Plan) -> (Notices, Inbox) {
    let room = plan
        .streams
        .saturating_mul(2)
        .saturating_add(SPARE)
        .min(1 << 20);
    mpsc::channel(usize::try_from(room).unwrap_or(1 << 20))
}
