//! Keeps one session from holding up its neighbours on the same thread, and a client's audio from outrunning its reading.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, sleep};

use super::messages::{Inbound, InboundFault};
use super::outlet::Crowded;

/// Longest stretch of audio handled in one go, in milliseconds. The dearest flow needs about 2 µs for each of them.
const STRETCH_MSEC: u64 = 100;
/// Stretches handled before the neighbours have their turn.
const TURN: u32 = 4;

/// How often it is looked whether a client has caught up: well below the 20 ms of a chunk.
const LOOK: Duration = Duration::from_millis(5);

/// How long a client may fall behind. While it does nothing more is taken from it, and flow control holds it back: one
/// that sends faster than it reads is slowed, not ended.
pub(super) struct Patience {
    crowded: Crowded,
    longest: Duration,
    since: Option<Instant>,
}

impl Patience {
    pub(super) fn new(crowded: Crowded, longest: Duration) -> Self {
        Self {
            crowded,
            longest,
            since: None,
        }
    }

    /// Whether the client is behind now; the fault once it has been for too long.
    fn look(&mut self) -> Result<bool, InboundFault> {
        if !(self.crowded)() {
            self.since = None;
            return Ok(false);
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < self.longest {
            return Ok(true);
        }
        self.since = None;
        let waited = self.longest.as_millis();
        Err(InboundFault::Unread(format!(
            "the client has not read its events for {waited} ms"
        )))
    }
}

/// Cuts large messages into stretches and gives the thread away after a few of them.
pub(super) struct Paced {
    inner: Pin<Box<dyn Stream<Item = Inbound> + Send>>,
    rest: Bytes,
    stretch: usize,
    taken: u32,
    /// There while the neighbours have their turn.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    patience: Patience,
}

impl Paced {
    /// `bytes_per_second` is that of the call's audio.
    pub(super) fn new(
        inner: Pin<Box<dyn Stream<Item = Inbound> + Send>>,
        bytes_per_second: u64,
        patience: Patience,
    ) -> Self {
        let stretch =
            usize::try_from(bytes_per_second * STRETCH_MSEC / 1_000).unwrap_or(usize::MAX);
        Self {
            inner,
            rest: Bytes::new(),
            stretch: stretch.max(1),
            taken: 0,
            pause: None,
            patience,
        }
    }

    /// Lets everything else on the thread run. To wake oneself is not enough: actors share the thread with the tasks that
    /// carry connections, and come round dozens of times before one of those does. A client that reads would then look
    /// like one that does not, because what it is told never left the queue.
    fn pausing(&mut self, task: &mut Context<'_>) -> Poll<Result<(), InboundFault>> {
        if self.taken >= TURN {
            self.taken = 0;
            self.pause = Some(Box::pin(tokio::task::yield_now()));
        }
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(task));
                self.pause = None;
            }
            match self.patience.look() {
                Ok(true) => self.pause = Some(Box::pin(sleep(LOOK))),
                Ok(false) => return Poll::Ready(Ok(())),
                Err(fault) => return Poll::Ready(Err(fault)),
            }
        }
    }

    fn cut(&mut self) -> Bytes {
        let end = self.stretch.min(self.rest.len());
        self.rest.split_to(end)
    }
}

impl Stream for Paced {
    type Item = Inbound;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Inbound>> {
        if let Err(fault) = std::task::ready!(self.pausing(task)) {
            return Poll::Ready(Some(Inbound::Fault(fault)));
        }
        if !self.rest.is_empty() {
            self.taken += 1;
            return Poll::Ready(Some(Inbound::Audio(self.cut())));
        }
        let next = self.inner.as_mut().poll_next(task);
        match next {
            Poll::Ready(Some(Inbound::Audio(audio))) if audio.len() > self.stretch => {
                self.rest = audio;
                self.taken += 1;
                Poll::Ready(Some(Inbound::Audio(self.cut())))
            }
            Poll::Ready(item) => {
                self.taken += 1;
                Poll::Ready(item)
            }
            Poll::Pending => {
                self.taken = 0;
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests;
