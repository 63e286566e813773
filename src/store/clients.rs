//! OAuth clients: programs that may ask for tokens.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use super::schema::oauth_clients;
use super::{Error, Store, stored, tenants};

/// An OAuth client as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// UUID v7 text.
    pub id: String,
    /// Whose client it is.
    pub tenant: String,
    /// An argon2id hash in PHC form; never the secret.
    pub secret_hash: String,
    /// Scope names, separated by single spaces.
    pub scopes: String,
    /// When it was added.
    pub created_at: DateTime<Utc>,
}

#[derive(Queryable, Insertable)]
#[diesel(table_name = oauth_clients)]
struct Row {
    id: String,
    tenant: String,
    secret_hash: String,
    scopes: String,
    created_at: NaiveDateTime,
}

impl From<Row> for Client {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            tenant: row.tenant,
            secret_hash: row.secret_hash,
            scopes: row.scopes,
            created_at: row.created_at.and_utc(),
        }
    }
}

impl Store {
    /// Adds a client, and its tenant where that is new.
    ///
    /// # Errors
    /// [`Error::Query`] with a unique violation when the id is taken; [`Error`] when the store does not answer.
    pub async fn add_client(&self, client: Client) -> Result<(), Error> {
        self.run("adding an OAuth client", move |connection| {
            connection.transaction(|connection| {
                tenants::ensure(connection, &client.tenant, client.created_at)?;
                let row = Row {
                    created_at: stored(client.created_at),
                    id: client.id,
                    tenant: client.tenant,
                    secret_hash: client.secret_hash,
                    scopes: client.scopes,
                };
                diesel::insert_into(oauth_clients::table)
                    .values(row)
                    .execute(connection)?;
                Ok(())
            })
        })
        .await
    }

    /// The clients of `tenant`, oldest first.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn clients(&self, tenant: &str) -> Result<Vec<Client>, Error> {
        let tenant = tenant.to_owned();
        self.run("listing the OAuth clients", move |connection| {
            let rows: Vec<Row> = oauth_clients::table
                .filter(oauth_clients::tenant.eq(tenant))
                .order((oauth_clients::created_at, oauth_clients::id))
                .load(connection)?;
            Ok(rows.into_iter().map(Client::from).collect())
        })
        .await
    }

    /// Removes a client of `tenant`, and says whether there was one. Tokens it has live on until they expire.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn remove_client(&self, tenant: &str, id: &str) -> Result<bool, Error> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        self.run("removing an OAuth client", move |connection| {
            let mine = oauth_clients::table
                .filter(oauth_clients::tenant.eq(tenant))
                .filter(oauth_clients::id.eq(id));
            Ok(diesel::delete(mine).execute(connection)? == 1)
        })
        .await
    }

    /// The client `id` of whatever tenant. Only for a client that proves itself: the id itself names the tenant then.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn find_client(&self, id: &str) -> Result<Option<Client>, Error> {
        let id = id.to_owned();
        self.run("looking up an OAuth client", move |connection| {
            let row: Option<Row> = oauth_clients::table.find(id).first(connection).optional()?;
            Ok(row.map(Client::from))
        })
        .await
    }
}
