//! What a token claims, and whether that holds now and here.
//!
//! The checks are made here rather than by the JWT library, because the time is an argument and because a refusal must
//! say what was found and what was wanted. The signature has been checked before.

use callwright_actors::ports::TokenFault;
use callwright_domain::identity::{Principal, Scope, TenantId};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::{Map, Value};

use super::shown;

/// The most that the clocks of issuer and service may be allowed to differ: beyond it expired tokens would live on.
pub const LARGEST_LEEWAY: TimeDelta = TimeDelta::seconds(300);

/// What a token must claim to be accepted.
#[derive(Debug, Clone)]
pub struct Expectations {
    /// The `iss`, exactly.
    pub issuer: String,
    /// The `aud`, or one of them.
    pub audience: String,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// How far the clocks of issuer and service may differ; [`LARGEST_LEEWAY`] at most.
    pub leeway: TimeDelta,
}

/// Gives the principal that `claims` stand for.
pub(super) fn check(
    claims: &Map<String, Value>,
    expected: &Expectations,
    now: DateTime<Utc>,
) -> Result<Principal, TokenFault> {
    check_issuer(claims, &expected.issuer)?;
    check_audience(claims, &expected.audience)?;
    let expires_at = check_times(claims, expected.leeway.min(LARGEST_LEEWAY), now)?;
    Ok(Principal {
        tenant: tenant(claims, &expected.tenant_claim)?,
        subject: subject(claims)?,
        scopes: scopes(claims),
        expires_at: expires_at.timestamp(),
    })
}

fn refused(text: impl Into<String>) -> TokenFault {
    TokenFault::Refused(text.into())
}

fn check_issuer(claims: &Map<String, Value>, expected: &str) -> Result<(), TokenFault> {
    match claims.get("iss").and_then(Value::as_str) {
        Some(issuer) if issuer == expected => Ok(()),
        Some(other) => Err(refused(format!(
            "the token is from the issuer `{}`, not `{expected}`",
            shown(other)
        ))),
        None => Err(refused("the token names no issuer (`iss`)")),
    }
}

fn check_audience(claims: &Map<String, Value>, expected: &str) -> Result<(), TokenFault> {
    let audiences = texts(claims.get("aud"));
    if audiences.contains(&expected) {
        return Ok(());
    }
    if audiences.is_empty() {
        return Err(refused(format!(
            "the token names no audience (`aud`); it must be for `{expected}`"
        )));
    }
    Err(refused(format!(
        "the token is for audience `{}`, not `{expected}`",
        shown(&audiences.join("`, `"))
    )))
}

fn check_times(
    claims: &Map<String, Value>,
    leeway: TimeDelta,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, TokenFault> {
    let expires = moment(claims, "exp")?
        .ok_or_else(|| refused("the token never expires (it has no `exp`)"))?;
    if now >= expires + leeway {
        return Err(refused(format!("the token expired at {}", clock(expires))));
    }
    if let Some(begins) = moment(claims, "nbf")?
        && now + leeway < begins
    {
        return Err(refused(format!(
            "the token is not valid before {}",
            clock(begins)
        )));
    }
    Ok(expires)
}

fn moment(claims: &Map<String, Value>, name: &str) -> Result<Option<DateTime<Utc>>, TokenFault> {
    let Some(value) = claims.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    // RFC 7519 allows fractions of a second.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast from float to integer saturates, and the range is checked next"
    )]
    let seconds = value
        .as_i64()
        .or_else(|| value.as_f64().map(|seconds| seconds as i64));
    // Up to the year 9999: beyond, sums with the leeway could leave the calendar.
    seconds
        .filter(|seconds| (0..253_402_300_800).contains(seconds))
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .map(Some)
        .ok_or_else(|| {
            refused(format!(
                "the token's `{name}` is no time in seconds since 1970"
            ))
        })
}

fn clock(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn tenant(claims: &Map<String, Value>, claim: &str) -> Result<TenantId, TokenFault> {
    match claims.get(claim).and_then(Value::as_str) {
        Some(name) => name.parse().map_err(|_| {
            refused(format!(
                "the token's claim `{claim}` is `{}`, which is no tenant name",
                shown(name)
            ))
        }),
        None => Err(refused(format!(
            "the token names no tenant (it has no claim `{claim}`)"
        ))),
    }
}

fn subject(claims: &Map<String, Value>) -> Result<String, TokenFault> {
    ["sub", "client_id", "azp"]
        .into_iter()
        .find_map(|name| claims.get(name).and_then(Value::as_str))
        .map(shown)
        .ok_or_else(|| refused("the token names no subject (`sub`)"))
}

/// The scopes known here, from `scope` (RFC 8693: one string with spaces; some issuers: a list) or `scp`.
fn scopes(claims: &Map<String, Value>) -> Vec<Scope> {
    let value = claims.get("scope").or_else(|| claims.get("scp"));
    let mut scopes: Vec<Scope> = texts(value)
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .filter_map(|name| name.parse().ok())
        .collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// The strings of a claim that is one string or a list of them.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_790_000_000;

    fn outcome(change: impl FnOnce(&mut Value)) -> Result<Principal, String> {
        let mut claims = json!({
            "iss": "https://id.example", "aud": "callwright", "sub": "robot", "tenant": "acme",
            "scope": "streaming operator", "nbf": NOW, "exp": NOW + 60,
        });
        change(&mut claims);
        let expected = Expectations {
            issuer: "https://id.example".to_owned(),
            audience: "callwright".to_owned(),
            tenant_claim: "tenant".to_owned(),
            leeway: TimeDelta::seconds(30),
        };
        let now = DateTime::from_timestamp(NOW, 0).unwrap();
        check(claims.as_object().unwrap(), &expected, now).map_err(|fault| fault.to_string())
    }

    #[test]
    fn good_claims_make_a_principal() {
        let principal = outcome(|_| ()).unwrap();
        assert_eq!(principal.tenant.as_str(), "acme");
        assert_eq!(principal.subject, "robot");
        assert_eq!(principal.scopes, [Scope::Streaming, Scope::Operator]);
        assert_eq!(principal.expires_at, NOW + 60);
    }

    #[test]
    fn every_bad_claim_is_refused_with_what_is_wrong() {
        type Change = fn(&mut Value);
        let cases: [(Change, &str); 14] = [
            (
                |claims| claims["iss"] = json!("x"),
                "the token is from the issuer `x`, not `https://id.example`",
            ),
            (
                |claims| claims["iss"] = json!(null),
                "the token names no issuer (`iss`)",
            ),
            (
                |claims| claims["aud"] = json!("x"),
                "the token is for audience `x`, not `callwright`",
            ),
            (
                |claims| claims["aud"] = json!(["x", "y"]),
                "the token is for audience `x`, `y`, not `callwright`",
            ),
            (
                |claims| claims["aud"] = json!([]),
                "the token names no audience (`aud`); it must be for `callwright`",
            ),
            (
                |claims| claims["exp"] = json!(null),
                "the token never expires (it has no `exp`)",
            ),
            (
                |claims| claims["exp"] = json!(NOW - 30),
                "the token expired at 2026-09-21T14:12:50Z",
            ),
            (
                |claims| claims["exp"] = json!("soon"),
                "the token's `exp` is no time in seconds since 1970",
            ),
            (
                |claims| claims["exp"] = json!(1e300),
                "the token's `exp` is no time in seconds since 1970",
            ),
            (
                |claims| claims["nbf"] = json!(NOW + 31),
                "the token is not valid before 2026-09-21T14:13:51Z",
            ),
            (
                |claims| claims["tenant"] = json!(null),
                "the token names no tenant (it has no claim `tenant`)",
            ),
            (
                |claims| claims["tenant"] = json!(7),
                "the token names no tenant (it has no claim `tenant`)",
            ),
            (
                |claims| claims["tenant"] = json!("../x"),
                "the token's claim `tenant` is `../x`, which is no tenant name",
            ),
            (
                |claims| claims["sub"] = json!(null),
                "the token names no subject (`sub`)",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(outcome(change), Err(expected.to_owned()));
        }
    }

    #[test]
    fn clocks_may_differ_by_the_leeway() {
        assert!(outcome(|claims| claims["exp"] = json!(NOW - 29)).is_ok());
        assert!(outcome(|claims| claims["nbf"] = json!(NOW + 30)).is_ok());
        assert!(outcome(|claims| claims["nbf"] = json!(null)).is_ok());
    }

    #[test]
    fn scopes_come_as_text_or_list_and_unknown_ones_are_left_out() {
        let cases = [
            (
                json!({ "scope": "streaming email streaming" }),
                vec![Scope::Streaming],
            ),
            (
                json!({ "scope": ["operator", "streaming"] }),
                vec![Scope::Streaming, Scope::Operator],
            ),
            (json!({ "scp": ["analytics"] }), vec![Scope::Analytics]),
            (
                json!({ "scp": "evaluator abbreviations" }),
                vec![Scope::Abbreviations, Scope::Evaluator],
            ),
            (json!({}), vec![]),
            (json!({ "scope": 7 }), vec![]),
        ];
        for (claims, expected) in cases {
            assert_eq!(scopes(claims.as_object().unwrap()), expected, "{claims}");
        }
    }
}
