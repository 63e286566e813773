use std::fs;
use std::os::unix::fs::PermissionsExt;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use tempfile::TempDir;

use super::*;

const INTERVAL: Duration = Duration::from_secs(10);

fn made(folder: &TempDir, names: &[&str]) -> Source {
    Source::Authority {
        folder: folder.path().join("tls"),
        names: names.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// A certificate of the operator's for `name`, which is its own authority, in `folder`.
fn brought(folder: &TempDir, name: &str) -> Source {
    let pair = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .self_signed(&pair)
        .unwrap();
    fs::write(folder.path().join("c.pem"), signed.pem()).unwrap();
    fs::write(folder.path().join("k.pem"), pair.serialize_pem()).unwrap();
    Source::Files {
        certificate: folder.path().join("c.pem"),
        key: folder.path().join("k.pem"),
    }
}

/// What a client that trusts `authority` (PEM) gets when it asks for `name`: the certificate, or why not.
fn connect(
    certificates: &Certificates,
    authority: &Path,
    name: &str,
) -> Result<Vec<u8>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for trusted in CertificateDer::pem_file_iter(authority).unwrap() {
        roots.add(trusted.unwrap()).unwrap();
    }
    let client = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
    let config = certificates.server_config(&[]).unwrap();
    let mut server = ServerConnection::new(config).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets()?;
        let mut wire = Vec::new();
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut wire.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(client.peer_certificates().unwrap()[0].to_vec())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_made_verifies_for_this_machine_and_the_names_asked_for_and_for_no_other() {
    let folder = TempDir::new().unwrap();
    let certificates =
        Certificates::open(made(&folder, &["speech.example", "10.1.2.3", "localhost"])).unwrap();
    let authority = folder.path().join("tls/ca.pem");
    let mut seen = Vec::new();
    for name in [
        "localhost",
        "127.0.0.1",
        "::1",
        "speech.example",
        "10.1.2.3",
    ] {
        seen.push(connect(&certificates, &authority, name).unwrap());
    }
    seen.dedup();
    assert_eq!(seen.len(), 1);
    for name in ["other.example", "10.1.2.4"] {
        let fault = connect(&certificates, &authority, name).unwrap_err();
        assert!(
            matches!(fault, rustls::Error::InvalidCertificate(_)),
            "{fault}"
        );
    }
    let stranger = TempDir::new().unwrap();
    Certificates::open(made(&stranger, &[])).unwrap();
    let fault = connect(
        &certificates,
        &stranger.path().join("tls/ca.pem"),
        "localhost",
    );
    assert!(fault.is_err(), "another authority is not trusted");
}

#[test]
fn the_authority_is_made_once_and_vouches_for_a_fresh_certificate_at_each_start() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join("tls").join(name);
    let first = Certificates::open(made(&folder, &[])).unwrap();
    let authority = fs::read(file("ca.pem")).unwrap();
    let second = Certificates::open(made(&folder, &["late.example"])).unwrap();
    assert_eq!(fs::read(file("ca.pem")).unwrap(), authority);
    let one = connect(&first, &file("ca.pem"), "localhost").unwrap();
    let other = connect(&second, &file("ca.pem"), "late.example").unwrap();
    assert_ne!(one, other);
}

#[test]
fn keys_are_for_the_service_alone_and_nothing_is_left_lying_about() {
    let folder = TempDir::new().unwrap();
    let tls = folder.path().join("tls");
    fs::create_dir_all(&tls).unwrap();
    // Left by a start that was cut short, and open to everyone.
    fs::write(tls.join("server-key.new"), "").unwrap();
    fs::set_permissions(
        tls.join("server-key.new"),
        fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    Certificates::open(made(&folder, &[])).unwrap();
    for (name, expected) in [
        ("ca-key.pem", 0o600),
        ("server-key.pem", 0o600),
        ("ca.pem", 0o644),
        ("server.pem", 0o644),
    ] {
        assert_eq!(mode(&tls.join(name)), expected, "{name}");
    }
    assert_eq!(fs::read_dir(&tls).unwrap().count(), 4);
}

#[test]
fn an_authority_whose_key_is_lost_is_said_and_not_replaced() {
    let folder = TempDir::new().unwrap();
    Certificates::open(made(&folder, &[])).unwrap();
    let tls = folder.path().join("tls");
    let authority = fs::read(tls.join("ca.pem")).unwrap();
    fs::remove_file(tls.join("ca-key.pem")).unwrap();
    let fault = Certificates::open(made(&folder, &[])).unwrap_err();
    assert!(fault.to_string().contains("ca-key.pem"), "{fault}");
    assert_eq!(fs::read(tls.join("ca.pem")).unwrap(), authority);
}

#[test]
fn the_operators_files_are_served_as_they_are() {
    let folder = TempDir::new().unwrap();
    let certificates = Certificates::open(brought(&folder, "brought.example")).unwrap();
    let authority = folder.path().join("c.pem");
    connect(&certificates, &authority, "brought.example").unwrap();
    assert!(connect(&certificates, &authority, "localhost").is_err());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing was made"
    );
}

#[test]
fn files_that_do_not_serve_are_refused_with_their_path_and_what_is_wrong() {
    let (folder, stranger) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let source = brought(&folder, "a.example");
    brought(&stranger, "a.example");
    let good_key = fs::read(folder.path().join("k.pem")).unwrap();
    let other_key = fs::read(stranger.path().join("k.pem")).unwrap();
    let good = fs::read(folder.path().join("c.pem")).unwrap();
    for (certificate, key, file, said) in [
        (&good, &other_key, "k.pem", "does not serve the certificate"),
        (&good, &good, "k.pem", "no private key"),
        (&good, &b"junk".to_vec(), "k.pem", "no private key"),
        (&good_key, &good_key, "c.pem", "no certificate in it"),
        (&Vec::new(), &good_key, "c.pem", "no certificate in it"),
    ] {
        fs::write(folder.path().join("c.pem"), certificate).unwrap();
        fs::write(folder.path().join("k.pem"), key).unwrap();
        let fault = Certificates::open(source.clone()).unwrap_err().to_string();
        assert!(fault.contains(file) && fault.contains(said), "{fault}");
        assert!(!fault.contains("PRIVATE KEY"), "{fault}");
    }
    fs::remove_file(folder.path().join("c.pem")).unwrap();
    let fault = Certificates::open(source).unwrap_err().to_string();
    assert!(fault.contains("c.pem"), "{fault}");
}

/// Lets the watch look some times; with the clock stopped its pauses take no time.
async fn looks(count: u32) {
    for _ in 0..count {
        tokio::time::sleep(INTERVAL).await;
        // The looking itself happens on a thread; the clock stands still until it is done.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
}

#[actix_web::test]
async fn a_certificate_that_changes_is_swapped_and_one_that_cannot_be_used_is_not() {
    tokio::time::pause();
    let folder = TempDir::new().unwrap();
    let certificates = Arc::new(Certificates::open(brought(&folder, "a.example")).unwrap());
    let trusted = |name: &str| {
        let copy = folder.path().join(name);
        fs::copy(folder.path().join("c.pem"), &copy).unwrap();
        copy
    };
    let first = trusted("first.pem");
    let watch = actix_rt::spawn(Arc::clone(&certificates).watch(INTERVAL));
    looks(2).await;
    connect(&certificates, &first, "a.example").unwrap();

    brought(&folder, "a.example");
    let second = trusted("second.pem");
    looks(3).await;
    assert!(connect(&certificates, &first, "a.example").is_err());
    connect(&certificates, &second, "a.example").unwrap();

    fs::write(folder.path().join("k.pem"), "half a ke").unwrap();
    looks(3).await;
    connect(&certificates, &second, "a.example").unwrap();
    fs::remove_file(folder.path().join("k.pem")).unwrap();
    looks(3).await;
    connect(&certificates, &second, "a.example").unwrap();

    brought(&folder, "a.example");
    let third = trusted("third.pem");
    looks(3).await;
    connect(&certificates, &third, "a.example").unwrap();
    watch.abort();
}
