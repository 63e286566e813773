//! The store: what must outlive the process, in SQLite or PostgreSQL, through one set of queries.
//!
//! It owns the pool, the migrations and every SQL statement. It knows nothing of tokens, flows or HTTP: the composition
//! root adapts its plain functions to the ports of others. Every call runs off the caller's thread and has a deadline.

mod clients;
mod connection;
mod error;
mod keys;
mod location;
mod migrations;
mod projects;
mod schema;
mod tenants;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::QueryResult;
use diesel::connection::SimpleConnection as _;
use diesel::r2d2::{NopErrorHandler, Pool};
use secrecy::SecretString;
use tokio::sync::Semaphore;

pub use clients::Client;
pub use error::Error;
pub use keys::{KeyInsertion, SigningKey};
pub use projects::{Applied, Change, Project};
pub use tenants::Tenant;

use connection::{AnyConnection, Connector};
use location::Location;

/// Added to the sum of the other deadlines before a call is given up: the thread itself may have had to wait for a core.
const SLACK: Duration = Duration::from_secs(1);

/// `last_success` before the first success.
const NEVER: u64 = u64::MAX;

/// How to reach the store.
#[derive(Debug, Clone)]
pub struct Options {
    /// `sqlite:path` (relative to the working directory) or `postgres://user:password@host:port/database`.
    pub url: SecretString,
    /// Most connections at once, from 1.
    pub pool_size: u32,
    /// Longest wait for a free connection, and for making one.
    pub acquire_timeout: Duration,
    /// Longest run of a statement in PostgreSQL; longest wait for another writer in SQLite.
    pub statement_timeout: Duration,
}

impl Options {
    /// Options with the defaults of the settings: 8 connections, 5 s to get one, 10 s a statement.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            pool_size: 8,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
        }
    }
}

/// A handle to the store; clones share one pool.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    pool: Pool<Connector>,
    /// As many permits as connections: callers wait here, on no thread, and never fill the blocking pool.
    permits: Semaphore,
    location: Arc<Location>,
    options: Options,
    opened: Instant,
    /// Milliseconds from `opened` to the end of the last call that succeeded.
    last_success: AtomicU64,
}

impl Store {
    /// Opens the store and makes sure that it answers. Migrates nothing.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::File`] when an SQLite file cannot be made, [`Error::Unreachable`] when there is no
    /// connection within the acquire timeout.
    pub async fn open(options: Options) -> Result<Self, Error> {
        let location = Arc::new(Location::parse(&options.url)?);
        if let Location::Sqlite { path } = location.as_ref() {
            location::prepare_file(path)?;
        }
        let connector = Connector {
            location: Arc::clone(&location),
            acquire_timeout: options.acquire_timeout,
            statement_timeout: options.statement_timeout,
        };
        let size = options.pool_size.max(1);
        // The pool's own error handler would log each failed attempt; failures are reported once, by the caller.
        let pool = Pool::builder()
            .max_size(size)
            .min_idle(Some(0))
            .connection_timeout(options.acquire_timeout)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(connector);
        let inner = Inner {
            pool,
            permits: Semaphore::new(size as usize),
            location,
            options,
            opened: Instant::now(),
            last_success: AtomicU64::new(NEVER),
        };
        let store = Self {
            inner: Arc::new(inner),
        };
        store.ping().await?;
        Ok(store)
    }

    /// Asks the store for a sign of life.
    ///
    /// # Errors
    /// [`Error`] when it gives none within the deadlines.
    pub async fn ping(&self) -> Result<(), Error> {
        self.run("asking for a sign of life", |connection| {
            connection.batch_execute("SELECT 1")
        })
        .await
    }

    /// How long ago a call last succeeded; nothing before the first success.
    #[must_use]
    pub fn last_success_age(&self) -> Option<Duration> {
        let at = self.inner.last_success.load(Ordering::Relaxed);
        (at != NEVER).then(|| {
            self.inner
                .opened
                .elapsed()
                .saturating_sub(Duration::from_millis(at))
        })
    }

    /// Where the store is, without user and password.
    #[must_use]
    pub fn shown(&self) -> String {
        self.inner.location.shown()
    }

    /// Runs `work` on a connection of its own, off the caller's thread, within the deadlines.
    async fn run<T, W>(&self, what: &'static str, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&mut AnyConnection) -> QueryResult<T> + Send + 'static,
    {
        self.run_within(
            what,
            self.inner.options.statement_timeout,
            move |connection| work(connection).map_err(|source| Error::Query { what, source }),
        )
        .await
    }

    /// As [`Self::run`], for work of several statements with its own deadline and errors.
    async fn run_within<T, W>(
        &self,
        what: &'static str,
        limit: Duration,
        work: W,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&mut AnyConnection) -> Result<T, Error> + Send + 'static,
    {
        let acquire = self.inner.options.acquire_timeout;
        let store = Arc::clone(&self.inner);
        let permit = tokio::time::timeout(acquire, self.inner.permits.acquire())
            .await
            .map_err(|_| Error::Busy {
                what,
                waited: acquire,
            })?
            .map_err(|_| Error::CutOff(what))?;
        // The permit goes with the thread, not with the caller: a caller who gives up leaves the connection in use.
        permit.forget();
        let thread = tokio::task::spawn_blocking(move || {
            let _permit = ReturnPermit(&store.permits);
            store.work(work)
        });
        // A transaction has a few statements, each with its own limit.
        let whole = acquire + limit * 2 + SLACK;
        match tokio::time::timeout(whole, thread).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Error::CutOff(what)),
            Err(_) => Err(Error::Slow {
                what,
                waited: whole,
            }),
        }
    }
}

impl Inner {
    fn work<T>(
        &self,
        work: impl FnOnce(&mut AnyConnection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut connection = self.pool.get().map_err(|fault| self.unreachable(&fault))?;
        let outcome = work(&mut connection);
        if outcome.is_ok() {
            let since = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(NEVER - 1);
            self.last_success.store(since, Ordering::Relaxed);
        }
        outcome
    }

    fn unreachable(&self, fault: &diesel::r2d2::PoolError) -> Error {
        let said = fault.to_string();
        // The pool's message is `timed out waiting for connection: <what the database said>`.
        let cause = said
            .split_once(": ")
            .map_or(said.as_str(), |(_, cause)| cause);
        Error::Unreachable {
            store: self.location.shown(),
            waited: self.options.acquire_timeout,
            cause: self.location.redact(cause),
        }
    }
}

/// Gives a forgotten permit back, also when the work panics.
struct ReturnPermit<'a>(&'a Semaphore);

impl Drop for ReturnPermit<'_> {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A moment as the tables keep it: UTC, cut to the microseconds that both databases hold.
fn stored(moment: DateTime<Utc>) -> NaiveDateTime {
    DateTime::from_timestamp_micros(moment.timestamp_micros())
        .unwrap_or(moment)
        .naive_utc()
}
