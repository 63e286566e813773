//! Databases for tests: empty, of their own, and gone afterwards.

use callwright::store::{Options, Store};
use diesel::connection::SimpleConnection;
use diesel::{Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;
use uuid::Uuid;

/// An empty database of the test's own, gone when dropped.
pub(crate) struct Place {
    pub(crate) url: String,
    _folder: Option<TempDir>,
    server: Option<(String, String)>,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}/deep/er/callwright.db", folder.path().display());
        Self {
            url,
            _folder: Some(folder),
            server: None,
        }
    }

    pub(crate) fn postgres() -> Self {
        let server = std::env::var("CALLWRIGHT_TEST_POSTGRES").expect(
            "CALLWRIGHT_TEST_POSTGRES must hold the URL of a PostgreSQL server on which this test may create databases; `make test` starts one",
        );
        let name = format!("callwright_{}", Uuid::now_v7().simple());
        PgConnection::establish(&server)
            .expect("the server of CALLWRIGHT_TEST_POSTGRES answers")
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a database can be created");
        let mut url = url::Url::parse(&server).expect("CALLWRIGHT_TEST_POSTGRES is a URL");
        url.set_path(&name);
        Self {
            url: url.into(),
            _folder: None,
            server: Some((server, name)),
        }
    }

    /// Runs SQL behind the store's back.
    pub(super) fn meddle(&self, sql: &str) {
        match &self.server {
            Some(_) => PgConnection::establish(&self.url)
                .unwrap()
                .batch_execute(sql)
                .unwrap(),
            None => {
                let path = self.url.strip_prefix("sqlite:").unwrap();
                SqliteConnection::establish(path)
                    .unwrap()
                    .batch_execute(sql)
                    .unwrap();
            }
        }
    }

    /// A connection that keeps others from writing tenants until it is dropped.
    pub(super) fn blocker(&self) -> Box<dyn SimpleConnection> {
        let mut connection: Box<dyn SimpleConnection> = match &self.server {
            Some(_) => Box::new(PgConnection::establish(&self.url).unwrap()),
            None => {
                let path = self.url.strip_prefix("sqlite:").unwrap();
                Box::new(SqliteConnection::establish(path).unwrap())
            }
        };
        let take = match &self.server {
            Some(_) => "BEGIN; LOCK TABLE tenants IN EXCLUSIVE MODE",
            None => "BEGIN IMMEDIATE",
        };
        connection.batch_execute(take).unwrap();
        connection
    }

    pub(crate) async fn store(&self) -> Store {
        let store = Store::open(Options::new(&self.url))
            .await
            .expect("the store opens");
        store.migrate().await.expect("the store migrates");
        store
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((server, name)) = &self.server
            && let Ok(mut connection) = PgConnection::establish(server)
        {
            let dropped = connection.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"));
            assert!(dropped.is_ok() || std::thread::panicking(), "{dropped:?}");
        }
    }
}
