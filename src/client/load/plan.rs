//! What a load test does.

use std::time::Duration;

use callwright_domain::audio::Encoding;

use crate::client::pace::{CHUNK, CHUNKS_PER_SECOND, Schedule};
use crate::client::start::Start;
use crate::client::target::Target;
use tokio::time::Instant;

/// How long calls may take to be opened after the ramp, and to end after the last chunk.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// What the calls carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Audio, and events that come back.
    AudioAndEvents,
    /// Audio alone.
    Audio,
    /// Events alone.
    Events,
}

impl Content {
    pub(super) const fn audio(self) -> bool {
        matches!(self, Self::AudioAndEvents | Self::Audio)
    }

    pub(super) const fn events(self) -> bool {
        matches!(self, Self::AudioAndEvents | Self::Events)
    }
}

/// What a load test does.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// How each call is started; rate and encoding are the plan's own, see [`Plan::sample_rate`].
    pub start: Start,
    /// Calls at once, at least 1.
    pub streams: u64,
    /// Connections they share evenly, 1 to `streams`.
    pub connections: u64,
    /// How long the calls are opened for, evenly spread.
    pub ramp: Duration,
    /// How long is measured once they are open.
    pub duration: Duration,
    /// Bytes of μ-law audio in a chunk of 20 ms.
    pub chunk_bytes: usize,
    /// How often each call sends an event that should come back.
    pub event_interval: Duration,
    /// What the calls carry.
    pub content: Content,
}

impl Plan {
    /// The sample rate for which a chunk of mono μ-law is 20 ms, held within what the service takes, in hertz.
    #[must_use]
    pub fn sample_rate(chunk_bytes: usize) -> u32 {
        let hertz = u64::try_from(chunk_bytes)
            .unwrap_or(u64::MAX)
            .saturating_mul(CHUNKS_PER_SECOND);
        u32::try_from(hertz.clamp(8_000, 48_000)).unwrap_or(8_000)
    }

    /// Sets the format of the audio in `start` to what the plan sends.
    #[must_use]
    pub fn with_its_format(mut self) -> Self {
        self.start.encoding = Encoding::Ulaw;
        self.start.channels = 1;
        self.start.sample_rate = Self::sample_rate(self.chunk_bytes);
        self
    }

    /// When chunk `index` of the whole test is due: chunk k of call i is chunk `k × streams + i`, so that the calls
    /// are spread evenly over 20 ms.
    pub(super) fn chunks_from(&self, start: Instant) -> Schedule {
        Schedule::spread(start, CHUNK, self.streams)
    }

    /// The same for events, spread over their interval.
    pub(super) fn events_from(&self, start: Instant) -> Schedule {
        Schedule::spread(start, self.event_interval, self.streams)
    }

    /// The calls that share connection `connection`, in the order in which they are opened.
    pub(super) fn streams_of(&self, connection: u64) -> impl Iterator<Item = u64> + use<> {
        let step = usize::try_from(self.connections)
            .unwrap_or(usize::MAX)
            .max(1);
        (connection..self.streams).step_by(step)
    }

    /// When call `stream` is opened.
    pub(super) fn opening(&self, start: Instant, stream: u64) -> Instant {
        Schedule::spread(start, self.ramp, self.streams).due(stream)
    }
}
