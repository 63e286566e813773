//! How a load is shaped.

/// A load for one measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Calls at once.
    pub(crate) streams: u32,
    /// Connections they share.
    pub(crate) connections: u32,
    /// Seconds measured.
    pub(crate) seconds: u32,
    /// Whether the calls carry events besides audio.
    pub(crate) events: bool,
}

/// How long and how often everything is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Seconds of each measurement.
    pub(crate) seconds: u32,
    /// Measurements of each server; they alternate.
    pub(crate) rounds: usize,
}

impl Effort {
    pub(crate) const fn new(quick: bool) -> Self {
        if quick {
            Self {
                seconds: 4,
                rounds: 1,
            }
        } else {
            Self {
                seconds: 12,
                rounds: 3,
            }
        }
    }
}

impl Shape {
    /// Many calls on one connection: the cost of a chunk itself.
    pub(crate) const fn shared(effort: Effort) -> Self {
        Self {
            streams: 400,
            connections: 1,
            seconds: effort.seconds,
            events: false,
        }
    }

    /// A connection for each call: the cost of a chunk with its own reads, TLS records and wake-ups.
    pub(crate) const fn separate(effort: Effort) -> Self {
        Self {
            streams: 400,
            connections: 400,
            seconds: effort.seconds,
            events: false,
        }
    }

    /// 1,000 callers, each with its own connection and events.
    pub(crate) const fn crowd(effort: Effort) -> Self {
        Self {
            streams: 1_000,
            connections: 1_000,
            seconds: effort.seconds,
            events: true,
        }
    }
}
