//! TLS for the doors: the operator's certificate, or one from an authority of our own made on first start.
//!
//! The certificate in use can be swapped at any moment; connections that stand keep theirs.

mod authority;
#[cfg(test)]
mod tests;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Where certificates come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Files of the operator, PEM.
    Files {
        /// The certificate, followed by what it was signed with.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// An authority of our own.
    Authority {
        /// The folder of authority and certificate; `ca.pem` in it is what clients trust.
        folder: PathBuf,
        /// Names and addresses beyond this machine's own that the certificate is for.
        names: Vec<String>,
    },
}

/// Why there is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is no usable PEM.
    #[error("{path}: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate could not be made.
    #[error("the certificate could not be made: {0}")]
    Making(String),
}

/// The certificate in use.
#[derive(Debug)]
pub struct Certificates {
    source: Source,
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Certificates {
    /// Loads the certificate; makes authority and certificate where they are ours and not there.
    ///
    /// # Errors
    /// [`Fault`] names the file and what is wrong.
    pub fn open(source: Source) -> Result<Self, Fault> {
        if let Source::Authority { folder, names } = &source {
            authority::prepare(folder, names)?;
        }
        let current = load(&source)?;
        Ok(Self {
            source,
            current: Arc::new(Current(ArcSwap::from_pointee(current))),
        })
    }

    /// A server's configuration that always serves the certificate in use.
    ///
    /// # Errors
    /// [`Fault::Making`] when the TLS library refuses its own defaults.
    pub fn server_config(&self, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, Fault> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|fault| Fault::Making(fault.to_string()))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::<Current>::clone(&self.current));
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }

    /// Swaps the certificate whenever its files change, for ever. A bad file is reported and the old certificate stays.
    pub async fn watch(self: Arc<Self>, interval: Duration) {
        watch::watch(&self, interval).await;
    }

    fn swap(&self, certificate: CertifiedKey) {
        self.current.0.store(Arc::new(certificate));
    }
}

impl Source {
    /// The certificate and its key.
    fn files(&self) -> (PathBuf, PathBuf) {
        match self {
            Self::Files { certificate, key } => (certificate.clone(), key.clone()),
            Self::Authority { folder, .. } => authority::server_files(folder),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn load(source: &Source) -> Result<CertifiedKey, Fault> {
    let (certificate_path, key_path) = source.files();
    let content = |path: &Path, reason: String| Fault::Content {
        path: path.to_owned(),
        reason,
    };
    let certificate = read(&certificate_path)?;
    let chain = CertificateDer::pem_slice_iter(&certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|fault| content(&certificate_path, format!("no PEM: {fault}")))?;
    if chain.is_empty() {
        return Err(content(
            &certificate_path,
            "there is no certificate in it".to_owned(),
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(&key_path)?)
        .map_err(|_| content(&key_path, "there is no private key in PEM in it".to_owned()))?;
    CertifiedKey::from_der(chain, key, &provider()).map_err(|fault| {
        content(
            &key_path,
            format!("the key does not serve the certificate: {fault}"),
        )
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    std::fs::read(path).map_err(|source| Fault::File {
        path: path.to_owned(),
        source,
    })
}
