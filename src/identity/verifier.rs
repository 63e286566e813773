//! Verifies access tokens: form, key, pinned algorithm, signature, then claims.

use std::collections::HashSet;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callwright_actors::ports::{TokenFault, TokenVerifier};
use callwright_domain::identity::Principal;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::claims::{self, Expectations};
use super::jwk::VerificationKey;
use super::{Clock, KeyCache, shown};

/// Largest token looked at. Real ones have 1 to 4 KiB; HTTP servers refuse headers beyond some 8 to 16 KiB anyway.
const TOKEN_LIMIT: usize = 16 * 1024;

/// The algorithms a token may be signed with. Symmetric ones are not among them: their key would have to be shared.
const ACCEPTED: [(&str, Algorithm); 4] = [
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("RS256", Algorithm::RS256),
    ("PS256", Algorithm::PS256),
];

/// Verifies the tokens of one issuer.
pub struct Verifier {
    keys: KeyCache,
    expected: Expectations,
    clock: Clock,
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl Verifier {
    /// A verifier of tokens signed with `keys` that claim what is `expected`.
    #[must_use]
    pub fn new(keys: KeyCache, expected: Expectations, clock: Clock) -> Self {
        Self {
            keys,
            expected,
            clock,
        }
    }

    /// The keys, to refresh them or to ask for their age.
    #[must_use]
    pub fn keys(&self) -> &KeyCache {
        &self.keys
    }
}

#[async_trait]
impl TokenVerifier for Verifier {
    async fn verify(&self, token: &str) -> Result<Principal, TokenFault> {
        let header = header(token)?;
        let algorithm = algorithm(&header.alg)?;
        check_header(&header)?;
        let key = self.keys.find(header.kid.as_deref(), algorithm).await?;
        let claims = signed_claims(token, &key, algorithm)?;
        claims::check(&claims, &self.expected, (self.clock)())
    }
}

fn refused(text: impl Into<String>) -> TokenFault {
    TokenFault::Refused(text.into())
}

/// Reads the header before anything is decided by it: a library would say no more than that it is malformed.
fn header(token: &str) -> Result<TokenHeader, TokenFault> {
    if token.len() > TOKEN_LIMIT {
        return Err(refused(format!(
            "the token is longer than {} KiB",
            TOKEN_LIMIT / 1024
        )));
    }
    let mut parts = token.split('.');
    let (Some(first), Some(_), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(refused(
            "the token is no signed JWT (three parts with dots between them)",
        ));
    };
    let unreadable = || refused("the token's header cannot be read");
    let bytes = URL_SAFE_NO_PAD.decode(first).map_err(|_| unreadable())?;
    serde_json::from_slice(&bytes).map_err(|_| unreadable())
}

fn algorithm(name: &str) -> Result<Algorithm, TokenFault> {
    if name.eq_ignore_ascii_case("none") {
        return Err(refused("the token is not signed (its `alg` is `none`)"));
    }
    ACCEPTED
        .into_iter()
        .find(|(accepted, _)| *accepted == name)
        .map(|(_, algorithm)| algorithm)
        .ok_or_else(|| {
            refused(format!(
                "the token is signed with `{}`; accepted are ES256, ES384, RS256 and PS256",
                shown(name)
            ))
        })
}

fn check_header(header: &TokenHeader) -> Result<(), TokenFault> {
    if header.crit.is_some() {
        return Err(refused(
            "the token demands extensions (`crit`) that are not supported",
        ));
    }
    let Some(typ) = &header.typ else {
        return Ok(());
    };
    let bare = typ.to_ascii_lowercase();
    let bare = bare.strip_prefix("application/").unwrap_or(&bare);
    if matches!(bare, "at+jwt" | "jwt") {
        return Ok(());
    }
    Err(refused(format!(
        "the token is of type `{}`, not an access token",
        shown(typ)
    )))
}

fn signed_claims(
    token: &str,
    key: &VerificationKey,
    algorithm: Algorithm,
) -> Result<Map<String, Value>, TokenFault> {
    let mut validation = Validation::new(algorithm);
    // The claims are checked afterwards, against our own clock and with messages that say what was found.
    validation.required_spec_claims = HashSet::new();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    let decoded =
        jsonwebtoken::decode(token, &key.key, &validation).map_err(|fault| match fault.kind() {
            ErrorKind::InvalidSignature | ErrorKind::Base64(_) => {
                refused("the token's signature does not match its content and key")
            }
            _ => refused("the token cannot be read"),
        })?;
    Ok(decoded.claims)
}

#[cfg(test)]
mod tests;
