//! The way out of a session: what it gives to the edge that carries it.

use bytes::Bytes;

use super::exit::Verdict;

/// One message to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// JSON of an event.
    Event(String),
    /// JSON of a response.
    Response(String),
    /// Audio in the output encoding of the session.
    Audio(Bytes),
}

/// Why a message could not be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutletFault {
    /// The client does not read what is already waiting.
    #[error("the client does not read")]
    Full,
    /// The client is gone.
    #[error("the client is gone")]
    Closed,
}

/// Tells whether more than half of a client's queue is taken; may be asked from anywhere, at any time.
pub type Crowded = Box<dyn Fn() -> bool + Send>;

/// Carries messages to one client through a bounded queue.
pub trait Outlet: Send {
    /// Gives a message. Never blocks.
    ///
    /// # Errors
    /// [`OutletFault`] when the queue is full or nobody is there.
    fn give(&mut self, message: Outgoing) -> Result<(), OutletFault>;

    /// Whether nobody is there any more.
    fn is_closed(&self) -> bool;

    /// What tells whether the client falls behind, so that no more is taken from it until it has caught up.
    fn crowded(&self) -> Crowded;

    /// Ends the stream: after what is queued, the verdict's last event and its status.
    fn close(self: Box<Self>, verdict: Verdict);
}
