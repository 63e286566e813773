//! What a session hears: from its stream, from operators, from its nodes.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use bytes::Bytes;
use callwright_domain::event::Event;
use callwright_domain::flow::NodeStatus;
use callwright_domain::protocol::EndReason;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// One message from the client.
#[derive(Debug)]
pub enum Inbound {
    /// Call audio.
    Audio(Bytes),
    /// JSON of a request.
    Request(String),
    /// JSON of an event.
    Event(String),
    /// A message that means nothing; the text says why.
    Unusable(String),
    /// The stream cannot go on.
    Fault(InboundFault),
}

/// Why a stream cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InboundFault {
    /// A message was over the limit.
    #[error("{0}")]
    TooLarge(String),
    /// The message breaks the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The client did not read what it was told.
    #[error("{0}")]
    Unread(String),
    /// The connection was lost.
    #[error("{0}")]
    Lost(String),
}

/// Ends the session; nodes still say what they have.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct EndSession {
    /// Why.
    pub reason: EndReason,
    /// In plain words, for the client.
    pub message: String,
    /// How long nodes may take to finish, where that is less than the session's own limit; it also cuts short a session
    /// that finishes already.
    pub within: Option<Duration>,
}

/// Tells the client that the server is going away.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct NoticeDraining {
    /// How long the session may go on, in milliseconds.
    pub deadline_msec: u64,
}

/// What each node of the session is doing.
#[derive(Debug, Message)]
#[rtype(result = "Vec<NodeStatus>")]
pub struct DescribeNodes;

/// Sends a copy of every event from now on; a watcher that does not keep up is let go.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct WatchEvents {
    /// Where to.
    pub to: mpsc::Sender<Arc<Event>>,
}

/// Acts on the deadline that is due, or gives the next one.
#[derive(Message)]
#[rtype(result = "Option<Instant>")]
pub(super) struct LookAtDeadlines;

/// The result of work that a node started outside the flow.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct NodeSignal {
    pub(crate) node: usize,
    pub(crate) result: Box<dyn Any + Send>,
}
