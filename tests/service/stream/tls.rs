//! Certificates: what is trusted, and what happens when the operator's files change.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tonic::Code;

use crate::support::{Call, Server, Start, WAIT, dial};

const ECHO: &str = "name = \"echo\"\nkind = \"flow\"\nwires = [\"entry -> publisher\"]\n";

/// A client that trusts one authority and speaks HTTP/2.
pub(super) fn trusting(ca: &str) -> ClientConfig {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// Writes a certificate for `localhost` of an authority of its own, and gives that authority.
fn issue(folder: &Path) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let params = CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&key, &ca).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    fs::write(folder.join("certificate.pem"), certificate.pem()).unwrap();
    ca.pem()
}

/// Whether a new connection's certificate is of that authority.
async fn is_trusted(server: &Server, ca: &str) -> bool {
    let tcp = TcpStream::connect(server.address("stream")).await.unwrap();
    let connector = TlsConnector::from(Arc::new(trusting(ca)));
    let name = "localhost".try_into().unwrap();
    let greeting = timeout(WAIT, connector.connect(name, tcp)).await;
    greeting.expect("a handshake in time").is_ok()
}

async fn until_trusted(server: &Server, ca: &str) {
    let begun = Instant::now();
    while !is_trusted(server, ca).await {
        assert!(begun.elapsed() < WAIT, "the certificate is not swapped");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn until_logged(server: &Server, words: &str) {
    let begun = Instant::now();
    while !server.log().contains(words) {
        assert!(begun.elapsed() < WAIT, "never logged: {words}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn new_certificate_files_serve_new_connections_and_leave_open_calls_alone() {
    let files = tempfile::tempdir().unwrap();
    let first = issue(files.path());
    let path = |name: &str| files.path().join(name).display().to_string();
    let builder = Server::builder()
        .set("stream.tls.certificate", path("certificate.pem"))
        .set("stream.tls.key", path("key.pem"));
    let server = builder.set("stream.tls.reload_interval_s", 1).start().await;
    server.apply_project(ECHO).await;
    let start = Start::new(&server.streaming_token().await).through("echo");
    let mut open = Call::started(dial(server.address("stream"), &first).await, &start).await;

    let second = issue(files.path());
    until_trusted(&server, &second).await;
    assert!(!is_trusted(&server, &first).await);
    fs::write(files.path().join("certificate.pem"), "no certificate").unwrap();
    until_logged(
        &server,
        "the new certificate cannot be used; the old one stays",
    )
    .await;
    let new = Call::started(dial(server.address("stream"), &second).await, &start).await;
    assert_eq!(new.hear_out().await.status.code(), Code::Ok);

    open.event("{\"Event\":{\"Name\":\"still here\"}}").await;
    open.await_event("still here").await;
    assert_eq!(open.hear_out().await.status.code(), Code::Ok);
}

#[tokio::test]
async fn a_server_is_trusted_by_its_own_authority_and_by_no_other() {
    let (server, other) = (Server::start().await, tempfile::tempdir().unwrap());
    assert!(is_trusted(&server, &server.ca()).await);
    assert!(!is_trusted(&server, &issue(other.path())).await);
}
