//! The embedded issuer: signs access tokens for OAuth clients, and rotates the keys it signs with.
//!
//! Any number of replicas share the keys. Each asks for the newest key at least once a minute, so that after a rotation
//! no token is signed with the old key for longer than two minutes.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use callwright_domain::identity::{Scope, TenantId};
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{EncodingKey, Header};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::claims::LARGEST_LEEWAY;
use super::clients::{Client, ClientStore, scope_text};
use super::keys::{self, KeyStore};
use super::secrets::SecretChecker;
use super::{Clock, Error, shown};

/// How long a key is used before the store is asked whether it still signs.
///
/// Short, because a rotation may follow a leak; one small query each so often is nothing.
const REFRESH_AFTER: TimeDelta = TimeDelta::seconds(5);

/// How long a key is used while the store gives no answer to that.
const STALE_AFTER: TimeDelta = TimeDelta::seconds(120);

/// Longest wait for another task that asks the store for the key.
const REFRESH_DEADLINE: Duration = Duration::from_secs(15);

/// What the embedded issuer puts into its tokens.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `iss` of the tokens, and the base of the issuer's URLs; the same for all replicas.
    pub issuer: String,
    /// The `aud` of the tokens.
    pub audience: String,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// How long a token is good for.
    pub token_lifetime: Duration,
}

/// A client asking for a token.
#[derive(Debug)]
pub struct TokenRequest {
    /// Who asks.
    pub client_id: String,
    /// The proof.
    pub client_secret: SecretString,
    /// Scope names separated by spaces; nothing asks for all the client has.
    pub scope: Option<String>,
}

/// An access token.
#[derive(Debug)]
pub struct IssuedToken {
    /// The token, a signed JWT (RFC 9068).
    pub access_token: SecretString,
    /// How long it is good for.
    pub lifetime: Duration,
    /// The scopes it has, separated by spaces.
    pub scope: String,
}

/// Why a client gets no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such client, or not its secret.
    #[error("no client has this id and secret")]
    InvalidClient,
    /// A scope that does not exist or that the client does not have.
    #[error("{0}")]
    InvalidScope(String),
    /// It could not be found out now.
    #[error(transparent)]
    Unavailable(#[from] Error),
}

struct Signer {
    kid: String,
    key: EncodingKey,
    /// When the store last said that this key signs.
    confirmed: DateTime<Utc>,
}

/// The embedded issuer.
pub struct Issuer {
    options: Options,
    keys: Arc<dyn KeyStore>,
    clients: Arc<dyn ClientStore>,
    clock: Clock,
    secrets: SecretChecker,
    signer: ArcSwapOption<Signer>,
    refreshing: Mutex<()>,
}

impl Issuer {
    /// An issuer over `keys` and `clients`. It makes the first key when it is first needed.
    #[must_use]
    pub fn new(
        options: Options,
        keys: Arc<dyn KeyStore>,
        clients: Arc<dyn ClientStore>,
        clock: Clock,
    ) -> Self {
        Self {
            options,
            keys,
            clients,
            clock,
            secrets: SecretChecker::new(),
            signer: ArcSwapOption::empty(),
            refreshing: Mutex::new(()),
        }
    }

    /// What it puts into its tokens.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Makes sure that there is a key to sign with, so that a service says early when there can be none.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::Key`].
    pub async fn prepare(&self) -> Result<(), Error> {
        self.signer().await.map(drop)
    }

    /// Issues a token to a client that proves itself.
    ///
    /// # Errors
    /// [`Refusal`] says whether the client, its scope or the service is at fault.
    pub async fn issue(&self, request: TokenRequest) -> Result<IssuedToken, Refusal> {
        let client = self
            .clients
            .find(&request.client_id)
            .await
            .map_err(Error::from)?;
        let hash = client.as_ref().map(|client| client.secret_hash.clone());
        let proven = self.secrets.check(request.client_secret, hash).await?;
        let client = client.filter(|_| proven).ok_or(Refusal::InvalidClient)?;
        let scopes = granted(&client, request.scope.as_deref())?;
        Ok(self.mint(&client.tenant, &client.id, &scopes).await?)
    }

    /// Signs a token for `subject` of `tenant` without asking anyone. For the operator's own command line.
    ///
    /// # Errors
    /// [`Error`] when there is no key to sign with.
    pub async fn mint(
        &self,
        tenant: &TenantId,
        subject: &str,
        scopes: &[Scope],
    ) -> Result<IssuedToken, Error> {
        let signer = self.signer().await?;
        let scope = scope_text(scopes);
        let claims = self.claims(tenant, subject, &scope);
        let mut header = Header::new(keys::ALGORITHM);
        header.typ = Some("at+jwt".to_owned());
        header.kid = Some(signer.kid.clone());
        let token = jsonwebtoken::encode(&header, &claims, &signer.key)
            .map_err(|fault| Error::Key(fault.to_string()))?;
        Ok(IssuedToken {
            access_token: SecretString::from(token),
            lifetime: self.options.token_lifetime,
            scope,
        })
    }

    fn claims(&self, tenant: &TenantId, subject: &str, scope: &str) -> Map<String, Value> {
        let now = (self.clock)().timestamp();
        let lifetime = i64::try_from(self.options.token_lifetime.as_secs()).unwrap_or(i64::MAX);
        let pairs = [
            ("iss", json!(self.options.issuer)),
            ("aud", json!(self.options.audience)),
            ("sub", json!(subject)),
            ("client_id", json!(subject)),
            ("scope", json!(scope)),
            ("iat", json!(now)),
            ("nbf", json!(now)),
            ("exp", json!(now.saturating_add(lifetime))),
            ("jti", json!(Uuid::now_v7().to_string())),
            (self.options.tenant_claim.as_str(), json!(tenant.as_str())),
        ];
        pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The published keys as a JSON Web Key Set (RFC 7517, 5).
    ///
    /// # Errors
    /// [`Error::Store`] when the keys cannot be read, [`Error::Key`] when one is damaged.
    pub async fn jwks(&self) -> Result<Value, Error> {
        let keys = self.keys.published((self.clock)()).await?;
        let keys = keys
            .iter()
            .map(|jwk| serde_json::from_str(jwk))
            .collect::<Result<Vec<Value>, _>>()
            .map_err(|fault| Error::Key(fault.to_string()))?;
        Ok(json!({ "keys": keys }))
    }

    /// Lets a new key sign at once, and gives its key id. The old one stays published until its last token has expired;
    /// keys whose time is over are deleted.
    ///
    /// When several replicas rotate at once, the key changes once, and all of them name the same new key.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::Key`]; the old key then goes on signing.
    pub async fn rotate(&self) -> Result<String, Error> {
        let old = self.load().await?;
        let now = (self.clock)();
        // Another replica may sign with the old key until it must ask the store again.
        let lifetime = TimeDelta::from_std(self.options.token_lifetime).unwrap_or(TimeDelta::MAX);
        let published_until = now + lifetime + STALE_AFTER + LARGEST_LEEWAY;
        self.keys
            .replace(&old.kid, published_until, keys::generate(now)?)
            .await?;
        let signer = self.load().await?;
        self.signer.store(Some(Arc::clone(&signer)));
        self.keys.prune(now).await?;
        Ok(signer.kid.clone())
    }

    async fn signer(&self) -> Result<Arc<Signer>, Error> {
        if let Some(signer) = self.confirmed_within(REFRESH_AFTER) {
            return Ok(signer);
        }
        let _turn = tokio::time::timeout(REFRESH_DEADLINE, self.refreshing.lock())
            .await
            .map_err(|_| Error::Busy("the signing key is being read"))?;
        if let Some(signer) = self.confirmed_within(REFRESH_AFTER) {
            return Ok(signer);
        }
        match self.load().await {
            Ok(signer) => {
                self.signer.store(Some(Arc::clone(&signer)));
                Ok(signer)
            }
            Err(fault) => self.confirmed_within(STALE_AFTER).ok_or(fault),
        }
    }

    fn confirmed_within(&self, limit: TimeDelta) -> Option<Arc<Signer>> {
        let age = |signer: &Signer| (self.clock)() - signer.confirmed;
        // A clock set back makes an age negative; the store is asked then too.
        self.signer
            .load_full()
            .filter(|signer| (TimeDelta::zero()..limit).contains(&age(signer)))
    }

    /// Reads the key that signs; makes one where there is none.
    async fn load(&self) -> Result<Arc<Signer>, Error> {
        let confirmed = (self.clock)();
        let mut newest = self.keys.newest().await?;
        if newest.is_none() {
            self.keys.insert(keys::generate(confirmed)?).await?;
            // Another replica's key may have been first, so the store has the last word.
            newest = self.keys.newest().await?;
        }
        let newest = newest.ok_or_else(|| Error::Key("the store keeps none".to_owned()))?;
        let key = keys::encoding_key(&newest.private_key_pem)?;
        Ok(Arc::new(Signer {
            kid: newest.kid,
            key,
            confirmed,
        }))
    }
}

/// The scopes a token gets: those asked for, where the client has them all.
fn granted(client: &Client, asked: Option<&str>) -> Result<Vec<Scope>, Refusal> {
    let Some(asked) = asked.filter(|asked| !asked.trim().is_empty()) else {
        return Ok(client.scopes.clone());
    };
    let mut scopes = Vec::new();
    for name in asked.split_ascii_whitespace() {
        let scope: Scope = name
            .parse()
            .map_err(|_| Refusal::InvalidScope(format!("`{}` is no scope", shown(name))))?;
        if !client.scopes.contains(&scope) {
            return Err(Refusal::InvalidScope(format!(
                "this client may not have the scope `{scope}`"
            )));
        }
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes)
}

#[cfg(test)]
mod tests;
