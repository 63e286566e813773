//! Slows down those who guess client secrets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures after which a client must wait. People mistype a few times; programs do not.
const FAILURES_ALLOWED: u32 = 5;

/// The time in which failures count, from the first of them.
const WINDOW: Duration = Duration::from_secs(60);

/// Most clients remembered: some 2 MiB. Beyond, the one that failed first is forgotten.
const CLIENTS_REMEMBERED: usize = 10_000;

/// Longest part of a client id that tells clients apart here; real ids have 36 characters.
const ID_LENGTH: usize = 64;

/// A client id as claimed, from one address. The address keeps a stranger from locking a client out by its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Claimant {
    id: String,
    address: Option<IpAddr>,
}

impl Claimant {
    pub(super) fn new(id: &str, address: Option<IpAddr>) -> Self {
        Self {
            id: id.chars().take(ID_LENGTH).collect(),
            address,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    since: Instant,
}

/// Counts failed sign-ins.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    failures: Mutex<HashMap<Claimant, Failures>>,
}

impl Throttle {
    /// How long `claimant` must wait before it may try again; nothing when it may try now.
    pub(super) fn wait(&self, claimant: &Claimant, now: Instant) -> Option<Duration> {
        let failures = self.lock().get(claimant).copied()?;
        let left = WINDOW.checked_sub(now.saturating_duration_since(failures.since))?;
        (failures.count >= FAILURES_ALLOWED && !left.is_zero()).then_some(left)
    }

    /// Counts a failure.
    pub(super) fn failed(&self, claimant: Claimant, now: Instant) {
        let mut all = self.lock();
        if !all.contains_key(&claimant) && all.len() >= CLIENTS_REMEMBERED {
            make_room(&mut all, now);
        }
        let failures = all.entry(claimant).or_insert(Failures {
            count: 0,
            since: now,
        });
        if is_over(failures, now) {
            *failures = Failures {
                count: 0,
                since: now,
            };
        }
        failures.count += 1;
    }

    /// Forgets the failures of a client that signed in.
    pub(super) fn succeeded(&self, claimant: &Claimant) {
        self.lock().remove(claimant);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Claimant, Failures>> {
        // Counters have no half-done state, so a panic elsewhere spoils nothing.
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(failures: &Failures, now: Instant) -> bool {
    now.saturating_duration_since(failures.since) >= WINDOW
}

fn make_room(all: &mut HashMap<Claimant, Failures>, now: Instant) {
    all.retain(|_, failures| !is_over(failures, now));
    if all.len() < CLIENTS_REMEMBERED {
        return;
    }
    let first = all
        .iter()
        .min_by_key(|(_, failures)| failures.since)
        .map(|(claimant, _)| claimant.clone());
    if let Some(first) = first {
        all.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimant(id: &str) -> Claimant {
        Claimant::new(id, Some(IpAddr::from([10, 0, 0, 1])))
    }

    #[test]
    fn the_fifth_failure_in_a_minute_makes_a_client_wait_out_the_minute() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        for second in 0..5 {
            assert_eq!(
                throttle.wait(&claimant("a"), start),
                None,
                "after {second} failures"
            );
            throttle.failed(claimant("a"), start + Duration::from_secs(second));
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(
            throttle.wait(&claimant("a"), later),
            Some(Duration::from_secs(40))
        );
        assert_eq!(
            throttle.wait(&claimant("b"), later),
            None,
            "others are free"
        );
        let elsewhere = Claimant::new("a", Some(IpAddr::from([10, 0, 0, 2])));
        assert_eq!(
            throttle.wait(&elsewhere, later),
            None,
            "so is the same client from elsewhere"
        );
        assert_eq!(throttle.wait(&claimant("a"), start + WINDOW), None);
        throttle.failed(claimant("a"), start + WINDOW);
        assert_eq!(
            throttle.wait(&claimant("a"), start + WINDOW),
            None,
            "a new minute counts anew"
        );
    }

    #[test]
    fn success_wipes_the_slate() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        (0..5).for_each(|_| throttle.failed(claimant("a"), now));
        throttle.succeeded(&claimant("a"));
        assert_eq!(throttle.wait(&claimant("a"), now), None);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_failure_goes_first() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        for number in 0..=CLIENTS_REMEMBERED {
            let at = start + Duration::from_micros(number as u64);
            throttle.failed(claimant(&number.to_string()), at);
        }
        let all = throttle.lock();
        assert_eq!(all.len(), CLIENTS_REMEMBERED);
        assert!(!all.contains_key(&claimant("0")) && all.contains_key(&claimant("1")));
    }

    #[test]
    fn an_endless_client_id_takes_no_endless_memory() {
        assert_eq!(claimant(&"x".repeat(10_000)).id.len(), ID_LENGTH);
    }
}
