//! Who is calling: tenants, scopes and the principal a verified token stands for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The tenant of calls that carry no token where the settings allow that.
pub const DEFAULT_TENANT: &str = "default";

/// Most characters a tenant name may have.
const TENANT_NAME_LIMIT: usize = 64;

/// The name of a tenant: 1 to 64 ASCII letters, digits, `-`, `_` or `.`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TenantId(String);

/// A tenant name outside the allowed form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no tenant name: 1 to 64 letters, digits, `-`, `_` or `.`, beginning with a letter or digit"
)]
pub struct BadTenantName(String);

impl TenantId {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TenantId {
    type Err = BadTenantName;

    fn from_str(name: &str) -> Result<Self, BadTenantName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins_well && name.len() <= TENANT_NAME_LIMIT && name.chars().all(allowed) {
            Ok(Self(name.to_owned()))
        } else {
            Err(BadTenantName(
                name.chars().take(TENANT_NAME_LIMIT).collect(),
            ))
        }
    }
}

impl TryFrom<String> for TenantId {
    type Error = BadTenantName;

    fn try_from(name: String) -> Result<Self, BadTenantName> {
        name.parse()
    }
}

impl From<TenantId> for String {
    fn from(tenant: TenantId) -> Self {
        tenant.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a token allows its bearer to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Stream calls.
    Streaming,
    /// Manage abbreviations and synthesise speech.
    Abbreviations,
    /// Ask the evaluator.
    Evaluator,
    /// Manage and read call scoring.
    Analytics,
    /// Watch and mend the service.
    Operator,
}

impl Scope {
    /// Every scope there is.
    pub const ALL: [Self; 5] = [
        Self::Streaming,
        Self::Abbreviations,
        Self::Evaluator,
        Self::Analytics,
        Self::Operator,
    ];

    /// The scope's name in tokens and settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Abbreviations => "abbreviations",
            Self::Evaluator => "evaluator",
            Self::Analytics => "analytics",
            Self::Operator => "operator",
        }
    }
}

/// A scope name nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scope; there are streaming, abbreviations, evaluator, analytics and operator")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(name: &str) -> Result<Self, UnknownScope> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == name)
            .ok_or_else(|| UnknownScope(name.chars().take(64).collect()))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The bearer of a token that passed every check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The tenant the token belongs to.
    pub tenant: TenantId,
    /// The OAuth client or user (`sub`).
    pub subject: String,
    /// What the token allows.
    pub scopes: Vec<Scope>,
    /// When the token expires, in seconds since 1970 UTC.
    pub expires_at: i64,
}

impl Principal {
    /// Whether the token allows `scope`.
    #[must_use]
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}
