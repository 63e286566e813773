//! Keeps one session from holding up its neighbours on the same thread.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;

use super::messages::Inbound;

/// Longest stretch of audio handled in one go, in milliseconds. The dearest flow needs about 2 µs for each of them.
const STRETCH_MSEC: u64 = 100;
/// Stretches handled before the neighbours have their turn.
const TURN: u32 = 4;

/// Cuts large messages into stretches and gives the thread away after a few of them.
pub(super) struct Paced {
    inner: Pin<Box<dyn Stream<Item = Inbound> + Send>>,
    rest: Bytes,
    stretch: usize,
    taken: u32,
    /// There while the neighbours have their turn.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Paced {
    /// `bytes_per_second` is that of the call's audio.
    pub(super) fn new(
        inner: Pin<Box<dyn Stream<Item = Inbound> + Send>>,
        bytes_per_second: u64,
    ) -> Self {
        let stretch =
            usize::try_from(bytes_per_second * STRETCH_MSEC / 1_000).unwrap_or(usize::MAX);
        Self {
            inner,
            rest: Bytes::new(),
            stretch: stretch.max(1),
            taken: 0,
            pause: None,
        }
    }

    /// Lets everything else on the thread run. To wake oneself is not enough: actors share the thread with the tasks that
    /// carry connections, and come round dozens of times before one of those does. A client that reads would then look
    /// like one that does not, because what it is told never left the queue.
    fn pausing(&mut self, task: &mut Context<'_>) -> Poll<()> {
        if self.taken >= TURN {
            self.taken = 0;
            self.pause = Some(Box::pin(tokio::task::yield_now()));
        }
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(task));
            self.pause = None;
        }
        Poll::Ready(())
    }

    fn cut(&mut self) -> Bytes {
        let end = self.stretch.min(self.rest.len());
        self.rest.split_to(end)
    }
}

impl Stream for Paced {
    type Item = Inbound;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Inbound>> {
        std::task::ready!(self.pausing(task));
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
