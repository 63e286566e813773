//! The settings as the program uses them: typed, resolved, complete.

mod sections;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

pub use sections::{
    AdminSettings, ApiSettings, Authentication, CertificateFiles, IdentitySettings, Issuer,
    LogFormat, LogSettings, RecordingSettings, ServiceSettings, StoreSettings, StreamSettings,
    StreamTlsSettings,
};

use super::fault::{Fault, Origin};
use super::layers::Draft;
use super::value::Value;

/// Everything that can be set, one field per section of `config.toml`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder for everything the service makes itself.
    pub data_dir: PathBuf,
    /// What is logged, and how.
    pub log: LogSettings,
    /// The database.
    pub store: StoreSettings,
    /// Who issues tokens and how they are checked.
    pub identity: IdentitySettings,
    /// The gRPC listener and its sessions.
    pub stream: StreamSettings,
    /// The HTTP interface.
    pub api: ApiSettings,
    /// Health, metrics and the admin routes.
    pub admin: AdminSettings,
    /// The process as a whole.
    pub service: ServiceSettings,
    /// Recorded calls.
    pub recordings: RecordingSettings,
}

impl Settings {
    /// The file that names the bound addresses while the service runs.
    #[must_use]
    pub fn addresses_file(&self) -> PathBuf {
        self.data_dir.join("addresses.json")
    }

    /// The folder of the certificates that the service makes: `ca.pem` and what it signed.
    #[must_use]
    pub fn tls_dir(&self) -> PathBuf {
        self.data_dir.join("tls")
    }

    pub(super) fn read(read: &mut Reader<'_>) -> Self {
        let data_dir = read.path("data_dir");
        Self {
            log: LogSettings::read(read),
            store: StoreSettings::read(read, &data_dir),
            identity: IdentitySettings::read(read),
            stream: StreamSettings::read(read),
            api: ApiSettings::read(read),
            admin: AdminSettings {
                listen: read.address("admin.listen"),
            },
            service: ServiceSettings {
                drain_timeout: read.seconds("service.drain_timeout_s"),
            },
            recordings: RecordingSettings::read(read, &data_dir),
            data_dir,
        }
    }
}

/// Takes typed values out of a draft. What the schema promises and the draft lacks is noted as a fault of ours.
pub(super) struct Reader<'a> {
    draft: &'a Draft,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(draft: &'a Draft) -> Self {
        Self {
            draft,
            faults: Vec::new(),
        }
    }

    fn value(&mut self, key: &str) -> Option<&'a Value> {
        let found = self.draft.entry(key).map(|entry| &entry.value);
        if found.is_none() {
            self.miss(key);
        }
        found
    }

    fn miss(&mut self, key: &str) {
        let problem = "this key has no default of its type; the program is at fault".to_owned();
        self.faults.push(Fault {
            key: key.to_owned(),
            value: None,
            origin: Origin::Default,
            problem,
        });
    }

    fn flag(&mut self, key: &str) -> bool {
        match self.value(key) {
            Some(Value::Flag(flag)) => *flag,
            _ => {
                self.miss(key);
                false
            }
        }
    }

    fn number<T: TryFrom<u64> + Default>(&mut self, key: &str) -> T {
        match self.value(key) {
            Some(Value::Number(number)) if T::try_from(*number).is_ok() => {
                T::try_from(*number).unwrap_or_default()
            }
            _ => {
                self.miss(key);
                T::default()
            }
        }
    }

    fn millis(&mut self, key: &str) -> Duration {
        Duration::from_millis(self.number(key))
    }

    fn seconds(&mut self, key: &str) -> Duration {
        Duration::from_secs(self.number(key))
    }

    fn text(&mut self, key: &str) -> String {
        match self.value(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => {
                self.miss(key);
                String::new()
            }
        }
    }

    fn secret(&mut self, key: &str) -> SecretString {
        match self.value(key) {
            Some(Value::Secret(secret)) => secret.clone(),
            _ => {
                self.miss(key);
                SecretString::default()
            }
        }
    }

    fn list(&mut self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::List(items)) => items.clone(),
            _ => {
                self.miss(key);
                Vec::new()
            }
        }
    }

    fn path(&mut self, key: &str) -> PathBuf {
        PathBuf::from(self.text(key))
    }

    /// A path, or `fallback` when it is empty.
    fn path_or(&mut self, key: &str, fallback: PathBuf) -> PathBuf {
        Some(self.path(key))
            .filter(|path| !path.as_os_str().is_empty())
            .unwrap_or(fallback)
    }

    fn address(&mut self, key: &str) -> SocketAddr {
        let text = self.text(key);
        text.parse().unwrap_or_else(|_| {
            self.miss(key);
            SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    /// The store's url, with `embedded` resolved to the database in the data folder.
    fn store_url(&mut self, data_dir: &Path) -> SecretString {
        let url = self.secret("store.url");
        match url.expose_secret() {
            "embedded" => SecretString::from(format!(
                "sqlite:{}",
                data_dir.join("callwright.db").display()
            )),
            _ => url,
        }
    }

    /// A certificate pair; nothing unless both are named.
    fn certificate(&mut self, certificate: &str, key: &str) -> Option<CertificateFiles> {
        let (certificate, key) = (self.path(certificate), self.path(key));
        let named = !certificate.as_os_str().is_empty() && !key.as_os_str().is_empty();
        named.then_some(CertificateFiles { certificate, key })
    }
}
