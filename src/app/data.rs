//! The data folder: whose it is, and where the running service can be reached.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Fault;
use crate::config::Settings;

/// Where the doors of a running service are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// gRPC.
    pub stream: SocketAddr,
    /// The HTTP interface.
    pub api: SocketAddr,
    /// Health, metrics and the admin routes.
    pub admin: SocketAddr,
}

impl Addresses {
    /// Where a client on this machine reaches a door that listens on `address`.
    #[must_use]
    pub fn local(address: SocketAddr) -> SocketAddr {
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, address.port())
    }
}

/// The data folder, held for as long as the service runs.
pub(super) struct Folder {
    addresses: PathBuf,
    /// Locked; the system lets go of it however the process ends.
    _lock: File,
}

impl Folder {
    pub(super) fn open(settings: &Settings) -> Result<Self, Fault> {
        let folder = settings.data_dir.clone();
        let unusable = |source| Fault::DataFolder {
            folder: folder.clone(),
            source,
        };
        fs::create_dir_all(&folder).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                addresses: settings.addresses_file(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Fault::DataFolderTaken(folder)),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Writes down where programs on this machine reach the doors.
    pub(super) fn announce(&self, addresses: &Addresses) -> Result<(), Fault> {
        let addresses = Addresses {
            stream: Addresses::local(addresses.stream),
            api: Addresses::local(addresses.api),
            admin: Addresses::local(addresses.admin),
        };
        let written = || -> io::Result<()> {
            let beside = self.addresses.with_extension("new");
            let mut file = File::create(&beside)?;
            file.write_all(serde_json::to_string(&addresses)?.as_bytes())?;
            file.write_all(b"\n")?;
            drop(file);
            fs::rename(&beside, &self.addresses)
        };
        written().map_err(|source| Fault::DataFolder {
            folder: self.addresses.clone(),
            source,
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Without the file nobody looks for a service that is gone.
        let _ = fs::remove_file(&self.addresses);
    }
}
