//! The composition root: the only place that names both an adapter and what it serves.
//!
//! Order of starting: data folder, ports, store, identity, sessions, doors. Whatever cannot be had is said in one
//! sentence before anything is served.

pub mod data;
mod doors;
pub mod identity;
pub mod projects;
mod sessions;
mod shutdown;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use callwright_actors::directory::Directory;
use secrecy::ExposeSecret;
use tokio::sync::watch;

use crate::config::Settings;
use crate::grpc;
use crate::net::{self, BindFault};
use crate::recordings;
use crate::store::{self, Store};
use crate::tls;

use data::Addresses;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The data folder cannot be used.
    #[error("the data folder {folder} cannot be used: {source}")]
    DataFolder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another service works in the data folder.
    #[error(
        "another callwright already works in the data folder {0}; stop it, or give this one another data_dir"
    )]
    DataFolderTaken(PathBuf),
    /// A port cannot be had.
    #[error(transparent)]
    Port(#[from] BindFault),
    /// The store cannot be used.
    #[error("{0}")]
    Store(#[from] store::Error),
    /// There is no certificate to serve with.
    #[error("no TLS: {0}")]
    Tls(#[from] tls::Fault),
    /// Tokens cannot be issued or checked.
    #[error(transparent)]
    Identity(#[from] crate::identity::Error),
    /// Recordings cannot be written.
    #[error("recordings cannot be written to {folder}: {source}")]
    Recordings {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What comes with the product is at fault.
    #[error("the service cannot start: {0}")]
    Inside(String),
}

/// The running service.
pub struct Service {
    addresses: Addresses,
    directory: Arc<Directory>,
    streams: grpc::Server,
    doors: doors::Doors,
    recordings: Arc<recordings::Folder>,
    drain: watch::Sender<bool>,
    stopping: watch::Sender<bool>,
    signals: shutdown::Signals,
    folder: data::Folder,
    settings: Settings,
}

impl Service {
    /// Starts everything; the doors are open when it comes back.
    ///
    /// Must run inside an actix system.
    ///
    /// # Errors
    /// [`Fault`] says in one sentence what cannot be had.
    pub async fn start(settings: Settings) -> Result<Self, Fault> {
        let folder = data::Folder::open(&settings)?;
        if let Err(fault) = crate::limits::raise_open_files() {
            tracing::warn!(%fault, "the limit on open files could not be raised");
        }
        let ports = Ports::bind(&settings)?;
        let addresses = ports.addresses()?;
        let store = open_store(&settings).await?;
        let identity = identity::open(&settings, &store, addresses.api).await?;
        projects::seed(&store).await?;
        let certificates = doors::certificates(&settings)?;
        let recordings = sessions::recordings(&settings)?;
        let reception = sessions::reception(&settings, &store, &identity, &recordings);
        let directory = Arc::clone(&reception.directory);
        let (drain, _) = watch::channel(false);
        let (stopping, stopped) = watch::channel(false);
        let streams =
            sessions::serve(&settings, ports.stream, reception, certificates.stream).await?;
        let desk = doors::desk(
            &settings,
            &store,
            &identity,
            &directory,
            (drain.clone(), stopped),
        )?;
        let doors = doors::Doors::open(
            &settings,
            (ports.api, ports.admin),
            &identity,
            desk,
            certificates.api,
        )?;
        // Whoever reads the addresses may send a signal at once.
        let signals = shutdown::Signals::listen();
        folder.announce(&addresses)?;
        tracing::info!(stream = %addresses.stream, api = %addresses.api, admin = %addresses.admin, store = store.shown(), "ready");
        Ok(Self {
            addresses,
            directory,
            streams,
            doors,
            recordings,
            drain,
            stopping,
            signals,
            folder,
            settings,
        })
    }

    /// Where the doors are.
    #[must_use]
    pub const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Set to true, it lets the service shut down as SIGTERM does.
    #[must_use]
    pub fn drain_switch(&self) -> watch::Sender<bool> {
        self.drain.clone()
    }
}

/// Opens the store and brings it up to date.
///
/// # Errors
/// [`Fault::Store`].
pub async fn open_store(settings: &Settings) -> Result<Store, Fault> {
    let store = Store::open(store_options(settings)).await?;
    let applied = store.migrate().await?;
    if !applied.is_empty() {
        tracing::info!(migrations = applied.len(), "brought the store up to date");
    }
    Ok(store)
}

/// The file of an SQLite store, when it is not there yet.
#[must_use]
pub fn missing_database(settings: &Settings) -> Option<PathBuf> {
    let path = settings.store.url.expose_secret().strip_prefix("sqlite:")?;
    Some(PathBuf::from(path)).filter(|path| !path.exists())
}

/// How to reach the store.
#[must_use]
pub fn store_options(settings: &Settings) -> store::Options {
    store::Options {
        url: settings.store.url.clone(),
        pool_size: settings.store.pool_size,
        acquire_timeout: settings.store.acquire_timeout,
        statement_timeout: settings.store.statement_timeout,
    }
}

/// The listening sockets, taken before anything else is touched.
struct Ports {
    stream: Vec<std::net::TcpListener>,
    api: std::net::TcpListener,
    admin: std::net::TcpListener,
}

impl Ports {
    fn bind(settings: &Settings) -> Result<Self, Fault> {
        let one = |key, address| {
            let listener = net::bind(key, address, 1)?.pop();
            listener.ok_or_else(|| Fault::Inside("no listener was made".to_owned()))
        };
        Ok(Self {
            stream: net::bind(
                "stream.listen",
                settings.stream.listen,
                cores(settings.stream.threads),
            )?,
            api: one("api.listen", settings.api.listen)?,
            admin: one("admin.listen", settings.admin.listen)?,
        })
    }

    fn addresses(&self) -> Result<Addresses, Fault> {
        let of = |listener: &std::net::TcpListener| {
            listener
                .local_addr()
                .map_err(|fault| Fault::Inside(fault.to_string()))
        };
        let stream = self.stream.first().map(of).transpose()?;
        Ok(Addresses {
            stream: stream.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0))),
            api: of(&self.api)?,
            admin: of(&self.admin)?,
        })
    }
}

/// As many threads as asked for, or one for each core.
fn cores(asked: usize) -> usize {
    if asked > 0 {
        return asked;
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
