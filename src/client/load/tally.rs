//! The counts of a load test.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::{CreationError, Histogram};
use serde::Serialize;
use tokio::time::Instant;

/// Longest time that is told apart, in microseconds: anything longer counts as 10 minutes.
const LONGEST_USEC: u64 = 600_000_000;

/// Where a load test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Calls are being opened.
    Ramp,
    /// Everything is measured.
    Steady,
    /// Calls are being ended.
    Finish,
}

/// The counts so far.
#[derive(Debug, Clone, Serialize)]
pub struct Snapshot {
    /// Where the test is.
    pub phase: Phase,
    /// Milliseconds since the test began.
    pub elapsed_msec: u64,
    /// Calls open now.
    pub live: u64,
    /// Chunks sent since the test began.
    pub sent: u64,
    /// Calls refused.
    pub refused: u64,
    /// Calls that could not be opened.
    pub failed: u64,
    /// Calls that ended before they should.
    pub ended_early: u64,
}

/// Everything that is counted.
pub(super) struct Tally {
    /// Chunks sent since the test began.
    pub(super) sent_ever: u64,
    /// Chunks due while measuring.
    pub(super) due: u64,
    /// Chunks sent while measuring.
    pub(super) sent: u64,
    /// Events due while measuring.
    pub(super) events_due: u64,
    /// Of those, the ones that came back.
    pub(super) events_back: u64,
    /// Other events, responses and audio that came.
    pub(super) others: u64,
    /// Calls accepted.
    pub(super) opened: u64,
    /// Calls refused, by error value.
    pub(super) refused: BTreeMap<String, u64>,
    /// Calls that could not be opened, by status.
    pub(super) failed: BTreeMap<String, u64>,
    /// Calls that ended before they should, by status.
    pub(super) ended_early: BTreeMap<String, u64>,
    /// Calls that ended when they should, by status.
    pub(super) ended: BTreeMap<String, u64>,
    /// How late chunks were sent, in microseconds.
    pub(super) lateness: Histogram<u64>,
    /// From when an event was due until it came back, in microseconds.
    pub(super) round_trip: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Result<Self, CreationError> {
        Ok(Self {
            sent_ever: 0,
            due: 0,
            sent: 0,
            events_due: 0,
            events_back: 0,
            others: 0,
            opened: 0,
            refused: BTreeMap::new(),
            failed: BTreeMap::new(),
            ended_early: BTreeMap::new(),
            ended: BTreeMap::new(),
            lateness: histogram()?,
            round_trip: histogram()?,
        })
    }

    /// Calls of which it is known whether they were accepted.
    pub(super) fn resolved(&self) -> u64 {
        self.opened + total(&self.refused) + total(&self.failed)
    }
}

/// Three significant digits from 1 µs on.
fn histogram() -> Result<Histogram<u64>, CreationError> {
    Histogram::new_with_bounds(1, LONGEST_USEC, 3)
}

/// Counts one more `key`.
pub(super) fn count(table: &mut BTreeMap<String, u64>, key: String) {
    *table.entry(key).or_default() += 1;
}

/// How many there are of all keys.
pub(super) fn total(table: &BTreeMap<String, u64>) -> u64 {
    table.values().sum()
}

/// Records the time from `due` to `at`.
pub(super) fn record(histogram: &mut Histogram<u64>, due: Instant, at: Instant) {
    let elapsed = at.saturating_duration_since(due);
    histogram.saturating_record(usec(elapsed).max(1));
}

fn usec(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
