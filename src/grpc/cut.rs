//! Cutting one stream off without its connection.
//!
//! A client that never reads keeps the transport from asking for more of the response, so no status can end its stream. Each
//! stream runs as a task of its own; ending the task resets the stream and leaves its neighbours alone.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use tokio::task::AbortHandle;

tokio::task_local! {
    static CURRENT: Cut;
}

/// Cuts off the stream that it was taken from.
#[derive(Debug, Clone, Default)]
pub(super) struct Cut(Arc<OnceLock<AbortHandle>>);

impl Cut {
    /// The cut of the stream whose task this runs in.
    pub(super) fn current() -> Self {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    /// Resets the stream; nothing happens when it has ended.
    pub(super) fn now(&self) {
        if let Some(task) = self.0.get() {
            task.abort();
        }
    }
}

/// Runs the streams of a connection on the current thread, each with its cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streams;

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let cut = Cut::default();
        let task = tokio::spawn(CURRENT.scope(cut.clone(), stream));
        // Set before the task first runs: both are on this thread.
        let _ = cut.0.set(task.abort_handle());
    }
}
