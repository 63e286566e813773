//! Signing keys: how one is made, and the port behind which they are kept.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey};
use secrecy::{ExposeSecret as _, SecretString};

use super::{Error, StoreFault};

/// The algorithm of the embedded issuer: ECDSA over P-256 with SHA-256 (RFC 7518, 3.4).
pub(super) const ALGORITHM: Algorithm = Algorithm::ES256;

/// A key that signs.
#[derive(Debug, Clone)]
pub struct SigningKey {
    /// The key id: the key's RFC 7638 thumbprint.
    pub kid: String,
    /// PKCS #8, PEM.
    pub private_key_pem: SecretString,
    /// The public half, a JSON Web Key.
    pub public_jwk: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Keeps the signing keys, for all replicas.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// The public keys that verify tokens at `now`: the signing one and the retired ones still published.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn published(&self, now: DateTime<Utc>) -> Result<Vec<String>, StoreFault>;

    /// The key that signs, if there is one yet.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn newest(&self) -> Result<Option<SigningKey>, StoreFault>;

    /// Offers a first key. When one signs already, this changes nothing.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn insert(&self, key: SigningKey) -> Result<(), StoreFault>;

    /// Retires `kid`, publishes it until `published_until`, and lets `successor` sign, in one step. When `kid` does not
    /// sign any more, this changes nothing.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn replace(
        &self,
        kid: &str,
        published_until: DateTime<Utc>,
        successor: SigningKey,
    ) -> Result<(), StoreFault>;

    /// Deletes the retired keys that are no longer published.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn prune(&self, now: DateTime<Utc>) -> Result<(), StoreFault>;
}

/// Makes a new signing key.
pub(super) fn generate(now: DateTime<Utc>) -> Result<SigningKey, Error> {
    let unusable = |fault: &dyn std::fmt::Display| Error::Key(fault.to_string());
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)
        .map_err(|fault| unusable(&fault))?;
    let private_key_pem = SecretString::from(pair.serialize_pem());
    let mut jwk = Jwk::from_encoding_key(&encoding_key(&private_key_pem)?, ALGORITHM)
        .map_err(|fault| unusable(&fault))?;
    let kid = jwk
        .thumbprint(ThumbprintHash::SHA256)
        .map_err(|fault| unusable(&fault))?;
    jwk.common.key_id = Some(kid.clone());
    jwk.common.key_algorithm = Some(KeyAlgorithm::ES256);
    jwk.common.public_key_use = Some(PublicKeyUse::Signature);
    let public_jwk = serde_json::to_string(&jwk).map_err(|fault| unusable(&fault))?;
    Ok(SigningKey {
        kid,
        private_key_pem,
        public_jwk,
        created_at: now,
    })
}

/// Reads the private half for signing.
pub(super) fn encoding_key(pem: &SecretString) -> Result<EncodingKey, Error> {
    // The library's message may quote what it read, so it is left out.
    EncodingKey::from_ec_pem(pem.expose_secret().as_bytes())
        .map_err(|_| Error::Key("the stored private key is not an EC key in PEM".to_owned()))
}

#[cfg(test)]
pub(crate) mod memory {
    //! Keys in memory, with the store's promises.

    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard};

    use super::{DateTime, KeyStore, SigningKey, StoreFault, Utc, async_trait};

    /// Keys, each with the end of its publication once it is retired.
    type Kept = Vec<(SigningKey, Option<DateTime<Utc>>)>;

    #[derive(Default)]
    pub(crate) struct MemoryKeys {
        keys: Mutex<Kept>,
        pub(crate) down: AtomicBool,
    }

    impl MemoryKeys {
        fn up(&self) -> Result<MutexGuard<'_, Kept>, StoreFault> {
            if self.down.load(Ordering::SeqCst) {
                return Err(StoreFault("it is down".to_owned()));
            }
            Ok(self.keys.lock().unwrap())
        }

        pub(crate) fn count(&self) -> usize {
            self.keys.lock().unwrap().len()
        }
    }

    #[async_trait]
    impl KeyStore for MemoryKeys {
        async fn published(&self, now: DateTime<Utc>) -> Result<Vec<String>, StoreFault> {
            let published = |until: &Option<DateTime<Utc>>| until.is_none_or(|until| until > now);
            Ok(self
                .up()?
                .iter()
                .filter(|(_, until)| published(until))
                .map(|(key, _)| key.public_jwk.clone())
                .collect())
        }

        async fn newest(&self) -> Result<Option<SigningKey>, StoreFault> {
            Ok(self
                .up()?
                .iter()
                .find(|(_, until)| until.is_none())
                .map(|(key, _)| key.clone()))
        }

        async fn insert(&self, key: SigningKey) -> Result<(), StoreFault> {
            let mut keys = self.up()?;
            if !keys.iter().any(|(_, until)| until.is_none()) {
                keys.push((key, None));
            }
            Ok(())
        }

        async fn replace(
            &self,
            kid: &str,
            published_until: DateTime<Utc>,
            successor: SigningKey,
        ) -> Result<(), StoreFault> {
            let mut keys = self.up()?;
            if let Some(old) = keys
                .iter_mut()
                .find(|(key, until)| key.kid == kid && until.is_none())
            {
                old.1 = Some(published_until);
                keys.push((successor, None));
            }
            Ok(())
        }

        async fn prune(&self, now: DateTime<Utc>) -> Result<(), StoreFault> {
            self.up()?
                .retain(|(_, until)| until.is_none_or(|until| until > now));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_p256_for_es256_signatures_and_names_itself_by_its_thumbprint() {
        let key = generate(Utc::now()).unwrap();
        let jwk: serde_json::Value = serde_json::from_str(&key.public_jwk).unwrap();
        assert_eq!(jwk["kty"], "EC");
        assert_eq!(jwk["crv"], "P-256");
        assert_eq!(jwk["alg"], "ES256");
        assert_eq!(jwk["use"], "sig");
        assert_eq!(jwk["kid"], key.kid.as_str());
        assert_eq!(jwk.get("d"), None, "the private half stays private");
    }

    #[test]
    fn a_key_never_shows_its_private_half() {
        let key = generate(Utc::now()).unwrap();
        assert!(!format!("{key:?}").contains("PRIVATE KEY"));
    }
}
