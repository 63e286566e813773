//! Joins identity to the store behind it and to the HTTP routes before it.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use callwright_domain::identity::TenantId;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::Fault;
use super::data::Addresses;
use crate::config::{IdentitySettings, Issuer as IssuerSetting, Settings};
use crate::http;
use crate::http::token::{Token, TokenIssuer, TokenRefusal, TokenRequest};
use crate::identity::claims::Expectations;
use crate::identity::clients::{Client, ClientStore, scope_text, scopes_from};
use crate::identity::key_cache::StoredKeys;
use crate::identity::keys::{KeyStore, SigningKey};
use crate::identity::oidc::OidcKeys;
use crate::identity::{self, Issuer, KeyCache, Refusal, StoreFault, Verifier};
use crate::store::{self, Store};

/// The store as identity sees it.
#[derive(Debug, Clone)]
pub struct StoredIdentity(pub Store);

fn fault(fault: store::Error) -> StoreFault {
    StoreFault(fault.to_string())
}

#[async_trait]
impl KeyStore for StoredIdentity {
    async fn published(&self, now: DateTime<Utc>) -> Result<Vec<String>, StoreFault> {
        let keys = self.0.published_keys(now).await.map_err(fault)?;
        Ok(keys.into_iter().map(|key| key.public_jwk).collect())
    }

    async fn newest(&self) -> Result<Option<SigningKey>, StoreFault> {
        let key = self.0.newest_key().await.map_err(fault)?;
        Ok(key.map(|key| SigningKey {
            kid: key.kid,
            private_key_pem: key.private_key_pem,
            public_jwk: key.public_jwk,
            created_at: key.created_at,
        }))
    }

    async fn insert(&self, key: SigningKey) -> Result<(), StoreFault> {
        self.0.insert_key(row(key)).await.map(drop).map_err(fault)
    }

    async fn replace(
        &self,
        kid: &str,
        published_until: DateTime<Utc>,
        successor: SigningKey,
    ) -> Result<(), StoreFault> {
        self.0
            .replace_key(kid, published_until, row(successor))
            .await
            .map(drop)
            .map_err(fault)
    }

    async fn prune(&self, now: DateTime<Utc>) -> Result<(), StoreFault> {
        self.0.prune_keys(now).await.map(drop).map_err(fault)
    }
}

fn row(key: SigningKey) -> store::SigningKey {
    store::SigningKey {
        kid: key.kid,
        private_key_pem: key.private_key_pem,
        public_jwk: key.public_jwk,
        created_at: key.created_at,
        retired_at: None,
        published_until: None,
    }
}

#[async_trait]
impl ClientStore for StoredIdentity {
    async fn find(&self, id: &str) -> Result<Option<Client>, StoreFault> {
        let Some(client) = self.0.find_client(id).await.map_err(fault)? else {
            return Ok(None);
        };
        let tenant: TenantId = client
            .tenant
            .parse()
            .map_err(|_| StoreFault(format!("the client {} has a damaged tenant", client.id)))?;
        Ok(Some(Client {
            id: client.id,
            tenant,
            secret_hash: client.secret_hash,
            scopes: scopes_from(&client.scopes),
            created_at: client.created_at,
        }))
    }

    async fn add(&self, client: Client) -> Result<(), StoreFault> {
        let row = store::Client {
            id: client.id,
            tenant: client.tenant.into(),
            secret_hash: client.secret_hash,
            scopes: scope_text(&client.scopes),
            created_at: client.created_at,
        };
        self.0.add_client(row).await.map_err(fault)
    }
}

/// The embedded issuer as the HTTP routes see it.
#[derive(Clone)]
pub struct EmbeddedIssuer(pub Arc<Issuer>);

#[async_trait]
impl TokenIssuer for EmbeddedIssuer {
    fn url(&self) -> &str {
        &self.0.options().issuer
    }

    async fn issue(&self, request: TokenRequest) -> Result<Token, TokenRefusal> {
        let request = identity::TokenRequest {
            client_id: request.client_id,
            client_secret: request.client_secret,
            scope: request.scope,
        };
        let issued = self
            .0
            .issue(request)
            .await
            .map_err(|refusal| match refusal {
                Refusal::InvalidClient => TokenRefusal::InvalidClient,
                Refusal::InvalidScope(said) => TokenRefusal::InvalidScope(said),
                Refusal::Unavailable(cause) => TokenRefusal::Unavailable(cause.to_string()),
            })?;
        Ok(Token {
            access_token: issued.access_token,
            lifetime: issued.lifetime,
            scope: issued.scope,
        })
    }

    async fn jwks(&self) -> Result<Value, String> {
        self.0.jwks().await.map_err(|cause| cause.to_string())
    }
}

/// Everything that the doors need to know who calls.
#[derive(Clone)]
pub struct Identity {
    /// Checks tokens.
    pub verifier: Arc<Verifier>,
    /// What the identity routes answer with.
    pub routes: http::Identity,
}

impl Identity {
    /// Whether tokens can be checked: the keys have been read at least once, or can be now.
    pub(super) async fn check(&self) -> Result<(), String> {
        match self.verifier.keys().age() {
            Some(_) => Ok(()),
            None => self.verifier.keys().refresh().await,
        }
    }
}

/// The embedded issuer over `store`. Its URL is the `iss` of its tokens.
#[must_use]
pub fn embedded_issuer(settings: &IdentitySettings, store: &Store, api: SocketAddr) -> Issuer {
    let stored = Arc::new(StoredIdentity(store.clone()));
    let local = || format!("http://{}", Addresses::local(api));
    let options = identity::issuer::Options {
        issuer: settings.public_url.clone().unwrap_or_else(local),
        audience: settings.audience.clone(),
        tenant_claim: settings.tenant_claim.clone(),
        token_lifetime: settings.token_lifetime,
    };
    Issuer::new(options, stored.clone(), stored, identity::system_clock())
}

/// Opens identity as the settings say; makes the first signing key where there is none.
pub(super) async fn open(
    settings: &Settings,
    store: &Store,
    api: SocketAddr,
) -> Result<Identity, Fault> {
    let wanted = &settings.identity;
    let clock = identity::system_clock();
    let expected = |issuer: &str| Expectations {
        issuer: issuer.to_owned(),
        audience: wanted.audience.clone(),
        tenant_claim: wanted.tenant_claim.clone(),
        leeway: delta(wanted.leeway),
    };
    match &wanted.issuer {
        IssuerSetting::Embedded => {
            let issuer = Arc::new(embedded_issuer(wanted, store, api));
            issuer.prepare().await?;
            let source = StoredKeys {
                keys: Arc::new(StoredIdentity(store.clone())),
                clock: Arc::clone(&clock),
            };
            let keys = KeyCache::asking_at_most_every(
                delta(wanted.unknown_key_fetch_interval),
                Box::new(source),
                Arc::clone(&clock),
            );
            // Read before the first token comes, so that the first unknown key may be asked for at once.
            keys.refresh().await.map_err(identity::Error::Key)?;
            let expected = expected(&issuer.options().issuer);
            Ok(Identity {
                verifier: Arc::new(Verifier::new(keys, expected, clock)),
                routes: http::Identity::Embedded(Arc::new(EmbeddedIssuer(issuer))),
            })
        }
        IssuerSetting::Url(url) => {
            let source = OidcKeys::new(identity::oidc::Options {
                issuer: url.clone(),
                authorities_pem: None,
                fetch_timeout: wanted.fetch_timeout,
            })?;
            let keys = KeyCache::asking_at_most_every(
                delta(wanted.unknown_key_fetch_interval),
                Box::new(source),
                Arc::clone(&clock),
            );
            let ahead = keys.clone();
            // An issuer that is away now must not keep the service from starting; its log line says so.
            actix_rt::spawn(async move { ahead.refresh().await });
            Ok(Identity {
                verifier: Arc::new(Verifier::new(keys, expected(url), clock)),
                routes: http::Identity::External(url.clone()),
            })
        }
    }
}

/// Settings hold a few hours at most.
fn delta(duration: std::time::Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}
