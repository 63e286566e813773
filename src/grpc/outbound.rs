//! The way from a session to its client: a bounded queue, then the last event and the status.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use callwright_actors::session::{Crowded, Outgoing, Outlet, OutletFault, Verdict};
use callwright_domain::protocol::{self, Refusal};
use callwright_proto::{ContentType, Message, StreamOutput};
use futures_util::Stream;
use tokio::sync::mpsc;
use tonic::Status;

use super::cut::Cut;
use super::status;

/// What follows the queue.
struct Ending {
    last: Option<StreamOutput>,
    status: Option<Status>,
}

/// The session's end of the queue.
pub(super) struct QueueOutlet {
    queue: mpsc::Sender<StreamOutput>,
    /// Messages in the queue. Kept beside it, because the session asks for it with each piece of audio.
    waiting: Arc<AtomicUsize>,
    ending: Arc<OnceLock<Ending>>,
    cut: Cut,
}

/// The client's end of the queue: the response stream of the call.
pub(super) struct Outbound {
    queue: mpsc::Receiver<StreamOutput>,
    waiting: Arc<AtomicUsize>,
    ending: Arc<OnceLock<Ending>>,
    /// What is still to be said once the queue is empty and closed.
    rest: Option<VecDeque<Result<StreamOutput, Status>>>,
}

/// A queue of `capacity` messages; full means that the client does not read.
pub(super) fn queue(capacity: usize, cut: Cut) -> (QueueOutlet, Outbound) {
    let (sender, receiver) = mpsc::channel(capacity);
    let ending = Arc::new(OnceLock::new());
    let waiting = Arc::new(AtomicUsize::new(0));
    let outlet = QueueOutlet {
        queue: sender,
        waiting: Arc::clone(&waiting),
        ending: Arc::clone(&ending),
        cut,
    };
    (
        outlet,
        Outbound {
            queue: receiver,
            waiting,
            ending,
            rest: None,
        },
    )
}

impl QueueOutlet {
    /// Ends a stream that never became a session: the answer to `request`, then the status.
    pub(super) fn refuse(self, request: &str, refusal: &Refusal) {
        metrics::counter!("callwright_streams_refused_total", "error" => refusal.value.as_str())
            .increment(1);
        let response = Outgoing::Response(protocol::refused(request, refusal));
        let ending = Ending {
            last: Some(wire(response)),
            status: Some(status::of_refusal(refusal)),
        };
        let _ = self.ending.set(ending);
    }
}

impl Outlet for QueueOutlet {
    fn give(&mut self, message: Outgoing) -> Result<(), OutletFault> {
        // Counted before it is there, so that the count never falls below nothing.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.queue.try_send(wire(message)).map_err(|fault| {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            match fault {
                mpsc::error::TrySendError::Full(_) => OutletFault::Full,
                mpsc::error::TrySendError::Closed(_) => OutletFault::Closed,
            }
        })
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn crowded(&self) -> Crowded {
        let (waiting, half) = (Arc::clone(&self.waiting), self.queue.max_capacity() / 2);
        Box::new(move || waiting.load(Ordering::Relaxed) > half)
    }

    fn close(self: Box<Self>, verdict: Verdict) {
        metrics::counter!("callwright_sessions_ended_total", "reason" => verdict.reason.as_str())
            .increment(1);
        let last = wire(Outgoing::Event(verdict.last_event.to_wire()));
        let ending = Ending {
            last: Some(last),
            status: status::of_verdict(&verdict),
        };
        let _ = self.ending.set(ending);
        if let Some(grace) = verdict.cut_after {
            let cut = self.cut.clone();
            tokio::spawn(async move {
                tokio::time::sleep(grace).await;
                cut.now();
            });
        }
    }
}

fn wire(message: Outgoing) -> StreamOutput {
    let (content, binary_content, content_type) = match message {
        Outgoing::Event(json) => (json, Bytes::new(), ContentType::Event),
        Outgoing::Response(json) => (json, Bytes::new(), ContentType::Response),
        Outgoing::Audio(audio) => (String::new(), audio, ContentType::Audio),
    };
    StreamOutput {
        message: Some(Message {
            content,
            binary_content,
            content_type: content_type.into(),
        }),
    }
}

impl Outbound {
    fn rest(&self) -> VecDeque<Result<StreamOutput, Status>> {
        match self.ending.get() {
            Some(ending) => {
                let last = ending.last.clone().map(Ok);
                last.into_iter()
                    .chain(ending.status.clone().map(Err))
                    .collect()
            }
            // Nobody closed the outlet: whoever held it is gone.
            None => VecDeque::from([Err(Status::internal(
                "the session failed inside the service",
            ))]),
        }
    }
}

impl Stream for Outbound {
    type Item = Result<StreamOutput, Status>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(rest) = &mut self.rest {
            return Poll::Ready(rest.pop_front());
        }
        match self.queue.poll_recv(task) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(message)) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                Poll::Ready(Some(Ok(message)))
            }
            Poll::Ready(None) => {
                let mut rest = self.rest();
                let next = rest.pop_front();
                self.rest = Some(rest);
                Poll::Ready(next)
            }
        }
    }
}
