//! Identity: who may ask for tokens, what a token says, and whether one holds.
//!
//! It issues access tokens for OAuth clients (the embedded issuer) and verifies tokens, its own and those of any OIDC
//! issuer. It keeps nothing itself: keys and clients live behind the ports [`keys::KeyStore`] and
//! [`clients::ClientStore`]. HTTP is not its business either.

pub mod claims;
pub mod clients;
pub mod issuer;
mod jwk;
pub mod key_cache;
pub mod keys;
pub mod oidc;
mod secrets;
pub mod verifier;

use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use issuer::{IssuedToken, Issuer, Refusal, TokenRequest};
pub use key_cache::KeyCache;
pub use verifier::Verifier;

/// Where the time comes from; tests set it.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The clock of the system.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(Utc::now)
}

/// The store behind a port did not answer; the text says why, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreFault(pub String);

/// Why identity could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Keys or clients could not be read or written.
    #[error("the store did not answer: {0}")]
    Store(#[from] StoreFault),
    /// A key could not be made, read or used.
    #[error("the signing key is of no use: {0}")]
    Key(String),
    /// A secret could not be hashed.
    #[error("a client secret could not be hashed: {0}")]
    Hash(String),
    /// Too many others wait for the same thing.
    #[error("too much at once: {0}")]
    Busy(&'static str),
    /// An issuer's address or certificates cannot be used.
    #[error("the issuer cannot be used: {0}")]
    Issuer(String),
}

/// Text from outside as it may stand in a message: at most 100 characters, none of them control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}
