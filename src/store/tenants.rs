//! Tenants.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamp};

use super::connection::AnyConnection;
use super::schema::tenants;
use super::{Error, Store, stored};

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub id: String,
    /// When it was first seen.
    pub created_at: DateTime<Utc>,
}

impl Store {
    /// Makes sure that `tenant` exists, and says whether it had to be made.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn ensure_tenant(&self, tenant: &str, now: DateTime<Utc>) -> Result<bool, Error> {
        let tenant = tenant.to_owned();
        self.run("adding a tenant", move |connection| {
            ensure(connection, &tenant, now)
        })
        .await
    }

    /// Every tenant, by name.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn tenants(&self) -> Result<Vec<Tenant>, Error> {
        self.run("listing the tenants", |connection| {
            let rows: Vec<(String, chrono::NaiveDateTime)> = tenants::table
                .select((tenants::id, tenants::created_at))
                .order(tenants::id)
                .load(connection)?;
            Ok(rows
                .into_iter()
                .map(|(id, at)| Tenant {
                    id,
                    created_at: at.and_utc(),
                })
                .collect())
        })
        .await
    }
}

/// The statement behind [`Store::ensure_tenant`]. As the first of a transaction it also takes SQLite's write lock.
pub(super) fn ensure(
    connection: &mut AnyConnection,
    tenant: &str,
    now: DateTime<Utc>,
) -> QueryResult<bool> {
    let made = diesel::sql_query(
        "INSERT INTO tenants (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
    )
    .bind::<Text, _>(tenant)
    .bind::<Timestamp, _>(stored(now))
    .execute(connection)?;
    Ok(made == 1)
}
