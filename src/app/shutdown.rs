//! Shutting down without hurting a call.

use std::sync::Arc;
use std::time::Duration;

use callwright_actors::session::{EndSession, NoticeDraining};
use callwright_domain::protocol::EndReason;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::Service;
use crate::recordings::Folder;

/// Kept back from the drain time for saying goodbye and writing what is queued; less when the whole is short.
const RESERVE: Duration = Duration::from_secs(3);
/// How often it is looked whether the last session has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long connections may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
/// What recordings get at the least: they are whole on disk in a blink, unless the disk does not answer.
const LEAST_FOR_DISK: Duration = Duration::from_secs(1);

impl Service {
    /// Serves until SIGTERM, SIGINT or the drain switch, then drains: new streams are refused, live sessions are told and
    /// may end by themselves until the drain time is nearly over, then they are ended. A second signal ends them at once.
    pub async fn run(mut self) {
        let mut signals = std::mem::take(&mut self.signals);
        let mut switch = self.drain.subscribe();
        tokio::select! {
            name = signals.next() => tracing::info!(signal = name, "shutting down"),
            _ = switch.wait_for(|drain| *drain) => tracing::info!("draining, as asked"),
        }
        let whole = self.settings.service.drain_timeout;
        let begun = Instant::now();
        let reserve = RESERVE.min(whole / 3);
        self.directory.drain();
        self.streams.drain().await;
        self.tell(whole.saturating_sub(reserve));
        tokio::select! {
            () = self.emptied() => {}
            () = sleep(whole.saturating_sub(reserve)) => {}
            name = signals.next() => tracing::warn!(signal = name, "shutting down at once"),
        }
        self.end_all(reserve / 3);
        let _ = timeout(
            whole.saturating_sub(begun.elapsed()).min(reserve / 2),
            self.emptied(),
        )
        .await;
        let left = whole.saturating_sub(begun.elapsed());
        self.close(left.max(LEAST_FOR_DISK)).await;
    }

    fn tell(&self, left: Duration) {
        let deadline_msec = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        for listing in self.directory.listings() {
            listing.address.do_send(NoticeDraining { deadline_msec });
        }
    }

    /// Nodes get `within` for what they still have to say, so that every client is told before its connection goes.
    fn end_all(&self, within: Duration) {
        for listing in self.directory.listings() {
            listing.address.do_send(EndSession {
                reason: EndReason::ServerDraining,
                message: "the server is shutting down".to_owned(),
                within: Some(within),
            });
        }
    }

    async fn emptied(&self) {
        while self.directory.places_taken() > 0 {
            sleep(LOOK).await;
        }
    }

    /// The disk gets `left` for what is queued.
    async fn close(self, left: Duration) {
        self.stopping.send_replace(true);
        self.streams.stop(GOODBYE).await;
        self.doors.close().await;
        close_recordings(self.recordings, left).await;
        drop(self.folder);
        tracing::info!("stopped");
    }
}

/// On a thread of its own: a runtime would wait for ever for a disk that does not answer.
async fn close_recordings(recordings: Arc<Folder>, left: Duration) {
    let (done, closed) = oneshot::channel();
    let closing = std::thread::Builder::new().spawn(move || {
        recordings.close();
        // Nobody waits any more when the time is up.
        let _ = done.send(());
    });
    if closing.is_err() || !matches!(timeout(left, closed).await, Ok(Ok(()))) {
        tracing::error!("recordings were not closed: the disk does not take what is queued");
    }
}

/// The signals that end the service.
#[derive(Default)]
pub(super) struct Signals {
    term: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    pub(super) fn listen() -> Self {
        let listen = |kind| {
            signal(kind)
                .inspect_err(|fault| tracing::error!(%fault, "a signal cannot be listened to"))
                .ok()
        };
        Self {
            term: listen(SignalKind::terminate()),
            interrupt: listen(SignalKind::interrupt()),
        }
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            () = next(&mut self.term) => "SIGTERM",
            () = next(&mut self.interrupt) => "SIGINT",
        }
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
