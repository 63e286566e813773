//! Signing keys. At most one signs at a time, and the database itself holds to that.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamp};
use secrecy::{ExposeSecret, SecretString};

use super::connection::AnyConnection;
use super::schema::signing_keys;
use super::{Error, Store, stored};

/// A signing key as the store keeps it.
#[derive(Debug, Clone)]
pub struct SigningKey {
    /// The key id that tokens name.
    pub kid: String,
    /// PKCS #8, PEM.
    pub private_key_pem: SecretString,
    /// The public half, a JSON Web Key.
    pub public_jwk: String,
    /// When it began to sign.
    pub created_at: DateTime<Utc>,
    /// When it stopped to sign; nothing for the one that signs.
    pub retired_at: Option<DateTime<Utc>>,
    /// Until when a retired key stays published.
    pub published_until: Option<DateTime<Utc>>,
}

/// What became of a key offered to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyInsertion {
    /// It signs from now on.
    Signs,
    /// Another key was there first, and goes on signing.
    AnotherSigns,
}

#[derive(Queryable)]
struct Row {
    kid: String,
    private_key_pem: String,
    public_jwk: String,
    created_at: NaiveDateTime,
    retired_at: Option<NaiveDateTime>,
    published_until: Option<NaiveDateTime>,
}

impl From<Row> for SigningKey {
    fn from(row: Row) -> Self {
        Self {
            kid: row.kid,
            private_key_pem: SecretString::from(row.private_key_pem),
            public_jwk: row.public_jwk,
            created_at: row.created_at.and_utc(),
            retired_at: row.retired_at.map(|at| at.and_utc()),
            published_until: row.published_until.map(|at| at.and_utc()),
        }
    }
}

impl Store {
    /// The keys that verify tokens at `now`: the one that signs and the retired ones still published, newest first.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn published_keys(&self, now: DateTime<Utc>) -> Result<Vec<SigningKey>, Error> {
        self.run("listing the published keys", move |connection| {
            let still = signing_keys::published_until.gt(stored(now));
            let rows: Vec<Row> = signing_keys::table
                .filter(signing_keys::retired_at.is_null().or(still))
                .order(signing_keys::created_at.desc())
                .load(connection)?;
            Ok(rows.into_iter().map(SigningKey::from).collect())
        })
        .await
    }

    /// The key that signs, if there is one yet.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn newest_key(&self) -> Result<Option<SigningKey>, Error> {
        self.run("looking up the signing key", |connection| {
            let row: Option<Row> = signing_keys::table
                .filter(signing_keys::retired_at.is_null())
                .first(connection)
                .optional()?;
            Ok(row.map(SigningKey::from))
        })
        .await
    }

    /// Offers the first key. Of any number offered at once, by any number of replicas, exactly one comes to sign.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn insert_key(&self, key: SigningKey) -> Result<KeyInsertion, Error> {
        self.run("adding a signing key", move |connection| {
            insert(connection, &key)
        })
        .await
    }

    /// Retires `kid` and lets `successor` sign, in one step. Where `kid` does not sign any more, nothing changes.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn replace_key(
        &self,
        kid: &str,
        published_until: DateTime<Utc>,
        successor: SigningKey,
    ) -> Result<KeyInsertion, Error> {
        let kid = kid.to_owned();
        self.run("rotating the signing key", move |connection| {
            connection.transaction(|connection| {
                let signing = signing_keys::table
                    .filter(signing_keys::kid.eq(kid))
                    .filter(signing_keys::retired_at.is_null());
                let retired = diesel::update(signing)
                    .set((
                        signing_keys::retired_at.eq(stored(successor.created_at)),
                        signing_keys::published_until.eq(stored(published_until)),
                    ))
                    .execute(connection)?;
                if retired == 0 {
                    Ok(KeyInsertion::AnotherSigns)
                } else {
                    insert(connection, &successor)
                }
            })
        })
        .await
    }

    /// Deletes the retired keys that are no longer published at `now`, and says how many there were.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn prune_keys(&self, now: DateTime<Utc>) -> Result<usize, Error> {
        self.run("pruning the signing keys", move |connection| {
            let over = signing_keys::table.filter(signing_keys::published_until.le(stored(now)));
            diesel::delete(over).execute(connection)
        })
        .await
    }
}

/// The unique index over the unretired rows makes a second signing key a conflict, which then changes nothing.
fn insert(connection: &mut AnyConnection, key: &SigningKey) -> QueryResult<KeyInsertion> {
    let inserted = diesel::sql_query(
        "INSERT INTO signing_keys (kid, private_key_pem, public_jwk, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING",
    )
    .bind::<Text, _>(&key.kid)
    .bind::<Text, _>(key.private_key_pem.expose_secret())
    .bind::<Text, _>(&key.public_jwk)
    .bind::<Timestamp, _>(stored(key.created_at))
    .execute(connection)?;
    Ok(if inserted == 1 {
        KeyInsertion::Signs
    } else {
        KeyInsertion::AnotherSigns
    })
}
