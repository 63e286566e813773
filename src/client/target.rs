//! Where the client connects, and whom it trusts there.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::fault::ClientFault;

/// A server's address: a host name or IP address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    host: String,
    port: u16,
}

impl ServerAddress {
    /// The host as a certificate names it: no brackets around an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &str {
        self.host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(&self.host)
    }

    /// The TCP port, 1 to 65 535.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for ServerAddress {
    type Err = ClientFault;

    fn from_str(text: &str) -> Result<Self, ClientFault> {
        let bad = || ClientFault::BadAddress(text.chars().take(200).collect());
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(bad)?;
        let bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        if host.is_empty() || bare_ipv6 || host.contains(['/', '@', ' ']) {
            return Err(bad());
        }
        // An address to listen on is no address to connect to; the same machine is meant.
        let host = match host {
            "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            other => other,
        };
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// How the connection is protected.
#[derive(Debug, Clone)]
pub enum Security {
    /// TLS; the server's certificate must be for the host and signed by one of these authorities (PEM).
    Tls {
        /// One or more PEM certificates.
        authorities: Vec<u8>,
    },
    /// None at all: for servers on the same machine.
    Plaintext,
}

/// A server and how to talk to it.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it listens.
    pub address: ServerAddress,
    /// How the connection is protected.
    pub security: Security,
}

impl Target {
    /// The URI of the service, whose scheme says whether TLS is used.
    #[must_use]
    pub fn uri(&self) -> String {
        match self.security {
            Security::Tls { .. } => format!("https://{}", self.address),
            Security::Plaintext => format!("http://{}", self.address),
        }
    }
}

/// Makes AWS-LC the process's cryptography, once; later calls change nothing.
pub fn install_cryptography() {
    // An error means that a provider is installed already, which is what is wanted.
    let _ = aws_lc_rs::default_provider().install_default();
}

/// Reads the authorities out of PEM text.
///
/// # Errors
/// [`ClientFault::BadAuthority`] when there is none, or one that cannot be read.
pub fn trusted_roots(authorities: &[u8]) -> Result<RootCertStore, ClientFault> {
    let bad = |reason: String| ClientFault::BadAuthority(reason);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let certificate = certificate.map_err(|fault| bad(fault.to_string()))?;
        roots
            .add(certificate)
            .map_err(|fault| bad(fault.to_string()))?;
    }
    if roots.is_empty() {
        return Err(bad("it holds none".to_owned()));
    }
    Ok(roots)
}

/// TLS for HTTP/2 with these authorities.
///
/// Sessions are not resumed: a load test should cost the server what as many separate clients would.
///
/// # Errors
/// [`ClientFault::BadAuthority`] as in [`trusted_roots`].
pub fn tls_for_http2(authorities: &[u8]) -> Result<Arc<rustls::ClientConfig>, ClientFault> {
    let roots = trusted_roots(authorities)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|fault| ClientFault::BadAuthority(fault.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, host: &str, port: u16) {
        let address: ServerAddress = text.parse().unwrap();
        assert_eq!((address.host(), address.port()), (host, port), "{text}");
    }

    #[test]
    fn addresses_are_a_host_and_a_port() {
        check("localhost:8443", "localhost", 8443);
        check("[::1]:8443", "::1", 8443);
        check("0.0.0.0:41234", "127.0.0.1", 41234);
        check("[::]:41234", "::1", 41234);
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example() {
        for text in [
            "",
            "localhost",
            "localhost:0",
            "localhost:x",
            ":8443",
            "::1:8443",
            "https://a:1",
        ] {
            let fault = text.parse::<ServerAddress>().unwrap_err();
            assert!(fault.to_string().contains("localhost:8443"), "{text}");
        }
    }

    #[test]
    fn a_file_without_a_certificate_is_not_taken_for_an_authority() {
        assert!(trusted_roots(b"").is_err());
        assert!(
            trusted_roots(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                .is_err()
        );
    }
}
