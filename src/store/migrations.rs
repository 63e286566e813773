//! Brings a database to the schema of this program: embedded, in order, one process at a time.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use diesel::backend::Backend;
use diesel::connection::SimpleConnection as _;
use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::*;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::connection::AnyConnection;
use super::location::{Location, private_file};
use super::{Error, Store};

const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// The advisory lock that migrating processes take; the number is `callwrig` in ASCII.
const ADVISORY_LOCK: i64 = 0x6361_6c6c_7772_6967;

/// Longest wait for another process that migrates. A migration of a large table takes minutes, not hours.
const LOCK_DEADLINE: Duration = Duration::from_secs(120);

/// Longest run of one statement of a migration.
const STATEMENT_DEADLINE: Duration = Duration::from_secs(600);

/// Pause between two looks at the lock file, which has no wait with a deadline.
const LOCK_POLL: Duration = Duration::from_millis(20);

impl Store {
    /// Applies the migrations that the database lacks, and names them. Any number of processes may do so at once.
    ///
    /// # Errors
    /// [`Error::Newer`] when the database has migrations this program does not know, [`Error::MigrationLocked`] when
    /// another process migrates for more than two minutes, [`Error::Migration`] when one fails.
    pub async fn migrate(&self) -> Result<Vec<String>, Error> {
        self.schema_work("migrating the database", Task::Apply)
            .await
    }

    /// Names the migrations that the database lacks.
    ///
    /// # Errors
    /// As [`Store::migrate`].
    pub async fn pending(&self) -> Result<Vec<String>, Error> {
        self.schema_work("looking for migrations to apply", Task::List)
            .await
    }

    async fn schema_work(&self, what: &'static str, task: Task) -> Result<Vec<String>, Error> {
        let location = std::sync::Arc::clone(&self.inner.location);
        let statement = self.inner.options.statement_timeout;
        self.run_within(
            what,
            LOCK_DEADLINE + STATEMENT_DEADLINE,
            move |connection| match connection {
                AnyConnection::Postgres(connection) => {
                    under_advisory_lock(connection, statement, task)
                }
                AnyConnection::Sqlite(connection) => {
                    let _lock = lock_file(&location)?;
                    work(connection, SQLITE, task)
                }
            },
        )
        .await
    }
}

#[derive(Clone, Copy)]
enum Task {
    Apply,
    List,
}

fn under_advisory_lock(
    connection: &mut PgConnection,
    statement_timeout: Duration,
    task: Task,
) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Query {
        what: "taking the migration lock",
        source,
    };
    let patient = format!(
        "SET statement_timeout = {}; SET lock_timeout = {};",
        STATEMENT_DEADLINE.as_millis(),
        LOCK_DEADLINE.as_millis()
    );
    connection.batch_execute(&patient).map_err(failed)?;
    // The lock belongs to the connection: a process that dies lets go of it.
    let began = Instant::now();
    let locked = connection.batch_execute(&format!("SELECT pg_advisory_lock({ADVISORY_LOCK})"));
    let outcome = match locked {
        Ok(()) => work(connection, POSTGRES, task),
        Err(_) if began.elapsed() >= LOCK_DEADLINE => Err(Error::MigrationLocked(LOCK_DEADLINE)),
        Err(source) => Err(failed(source)),
    };
    let usual = statement_timeout.as_millis();
    let restored = connection.batch_execute(&format!(
        "SELECT pg_advisory_unlock_all(); SET statement_timeout = {usual}; SET lock_timeout = {usual};"
    ));
    // What went wrong first is what matters; a connection that cannot be restored is broken and not used again.
    let done = outcome?;
    restored.map_err(failed)?;
    Ok(done)
}

/// Takes the lock file beside the database. The system lets go of it when the process dies.
fn lock_file(location: &Location) -> Result<Option<File>, Error> {
    let Location::Sqlite { path } = location else {
        return Ok(None);
    };
    let mut name = path.clone().into_os_string();
    name.push(".migrate.lock");
    let name = Path::new(&name);
    let unusable = |source| Error::File {
        what: format!("the lock file {}", name.display()),
        source,
    };
    let file = private_file(name).map_err(unusable)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
            Err(TryLockError::WouldBlock) if began.elapsed() > LOCK_DEADLINE => {
                return Err(Error::MigrationLocked(LOCK_DEADLINE));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
        }
    }
}

fn work<C, D>(
    connection: &mut C,
    source: EmbeddedMigrations,
    task: Task,
) -> Result<Vec<String>, Error>
where
    D: Backend,
    C: MigrationHarness<D>,
    EmbeddedMigrations: MigrationSource<D>,
{
    let known: Vec<Box<dyn Migration<D>>> = source.migrations().map_err(|fault| failed(&*fault))?;
    let applied: BTreeSet<String> = connection
        .applied_migrations()
        .map_err(|fault| failed(&*fault))?
        .iter()
        .map(ToString::to_string)
        .collect();
    let names: BTreeSet<String> = known
        .iter()
        .map(|one| one.name().version().to_string())
        .collect();
    let unknown: Vec<String> = applied.difference(&names).cloned().collect();
    if !unknown.is_empty() {
        return Err(Error::Newer(unknown));
    }
    let missing = known
        .iter()
        .filter(|one| !applied.contains(&one.name().version().to_string()));
    let mut done = Vec::new();
    for migration in missing {
        if matches!(task, Task::Apply) {
            connection
                .run_migration(migration.as_ref())
                .map_err(|fault| failed(&*fault))?;
        }
        done.push(migration.name().to_string());
    }
    Ok(done)
}

fn failed(fault: &dyn std::error::Error) -> Error {
    Error::Migration(fault.to_string())
}
