//! Public keys of one issuer, kept at hand.
//!
//! A key that is known is found without waiting, whatever the issuer does. A key that is not makes the cache ask the
//! source, one task at a time and at most once in 30 s, so that a flood of made-up key ids costs the issuer
//! next to nothing. A successful answer replaces all keys: one that is gone from it is no longer accepted.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use callwright_actors::ports::TokenFault;
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::Algorithm;
use serde_json::Value;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::jwk::VerificationKey;
use super::keys::KeyStore;
use super::{Clock, shown};

/// Shortest time between two questions to the source, unless told otherwise: anyone can send tokens that name unknown keys.
const RETRY_AFTER: TimeDelta = TimeDelta::seconds(30);

/// Keys older than this are asked for again in the background.
const REFRESH_AFTER: TimeDelta = TimeDelta::hours(1);

/// Keys older than this are asked for before they are used; should the source be down, they are used all the same.
const DISTRUST_AFTER: TimeDelta = TimeDelta::hours(2);

/// Longest wait of a caller for the source: discovery and keys take at most 5 s each.
const WAIT_DEADLINE: Duration = Duration::from_secs(12);

/// Where public keys come from.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The issuer's public keys, as JSON Web Keys. Has a deadline of its own, at most 10 s.
    ///
    /// # Errors
    /// The cause in plain words.
    async fn fetch(&self) -> Result<Vec<Value>, String>;
}

/// The keys of the embedded issuer.
pub struct StoredKeys {
    /// Where they are kept.
    pub keys: Arc<dyn KeyStore>,
    /// Decides which are still published.
    pub clock: Clock,
}

#[async_trait]
impl KeySource for StoredKeys {
    async fn fetch(&self) -> Result<Vec<Value>, String> {
        let keys = self
            .keys
            .published((self.clock)())
            .await
            .map_err(|fault| fault.to_string())?;
        keys.iter()
            .map(|jwk| {
                serde_json::from_str(jwk)
                    .map_err(|fault| format!("a stored key is damaged: {fault}"))
            })
            .collect()
    }
}

#[derive(Default)]
struct KeySet {
    keys: Vec<Arc<VerificationKey>>,
    fetched: Option<DateTime<Utc>>,
}

/// What a key set says about a key id and an algorithm.
enum Lookup {
    Found(Arc<VerificationKey>),
    WrongAlgorithm(Vec<Algorithm>),
    Unknown,
}

#[derive(Default)]
struct Gate {
    /// When a token last made us ask. What the service asks by itself, at its start, does not count.
    asked: Option<DateTime<Utc>>,
    /// Why the last question had no answer.
    fault: Option<String>,
}

struct Shared {
    source: Box<dyn KeySource>,
    clock: Clock,
    set: ArcSwap<KeySet>,
    retry_after: TimeDelta,
}

/// The public keys of one issuer; clones share them.
#[derive(Clone)]
pub struct KeyCache {
    shared: Arc<Shared>,
    gate: Arc<Mutex<Gate>>,
}

impl KeyCache {
    /// An empty cache over `source`, which is asked about unknown keys at most once in 30 s.
    #[must_use]
    pub fn new(source: Box<dyn KeySource>, clock: Clock) -> Self {
        Self::asking_at_most_every(RETRY_AFTER, source, clock)
    }

    /// An empty cache over `source`, which is asked about unknown keys at most once in `retry_after`.
    #[must_use]
    pub fn asking_at_most_every(
        retry_after: TimeDelta,
        source: Box<dyn KeySource>,
        clock: Clock,
    ) -> Self {
        let shared = Shared {
            source,
            clock,
            set: ArcSwap::default(),
            retry_after,
        };
        Self {
            shared: Arc::new(shared),
            gate: Arc::default(),
        }
    }

    /// Asks the source now. For a start that wants its keys at hand, and after a rotation in the same process.
    ///
    /// # Errors
    /// The cause in plain words; the keys at hand stay.
    pub async fn refresh(&self) -> Result<(), String> {
        let gate = tokio::time::timeout(WAIT_DEADLINE, Arc::clone(&self.gate).lock_owned())
            .await
            .map_err(|_| "another refresh takes too long".to_owned())?;
        self.ask(gate).await.map_or(Ok(()), Err)
    }

    /// How long ago the source last answered; nothing before its first answer.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let age = (self.shared.clock)() - self.shared.set.load().fetched?;
        Some(age.to_std().unwrap_or_default())
    }

    /// The key `kid` for a token signed with `algorithm`. A token without a key id is checked with the only key, where
    /// there is but one.
    pub(super) async fn find(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<VerificationKey>, TokenFault> {
        let at_hand = self.shared.set.load().lookup(kid, algorithm);
        match at_hand {
            Lookup::Found(key) if self.older_than(REFRESH_AFTER) => {
                self.find_aged(kid, algorithm, key).await
            }
            Lookup::Found(key) => Ok(key),
            Lookup::WrongAlgorithm(allowed) => Err(wrong_algorithm(algorithm, &allowed)),
            Lookup::Unknown => self.find_unknown(kid, algorithm).await,
        }
    }

    async fn find_aged(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
        key: Arc<VerificationKey>,
    ) -> Result<Arc<VerificationKey>, TokenFault> {
        if !self.older_than(DISTRUST_AFTER) {
            self.refresh_in_background();
            return Ok(key);
        }
        // Whatever the outcome, the keys then at hand decide.
        let _ = tokio::time::timeout(WAIT_DEADLINE, self.ask_unless_just_asked()).await;
        match self.shared.set.load().lookup(kid, algorithm) {
            Lookup::Found(key) => Ok(key),
            Lookup::WrongAlgorithm(allowed) => Err(wrong_algorithm(algorithm, &allowed)),
            Lookup::Unknown => Err(unknown_key(kid)),
        }
    }

    async fn find_unknown(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<VerificationKey>, TokenFault> {
        let fault = tokio::time::timeout(WAIT_DEADLINE, self.ask_unless_just_asked())
            .await
            .unwrap_or_else(|_| Some("no answer in time".to_owned()));
        match (self.shared.set.load().lookup(kid, algorithm), fault) {
            (Lookup::Found(key), _) => Ok(key),
            (Lookup::WrongAlgorithm(allowed), _) => Err(wrong_algorithm(algorithm, &allowed)),
            (Lookup::Unknown, None) => Err(unknown_key(kid)),
            // The cause is in the log; it may name hosts that are nobody's business at the other end.
            (Lookup::Unknown, Some(_)) => Err(TokenFault::Unavailable(
                "the token cannot be checked now: the issuer's keys could not be read".to_owned(),
            )),
        }
    }

    fn older_than(&self, limit: TimeDelta) -> bool {
        let age = self
            .shared
            .set
            .load()
            .fetched
            .map(|at| (self.shared.clock)() - at);
        // A clock set back makes an age negative; such keys count as old.
        age.is_some_and(|age| age >= limit || age < TimeDelta::zero())
    }

    fn just_asked(&self, gate: &Gate) -> bool {
        let age = gate.asked.map(|at| (self.shared.clock)() - at);
        age.is_some_and(|age| (TimeDelta::zero()..self.shared.retry_after).contains(&age))
    }

    fn refresh_in_background(&self) {
        // A gate that is taken means that someone is asking already.
        let Ok(mut gate) = Arc::clone(&self.gate).try_lock_owned() else {
            return;
        };
        if !self.just_asked(&gate) {
            gate.asked = Some((self.shared.clock)());
            tokio::spawn(Arc::clone(&self.shared).ask(gate, (self.shared.clock)()));
        }
    }

    /// Asks the source, or waits for whoever does, and gives the fault of the last question.
    async fn ask_unless_just_asked(&self) -> Option<String> {
        let mut gate = Arc::clone(&self.gate).lock_owned().await;
        if self.just_asked(&gate) {
            return gate.fault.clone();
        }
        gate.asked = Some((self.shared.clock)());
        self.ask(gate).await
    }

    async fn ask(&self, gate: OwnedMutexGuard<Gate>) -> Option<String> {
        // A task of its own: a caller that goes away must not cut off the answer others wait for.
        let asking = tokio::spawn(Arc::clone(&self.shared).ask(gate, (self.shared.clock)()));
        asking
            .await
            .unwrap_or_else(|_| Some("the question was cut off".to_owned()))
    }
}

impl Shared {
    /// Asks the source, holding the gate, and gives the fault if there is one.
    async fn ask(
        self: Arc<Self>,
        mut gate: OwnedMutexGuard<Gate>,
        now: DateTime<Utc>,
    ) -> Option<String> {
        let answer = self.source.fetch().await;
        gate.fault = match answer {
            Ok(jwks) => {
                let keys = jwks
                    .iter()
                    .filter_map(VerificationKey::from_jwk)
                    .map(Arc::new)
                    .collect();
                self.set.store(Arc::new(KeySet {
                    keys,
                    fetched: Some(now),
                }));
                None
            }
            Err(fault) => {
                tracing::warn!(fault = %fault, "the issuer's keys could not be read; the keys at hand go on serving");
                Some(fault)
            }
        };
        gate.fault.clone()
    }
}

impl KeySet {
    fn lookup(&self, kid: Option<&str>, algorithm: Algorithm) -> Lookup {
        let named: Vec<&Arc<VerificationKey>> = match kid {
            Some(kid) => self
                .keys
                .iter()
                .filter(|key| key.kid.as_deref() == Some(kid))
                .collect(),
            None if self.keys.len() == 1 => self.keys.iter().collect(),
            None => Vec::new(),
        };
        let fitting = named.iter().find(|key| key.algorithms.contains(&algorithm));
        match (fitting, named.is_empty()) {
            (Some(key), _) => Lookup::Found(Arc::clone(key)),
            (None, true) => Lookup::Unknown,
            (None, false) => Lookup::WrongAlgorithm(
                named
                    .iter()
                    .flat_map(|key| key.algorithms.iter().copied())
                    .collect(),
            ),
        }
    }
}

fn wrong_algorithm(algorithm: Algorithm, allowed: &[Algorithm]) -> TokenFault {
    let allowed: Vec<String> = allowed.iter().map(|one| format!("{one:?}")).collect();
    TokenFault::Refused(format!(
        "the token is signed with {algorithm:?}, but its key is for {} only",
        allowed.join(" or ")
    ))
}

fn unknown_key(kid: Option<&str>) -> TokenFault {
    TokenFault::Refused(match kid {
        Some(kid) => format!(
            "the token names the key `{}`, which the issuer does not publish",
            shown(kid)
        ),
        None => {
            "the token names no key (`kid`), and the issuer publishes several or none".to_owned()
        }
    })
}
