//! OAuth clients: the port behind which they are kept, and how one is registered.

use std::sync::Arc;

use async_trait::async_trait;
use callwright_domain::identity::{Scope, TenantId};
use chrono::{DateTime, Utc};
use secrecy::SecretString;
use uuid::Uuid;

use super::{Error, StoreFault, secrets};

/// An OAuth client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// UUID v7 text.
    pub id: String,
    /// Whose client it is.
    pub tenant: TenantId,
    /// The argon2id hash of its secret, in PHC form.
    pub secret_hash: String,
    /// What its tokens may allow.
    pub scopes: Vec<Scope>,
    /// When it was registered.
    pub created_at: DateTime<Utc>,
}

/// Keeps the OAuth clients.
#[async_trait]
pub trait ClientStore: Send + Sync {
    /// The client `id`, if there is one.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn find(&self, id: &str) -> Result<Option<Client>, StoreFault>;

    /// Adds a client, and its tenant where that is new.
    ///
    /// # Errors
    /// [`StoreFault`] when the store does not answer.
    async fn add(&self, client: Client) -> Result<(), StoreFault>;
}

/// What a new client signs in with. The secret is shown once and kept nowhere.
#[derive(Debug)]
pub struct Credentials {
    /// The client's id.
    pub client_id: String,
    /// 43 characters of base64url: 256 random bits.
    pub client_secret: SecretString,
}

/// Registers a client of `tenant` that may ask for `scopes`.
///
/// # Errors
/// [`Error::Hash`] when the secret cannot be hashed, [`Error::Store`] when the client cannot be kept.
pub async fn register(
    store: &Arc<dyn ClientStore>,
    tenant: TenantId,
    scopes: Vec<Scope>,
    now: DateTime<Utc>,
) -> Result<Credentials, Error> {
    let client_secret = secrets::generate();
    let secret_hash = secrets::hash(client_secret.clone()).await?;
    let id = Uuid::now_v7().to_string();
    let client = Client {
        id: id.clone(),
        tenant,
        secret_hash,
        scopes,
        created_at: now,
    };
    store.add(client).await?;
    Ok(Credentials {
        client_id: id,
        client_secret,
    })
}

/// Scope names separated by single spaces, as tokens and the store have them.
#[must_use]
pub fn scope_text(scopes: &[Scope]) -> String {
    scopes
        .iter()
        .map(|scope| scope.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Reads what [`scope_text`] wrote; names nobody knows any more are left out.
#[must_use]
pub fn scopes_from(text: &str) -> Vec<Scope> {
    text.split_ascii_whitespace()
        .filter_map(|name| name.parse().ok())
        .collect()
}

#[cfg(test)]
pub(crate) mod memory {
    //! Clients in memory.

    use std::sync::Mutex;

    use super::{Client, ClientStore, StoreFault, async_trait};

    #[derive(Default)]
    pub(crate) struct MemoryClients(Mutex<Vec<Client>>);

    #[async_trait]
    impl ClientStore for MemoryClients {
        async fn find(&self, id: &str) -> Result<Option<Client>, StoreFault> {
            Ok(self
                .0
                .lock()
                .unwrap()
                .iter()
                .find(|client| client.id == id)
                .cloned())
        }

        async fn add(&self, client: Client) -> Result<(), StoreFault> {
            self.0.lock().unwrap().push(client);
            Ok(())
        }
    }
}
