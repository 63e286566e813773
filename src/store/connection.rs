//! One connection type over both databases, and how the pool makes and judges connections.

use std::sync::Arc;
use std::time::Duration;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::r2d2::{ManageConnection, R2D2Connection as _};
use secrecy::ExposeSecret as _;

use super::location::{Location, with_deadlines};

/// A connection to either database.
#[derive(diesel::MultiConnection)]
pub(super) enum AnyConnection {
    /// PostgreSQL.
    Postgres(PgConnection),
    /// SQLite.
    Sqlite(SqliteConnection),
}

/// Makes connections, with every deadline set before the first statement.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) location: Arc<Location>,
    /// Longest wait for a connection.
    pub(super) acquire_timeout: Duration,
    /// Longest a statement may run.
    pub(super) statement_timeout: Duration,
}

/// Why there is no connection; the password is already struck out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ConnectFault(String);

impl Connector {
    fn fault(&self, fault: &dyn std::fmt::Display) -> ConnectFault {
        // PostgreSQL says it on several lines; a fault is told on one.
        let said = fault.to_string();
        let lines: Vec<_> = said.split_whitespace().collect();
        ConnectFault(self.location.redact(&lines.join(" ")))
    }

    fn sqlite(&self, path: &str) -> Result<AnyConnection, ConnectFault> {
        let mut connection =
            SqliteConnection::establish(path).map_err(|fault| self.fault(&fault))?;
        // The busy timeout comes first: switching to WAL itself waits for other connections.
        // synchronous=FULL syncs the log at each commit, so that an answered write survives a power cut. NORMAL
        // would survive a killed process only. Writes are rare here (clients, projects, results), never per chunk.
        let setup = format!(
            "PRAGMA busy_timeout = {}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
            self.statement_timeout.as_millis()
        );
        connection
            .batch_execute(&setup)
            .map_err(|fault| self.fault(&fault))?;
        Ok(AnyConnection::Sqlite(connection))
    }

    fn postgres(&self, url: &secrecy::SecretString) -> Result<AnyConnection, ConnectFault> {
        let url = with_deadlines(url, self.acquire_timeout, self.statement_timeout);
        let mut connection =
            PgConnection::establish(url.expose_secret()).map_err(|fault| self.fault(&fault))?;
        let milliseconds = self.statement_timeout.as_millis();
        // A transaction left idle would hold its locks; the server ends it. NOTICEs would go to standard error.
        let setup = format!(
            "SET statement_timeout = {milliseconds}; SET lock_timeout = {milliseconds}; \
             SET idle_in_transaction_session_timeout = {milliseconds}; SET TIME ZONE 'UTC'; \
             SET client_min_messages = warning;"
        );
        connection
            .batch_execute(&setup)
            .map_err(|fault| self.fault(&fault))?;
        Ok(AnyConnection::Postgres(connection))
    }
}

impl ManageConnection for Connector {
    type Connection = AnyConnection;
    type Error = ConnectFault;

    fn connect(&self) -> Result<AnyConnection, ConnectFault> {
        match self.location.as_ref() {
            Location::Sqlite { path } => self.sqlite(&path.to_string_lossy()),
            Location::Postgres { url, .. } => self.postgres(url),
        }
    }

    fn is_valid(&self, connection: &mut AnyConnection) -> Result<(), ConnectFault> {
        connection.ping().map_err(|fault| self.fault(&fault))
    }

    fn has_broken(&self, connection: &mut AnyConnection) -> bool {
        std::thread::panicking() || connection.is_broken()
    }
}
