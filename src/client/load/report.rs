//! The result of a load test.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::plan::Plan;
use super::tally::Tally;

/// How a time is spread, in milliseconds with a resolution of 1 µs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// How many were measured.
    pub count: u64,
    /// Half are at most this.
    pub p50_msec: f64,
    /// Nine in ten are at most this.
    pub p90_msec: f64,
    /// 99 in 100 are at most this.
    pub p99_msec: f64,
    /// The longest.
    pub max_msec: f64,
}

impl Distribution {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let quantile = |q| msec(histogram.value_at_quantile(q));
        Self {
            count: histogram.len(),
            p50_msec: quantile(0.5),
            p90_msec: quantile(0.9),
            p99_msec: quantile(0.99),
            max_msec: msec(histogram.max()),
        }
    }
}

fn msec(usec: u64) -> f64 {
    Duration::from_micros(usec).as_secs_f64() * 1_000.0
}

/// The result of a load test. Chunks, lateness and events are those of the measured part, after the ramp.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Calls asked for.
    pub streams: u64,
    /// Connections they shared.
    pub connections: u64,
    /// Bytes of audio in a chunk.
    pub chunk_bytes: usize,
    /// How long was measured, in seconds.
    pub measured_secs: f64,
    /// Calls accepted.
    pub opened: u64,
    /// Calls refused, by error value.
    pub refused: BTreeMap<String, u64>,
    /// Calls that could not be opened, by gRPC status or what was met below gRPC.
    pub failed: BTreeMap<String, u64>,
    /// Calls that ended before they should, by status.
    pub ended_early: BTreeMap<String, u64>,
    /// Calls that ended when they should, by status.
    pub ended: BTreeMap<String, u64>,
    /// Calls that had not ended when the test gave up waiting.
    pub never_ended: u64,
    /// Chunks due.
    pub chunks_due: u64,
    /// Chunks sent.
    pub chunks_sent: u64,
    /// Chunks due each second.
    pub due_rate: f64,
    /// Chunks sent each second.
    pub sent_rate: f64,
    /// How late chunks were sent.
    pub lateness: Distribution,
    /// Events due.
    pub events_due: u64,
    /// Events that never came back.
    pub events_lost: u64,
    /// From when an event was due until it came back.
    pub round_trip: Distribution,
    /// Other events, responses and audio that came.
    pub other_messages: u64,
}

impl Report {
    pub(super) fn new(plan: &Plan, tally: &Tally, measured: Duration) -> Self {
        let secs = measured.as_secs_f64();
        let rate = |count: u64| if secs > 0.0 { whole(count) / secs } else { 0.0 };
        let ended: u64 = tally.ended.values().chain(tally.ended_early.values()).sum();
        Self {
            streams: plan.streams,
            connections: plan.connections,
            chunk_bytes: plan.chunk_bytes,
            measured_secs: secs,
            opened: tally.opened,
            refused: tally.refused.clone(),
            failed: tally.failed.clone(),
            ended_early: tally.ended_early.clone(),
            ended: tally.ended.clone(),
            never_ended: tally.opened.saturating_sub(ended),
            chunks_due: tally.due,
            chunks_sent: tally.sent,
            due_rate: rate(tally.due),
            sent_rate: rate(tally.sent),
            lateness: Distribution::of(&tally.lateness),
            events_due: tally.events_due,
            events_lost: tally.events_due.saturating_sub(tally.events_back),
            round_trip: Distribution::of(&tally.round_trip),
            other_messages: tally.others,
        }
    }
}

/// Counts stay far below 2^53, where floating point stops telling neighbours apart.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
const fn whole(count: u64) -> f64 {
    count as f64
}
