//! One call as the pacer sees it: what it owes the server.

use std::collections::VecDeque;

use bytes::Bytes;
use h2::SendStream;

/// Events that may wait for flow control on one call. Beyond it they count as lost: a server that takes nothing
/// for a minute does not have to be told a minute's events afterwards.
const HELD_EVENTS: usize = 64;

/// One call.
#[derive(Default)]
pub(super) struct Lane {
    uplink: Option<SendStream<Bytes>>,
    /// Chunks that are due and not sent.
    pub(super) owed_chunks: u64,
    /// Events that are due and not sent.
    pub(super) owed_events: VecDeque<u64>,
    /// One more than the highest event that came back.
    next_pong: u64,
}

impl Lane {
    pub(super) fn open(&mut self, uplink: SendStream<Bytes>) {
        self.uplink = Some(uplink);
    }

    pub(super) fn close(&mut self) -> bool {
        self.owed_chunks = 0;
        self.owed_events.clear();
        self.uplink.take().is_some()
    }

    pub(super) const fn is_live(&self) -> bool {
        self.uplink.is_some()
    }

    pub(super) fn owe_event(&mut self, id: u64) {
        if self.owed_events.len() < HELD_EVENTS {
            self.owed_events.push_back(id);
        }
    }

    /// Sends `message` if flow control lets it pass now.
    pub(super) fn try_send(&mut self, message: &Bytes) -> bool {
        let Some(uplink) = &mut self.uplink else {
            return false;
        };
        uplink.reserve_capacity(message.len());
        // A call that was reset takes nothing more; its reader says so to the pacer.
        uplink.capacity() >= message.len() && uplink.send_data(message.clone(), false).is_ok()
    }

    /// Sends the last message and half-closes.
    pub(super) fn finish(&mut self, message: &Bytes) {
        if let Some(uplink) = &mut self.uplink {
            // A call that was reset meanwhile is over as well.
            let _ = uplink.send_data(message.clone(), true);
        }
    }

    /// Whether the event `id` comes back for the first time and in order.
    pub(super) const fn expects(&mut self, id: u64) -> bool {
        let expected = id >= self.next_pong;
        if expected {
            self.next_pong = id + 1;
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_counts_once_however_often_it_comes_back() {
        let mut lane = Lane::default();
        assert!(lane.expects(3));
        assert!(!lane.expects(3));
        assert!(!lane.expects(2));
        assert!(lane.expects(103));
    }

    #[test]
    fn events_held_back_are_bounded() {
        let mut lane = Lane::default();
        (0..1_000).for_each(|id| lane.owe_event(id));
        assert_eq!(lane.owed_events.len(), HELD_EVENTS);
        assert_eq!(lane.owed_events.front(), Some(&0));
    }

    #[test]
    fn a_call_that_is_not_open_takes_nothing() {
        let mut lane = Lane::default();
        assert!(!lane.is_live());
        assert!(!lane.try_send(&Bytes::from_static(b"x")));
        assert!(!lane.close());
    }
}
