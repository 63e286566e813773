//! An absolute schedule: what is due when, counted from one start, so that no delay ever adds up.

use std::time::Duration;

use tokio::time::Instant;

/// Chunks of audio of 20 ms, the size that the interface suggests (spec 4.1).
pub const CHUNK: Duration = Duration::from_millis(20);
/// Chunks in one second of audio.
pub const CHUNKS_PER_SECOND: u64 = 50;

/// When the parts of something that repeats are due.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    start: Instant,
    period: Duration,
    share: u64,
}

impl Schedule {
    /// One part each `period`, from `start` on.
    #[must_use]
    pub const fn new(start: Instant, period: Duration) -> Self {
        Self {
            start,
            period,
            share: 1,
        }
    }

    /// `share` parts in each `period`, evenly spread; 0 counts as 1.
    #[must_use]
    pub const fn spread(start: Instant, period: Duration, share: u64) -> Self {
        let share = if share == 0 { 1 } else { share };
        Self {
            start,
            period,
            share,
        }
    }

    /// When part `index`, counted from 0, is due.
    #[must_use]
    pub fn due(&self, index: u64) -> Instant {
        // The division comes last: rounding a fraction of the period first would drift.
        let nanos = u128::from(index) * self.period.as_nanos() / u128::from(self.share);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        self.start + Duration::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_chunks_ends_after_exactly_an_hour() {
        let start = Instant::now();
        let schedule = Schedule::new(start, CHUNK);
        assert_eq!(
            schedule.due(3_600 * CHUNKS_PER_SECOND),
            start + Duration::from_secs(3_600)
        );
    }

    #[test]
    fn spread_parts_do_not_drift_however_odd_their_number() {
        let start = Instant::now();
        for share in [1, 3, 7, 333, 1_000] {
            let schedule = Schedule::spread(start, CHUNK, share);
            assert_eq!(
                schedule.due(share * 1_000),
                start + CHUNK * 1_000,
                "{share}"
            );
        }
    }

    #[test]
    fn spread_parts_come_in_order_and_evenly() {
        let start = Instant::now();
        let schedule = Schedule::spread(start, CHUNK, 300);
        let gap = |index| schedule.due(index + 1) - schedule.due(index);
        for index in 0..900 {
            let nanos = gap(index).as_nanos();
            assert!((66_666..=66_667).contains(&nanos), "{index}: {nanos}");
        }
    }
}
