//! What can go wrong between this service and its database.

use std::time::Duration;

/// Why the store did not do what it was asked. No text here ever holds the store's URL or password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL in the settings names no store.
    #[error(
        "the store URL is of no use: {0}; write `sqlite:path/to/file.db` or `postgres://user:password@host:port/database`"
    )]
    BadUrl(String),
    /// The folder or file of an SQLite store cannot be used.
    #[error("cannot use {what}: {source}")]
    File {
        /// The folder or file.
        what: String,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// No connection could be made in time.
    #[error("no connection to {store} within {}: {cause}", seconds(.waited))]
    Unreachable {
        /// Which store, without user and password.
        store: String,
        /// How long was waited.
        waited: Duration,
        /// What the database's client said, without the password.
        cause: String,
    },
    /// All connections of the pool were busy for too long.
    #[error("all connections to the store were busy for {} while {what}", seconds(.waited))]
    Busy {
        /// What was to be done.
        what: &'static str,
        /// How long was waited.
        waited: Duration,
    },
    /// The database took too long.
    #[error("the store gave no answer within {} while {what}", seconds(.waited))]
    Slow {
        /// What was being done.
        what: &'static str,
        /// How long was waited.
        waited: Duration,
    },
    /// The database refused a statement.
    #[error("the store failed while {what}: {source}")]
    Query {
        /// What was being done.
        what: &'static str,
        /// What the database said.
        source: diesel::result::Error,
    },
    /// The database was migrated by a later version of this program.
    #[error(
        "the database is newer than this program: it has migration(s) {} that this version does not know; \
         run the version that made them, or a later one", .0.join(", ")
    )]
    Newer(Vec<String>),
    /// Another process held the migration lock for too long.
    #[error("another process has been migrating the database for {}; try again when it is done", seconds(.0))]
    MigrationLocked(Duration),
    /// A migration failed; it left nothing behind.
    #[error("a migration failed: {0}")]
    Migration(String),
    /// A row does not hold what this program writes.
    #[error("the store holds a row that cannot be read while {what}: {fault}")]
    Corrupt {
        /// What was being read.
        what: &'static str,
        /// What is wrong with it.
        fault: String,
    },
    /// The thread that did the work died.
    #[error("the work on the store was cut off while {0}")]
    CutOff(&'static str),
}

fn seconds(duration: &Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
