//! The way a session ends: one last event and one status, whatever happens.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use callwright_domain::event::{Event, names};
use callwright_domain::protocol::EndReason;
use tokio::time::Instant;

use super::outlet::Outlet;
use crate::directory::Listed;

/// How a session ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Why.
    pub reason: EndReason,
    /// In plain words.
    pub message: String,
    /// `Session Ended`.
    pub last_event: Arc<Event>,
    /// When set, the client is not reading: cut the stream off if it has not read the rest by then.
    pub cut_after: Option<Duration>,
}

/// Holds the outlet until the session ends, and closes it with a verdict even when the session panics.
pub(super) struct Exit {
    outlet: Option<Box<dyn Outlet>>,
    listed: Listed,
    began: Instant,
    /// Milliseconds of call audio heard.
    pub(super) audio_msec: u64,
}

impl Exit {
    pub(super) fn new(outlet: Box<dyn Outlet>, listed: Listed) -> Self {
        Self {
            outlet: Some(outlet),
            listed,
            began: Instant::now(),
            audio_msec: 0,
        }
    }

    pub(super) fn outlet(&mut self) -> Option<&mut (dyn Outlet + 'static)> {
        self.outlet.as_deref_mut()
    }

    pub(super) fn listed(&self) -> &Listed {
        &self.listed
    }

    pub(super) fn is_closed(&self) -> bool {
        self.outlet.is_none()
    }

    /// Ends the stream; the first call decides.
    pub(super) fn close(
        &mut self,
        reason: EndReason,
        message: &str,
        cut_after: Option<Duration>,
    ) -> Option<Arc<Event>> {
        let outlet = self.outlet.take()?;
        let last_event = Arc::new(self.last_event(reason, message));
        tracing::info!(
            session = %self.listed.session.id,
            tenant = %self.listed.session.tenant,
            reason = reason.as_str(),
            message,
            audio.msec = self.audio_msec,
            "session ended"
        );
        outlet.close(Verdict {
            reason,
            message: message.to_owned(),
            last_event: Arc::clone(&last_event),
            cut_after,
        });
        Some(last_event)
    }

    fn last_event(&self, reason: EndReason, message: &str) -> Event {
        let live = &self.listed.session;
        // The last event counts itself.
        let events = live.events_sent.fetch_add(1, Ordering::Relaxed) + 1;
        let mut event = Event::new(names::SESSION_ENDED)
            .with("Reason", reason.as_str())
            .with("AudioMsec", self.audio_msec)
            .with("AudioBytes", live.audio_bytes.load(Ordering::Relaxed))
            .with("EventsSent", events)
            .with(
                "DurationMsec",
                u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            );
        if !message.is_empty() {
            event = event.with("Message", message);
        }
        event
    }
}

impl Drop for Exit {
    fn drop(&mut self) {
        if self
            .close(
                EndReason::InternalError,
                "the session failed inside the service",
                None,
            )
            .is_some()
        {
            tracing::error!(session = %self.listed.session.id, "a session was dropped before it ended");
        }
    }
}
