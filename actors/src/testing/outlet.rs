//! An outlet that keeps what it is given.

use std::sync::{Arc, Mutex, MutexGuard};

use callwright_domain::event::Event;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::session::{Crowded, Outgoing, Outlet, OutletFault, Verdict};

#[derive(Default)]
struct Kept {
    messages: Vec<Outgoing>,
    verdict: Option<(Verdict, Instant)>,
    room: Option<usize>,
    gone: bool,
    behind: bool,
}

/// What a client would have got.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    kept: Arc<Mutex<Kept>>,
    closed: Arc<Notify>,
}

impl Heard {
    /// Takes no more than `room` messages, as if the client did not read.
    pub(crate) fn reading_only(room: usize) -> Self {
        let heard = Self::default();
        heard.lock().room = Some(room);
        heard
    }

    /// The client falls behind with its reading, or catches up.
    pub(crate) fn fall_behind(&self, behind: bool) {
        self.lock().behind = behind;
    }

    /// The client goes away.
    pub(crate) fn leave(&self) {
        self.lock().gone = true;
    }

    /// Waits for the verdict; gives it with the time at which it came.
    pub(crate) async fn verdict(&self) -> (Verdict, Instant) {
        loop {
            let closed = self.closed.notified();
            if let Some(verdict) = self.lock().verdict.clone() {
                return verdict;
            }
            closed.await;
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().verdict.is_some()
    }

    /// The events, without the last one, which the verdict holds.
    pub(crate) fn events(&self) -> Vec<Event> {
        let parse = |json: &str| {
            let envelope: Value = serde_json::from_str(json).unwrap();
            serde_json::from_value(envelope["Event"].clone()).unwrap()
        };
        let messages = self.lock();
        messages
            .messages
            .iter()
            .filter_map(|message| match message {
                Outgoing::Event(json) => Some(parse(json)),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn named(&self, name: &str) -> Vec<Event> {
        let mut events = self.events();
        events.retain(|event| event.name == name);
        events
    }

    /// Name and result of each response.
    pub(crate) fn responses(&self) -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        self.lock()
            .messages
            .iter()
            .filter_map(|message| match message {
                Outgoing::Response(json) => Some(serde_json::from_str::<Value>(json).unwrap()),
                _ => None,
            })
            .map(|response| {
                (
                    word(&response["MessageName"]),
                    word(&response["operation-result"]),
                )
            })
            .collect()
    }

    pub(crate) fn audio(&self) -> Vec<u8> {
        self.lock()
            .messages
            .iter()
            .filter_map(|message| match message {
                Outgoing::Audio(audio) => Some(audio.to_vec()),
                _ => None,
            })
            .flatten()
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }
}

impl Outlet for Heard {
    fn give(&mut self, message: Outgoing) -> Result<(), OutletFault> {
        let mut kept = self.lock();
        if kept.gone {
            return Err(OutletFault::Closed);
        }
        if kept.room.is_some_and(|room| kept.messages.len() >= room) {
            return Err(OutletFault::Full);
        }
        kept.messages.push(message);
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.lock().gone
    }

    fn crowded(&self) -> Crowded {
        let heard = self.clone();
        Box::new(move || heard.lock().behind)
    }

    fn close(self: Box<Self>, verdict: Verdict) {
        let mut kept = self.lock();
        assert!(kept.verdict.is_none(), "closed twice");
        kept.verdict = Some((verdict, Instant::now()));
        drop(kept);
        self.closed.notify_one();
    }
}
