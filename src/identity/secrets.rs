//! Client secrets: made at random, kept as argon2id hashes, checked at the same cost whoever asks.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{OnceCell, Semaphore};

use super::Error;

/// Bytes of randomness in a client secret.
const SECRET_BYTES: usize = 32;

/// Argon2id with 19 MiB, 2 passes and 1 lane: the OWASP Password Storage Cheat Sheet's minimum.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Checks at once. Each takes 19 MiB and a core for some 20 ms, so a flood of sign-ins costs 40 MiB and two threads.
const CHECKS_AT_ONCE: usize = 2;

/// Longest wait for a turn.
const TURN_DEADLINE: Duration = Duration::from_secs(5);

/// Makes a client secret: 256 random bits in base64url.
pub(super) fn generate() -> SecretString {
    let mut bytes = [0_u8; SECRET_BYTES];
    rand::fill(&mut bytes);
    SecretString::from(URL_SAFE_NO_PAD.encode(bytes))
}

/// Hashes a secret, on a thread of its own.
pub(super) async fn hash(secret: SecretString) -> Result<String, Error> {
    tokio::task::spawn_blocking(move || hash_now(&secret))
        .await
        .map_err(|_| Error::Hash("the work was cut off".to_owned()))?
}

fn hash_now(secret: &SecretString) -> Result<String, Error> {
    let hash: PasswordHash = hasher()?
        .hash_password(secret.expose_secret().as_bytes())
        .map_err(|fault| Error::Hash(fault.to_string()))?;
    Ok(hash.to_string())
}

fn hasher() -> Result<Argon2<'static>, Error> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
        .map_err(|fault| Error::Hash(fault.to_string()))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Checks secrets, a few at a time.
#[derive(Debug)]
pub(super) struct SecretChecker {
    turns: Arc<Semaphore>,
    /// What an unknown client's secret is checked against, so that it takes as long as a known one's.
    decoy: OnceCell<String>,
}

impl SecretChecker {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            decoy: OnceCell::new(),
        }
    }

    /// Whether `secret` is the one behind `hash`. With no hash the answer is no, after the same work.
    pub(super) async fn check(
        &self,
        secret: SecretString,
        hash: Option<String>,
    ) -> Result<bool, Error> {
        let known = hash.is_some();
        let against = match hash {
            Some(hash) => hash,
            None => self
                .decoy
                .get_or_try_init(|| self::hash(generate()))
                .await?
                .clone(),
        };
        let turn = tokio::time::timeout(TURN_DEADLINE, Arc::clone(&self.turns).acquire_owned())
            .await
            .map_err(|_| Error::Busy("client secrets are being checked"))?
            .map_err(|_| Error::Busy("client secrets are no longer checked"))?;
        let matched = tokio::task::spawn_blocking(move || {
            // The turn ends with the work, also when nobody waits for the answer any more.
            let _turn = turn;
            matches(&secret, &against)
        })
        .await
        .map_err(|_| Error::Hash("the work was cut off".to_owned()))?;
        Ok(known && matched)
    }
}

fn matches(secret: &SecretString, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else {
        return false;
    };
    Argon2::default()
        .verify_password(secret.expose_secret().as_bytes(), &hash)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_256_bits_and_differ() {
        let (one, two) = (generate(), generate());
        assert_eq!(
            URL_SAFE_NO_PAD.decode(one.expose_secret()).unwrap().len(),
            32
        );
        assert_ne!(one.expose_secret(), two.expose_secret());
    }

    #[tokio::test]
    async fn a_secret_matches_its_own_hash_only() {
        let checker = SecretChecker::new();
        let (secret, other) = (generate(), generate());
        let kept = hash(secret.clone()).await.unwrap();
        assert!(
            kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{kept}"
        );
        assert!(
            checker
                .check(secret.clone(), Some(kept.clone()))
                .await
                .unwrap()
        );
        assert!(!checker.check(other, Some(kept)).await.unwrap());
        assert!(
            !checker
                .check(secret.clone(), Some("no hash at all".to_owned()))
                .await
                .unwrap()
        );
        assert!(!checker.check(secret, None).await.unwrap());
    }

    #[tokio::test]
    async fn an_unknown_client_is_checked_against_a_hash_of_the_same_cost() {
        let checker = SecretChecker::new();
        checker.check(generate(), None).await.unwrap();
        let decoy = checker.decoy.get().expect("the check made it");
        assert!(
            decoy.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{decoy}"
        );
    }

    #[tokio::test]
    async fn a_flood_waits_its_turn_and_every_turn_comes_back() {
        let checker = SecretChecker::new();
        let checks = (0..12).map(|_| checker.check(generate(), None));
        for outcome in futures_util::future::join_all(checks).await {
            assert_eq!(outcome, Ok(false));
        }
        assert_eq!(checker.turns.available_permits(), CHECKS_AT_ONCE);
    }
}
