//! Public keys as they verify tokens: each with the algorithms that it, and nothing else, is good for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

/// A public key pinned to its algorithms.
pub(super) struct VerificationKey {
    /// The key id, where the key has one.
    pub(super) kid: Option<String>,
    /// The algorithms a token signed with it may name.
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

impl VerificationKey {
    /// Reads a JSON Web Key; nothing when it is not one that verifies tokens here.
    ///
    /// Symmetric keys never are: a key that is published cannot be a secret.
    pub(super) fn from_jwk(jwk: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(jwk.clone()).ok()?;
        if !is_for_signatures(&jwk) {
            return None;
        }
        let algorithms = algorithms(&jwk)?;
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        Some(Self {
            kid: jwk.common.key_id,
            algorithms,
            key,
        })
    }
}

fn is_for_signatures(jwk: &Jwk) -> bool {
    let use_fits = jwk
        .common
        .public_key_use
        .as_ref()
        .is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
    let operations_fit = jwk
        .common
        .key_operations
        .as_ref()
        .is_none_or(|operations| operations.contains(&KeyOperations::Verify));
    use_fits && operations_fit
}

/// The algorithms of a key, by its type and, where it says so, its `alg` (RFC 7518, 3.1 and 6).
fn algorithms(jwk: &Jwk) -> Option<Vec<Algorithm>> {
    let possible = match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(point) => match point.curve {
            EllipticCurve::P256 if is_point(&point.x, &point.y, 32) => vec![Algorithm::ES256],
            EllipticCurve::P384 if is_point(&point.x, &point.y, 48) => vec![Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::RSA(_) => vec![Algorithm::RS256, Algorithm::PS256],
        _ => return None,
    };
    let Some(said) = jwk.common.key_algorithm else {
        return Some(possible);
    };
    let pinned: Vec<Algorithm> = possible
        .into_iter()
        .filter(|algorithm| KeyAlgorithm::from(*algorithm) == said)
        .collect();
    (!pinned.is_empty()).then_some(pinned)
}

/// Whether both coordinates have the length of the curve's field, in bytes.
fn is_point(x: &str, y: &str, length: usize) -> bool {
    [x, y].into_iter().all(|part| {
        URL_SAFE_NO_PAD
            .decode(part)
            .is_ok_and(|bytes| bytes.len() == length)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ec(curve: &str, bytes: usize) -> Value {
        let part = URL_SAFE_NO_PAD.encode(vec![7_u8; bytes]);
        json!({ "kty": "EC", "crv": curve, "x": part, "y": part, "kid": "k" })
    }

    fn with(mut jwk: Value, name: &str, value: Value) -> Value {
        jwk[name] = value;
        jwk
    }

    #[test]
    fn a_key_is_pinned_to_what_its_type_and_alg_say() {
        let rsa = json!({ "kty": "RSA", "n": URL_SAFE_NO_PAD.encode([1_u8; 256]), "e": "AQAB", "kid": "k" });
        let cases = [
            (ec("P-256", 32), Some(vec![Algorithm::ES256])),
            (ec("P-384", 48), Some(vec![Algorithm::ES384])),
            (rsa.clone(), Some(vec![Algorithm::RS256, Algorithm::PS256])),
            (
                with(rsa.clone(), "alg", json!("PS256")),
                Some(vec![Algorithm::PS256]),
            ),
            (
                with(rsa.clone(), "alg", json!("RS256")),
                Some(vec![Algorithm::RS256]),
            ),
            (with(rsa.clone(), "alg", json!("RS512")), None),
            (with(rsa.clone(), "alg", json!("ES256")), None),
            (with(rsa.clone(), "alg", json!("HS256")), None),
            (with(rsa.clone(), "use", json!("enc")), None),
            (with(rsa.clone(), "key_ops", json!(["encrypt"])), None),
            (
                with(rsa, "key_ops", json!(["verify"])),
                Some(vec![Algorithm::RS256, Algorithm::PS256]),
            ),
            (ec("P-256", 31), None),
            (ec("P-521", 66), None),
            (with(ec("P-256", 32), "alg", json!("ES384")), None),
            (json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "k" }), None),
            (
                json!({ "kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "k" }),
                None,
            ),
            (json!({ "kty": "new", "kid": "k" }), None),
            (json!("not an object"), None),
        ];
        for (jwk, expected) in cases {
            let found = VerificationKey::from_jwk(&jwk).map(|key| key.algorithms);
            assert_eq!(found, expected, "{jwk}");
        }
    }
}
