//! Finds a service that is running on the same data folder, by the addresses it wrote there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::finding::Finding;
use crate::config::Settings;

/// A service on this machine answers at once or not at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// What `addresses.json` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Running {
    /// There is none: nothing runs on this data folder.
    No,
    /// A service runs and answers; its listeners by name.
    Yes(BTreeMap<String, SocketAddr>),
    /// The file is there, but nobody answers.
    Stale,
}

impl Running {
    /// Says whether the running service holds this address's port.
    pub(super) fn holds(&self, listener: &str, port: u16) -> bool {
        matches!(self, Self::Yes(addresses) if addresses.get(listener).is_some_and(|held| held.port() == port))
    }
}

/// Reads the file and asks the admin listener whether it lives.
pub(super) fn find(settings: &Settings) -> Running {
    let Ok(text) = std::fs::read_to_string(settings.addresses_file()) else {
        return Running::No;
    };
    match serde_json::from_str::<BTreeMap<String, SocketAddr>>(&text) {
        Ok(addresses) if addresses.get("admin").is_some_and(|admin| lives(*admin)) => {
            Running::Yes(addresses)
        }
        _ => Running::Stale,
    }
}

/// Says what was found, when there is anything to say.
pub(super) fn examine(running: &Running) -> Option<Finding> {
    match running {
        Running::No => None,
        Running::Yes(_) => Some(Finding::ok(
            "service",
            "a service runs on this data folder and answers",
        )),
        Running::Stale => Some(Finding::warn(
            "service",
            "addresses.json is left from a service that no longer answers",
            "start the service again, it replaces the file; if a process still hangs, end it",
        )),
    }
}

fn lives(admin: SocketAddr) -> bool {
    ask(admin).is_ok_and(|status| status.starts_with("HTTP/1.1 200"))
}

fn ask(admin: SocketAddr) -> std::io::Result<String> {
    let mut connection = TcpStream::connect_timeout(&admin, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    // In one piece: a peer may answer and close after the first.
    let request = format!("GET /livez HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut status = String::new();
    BufReader::new(connection).read_line(&mut status)?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;
    use crate::config::{Sources, load};

    fn settings(folder: &std::path::Path, addresses: &str) -> Settings {
        std::fs::write(folder.join("addresses.json"), addresses).unwrap();
        let flags = vec![format!("data_dir={}", folder.display())];
        load(&Sources {
            flags,
            ..Sources::default()
        })
        .unwrap()
        .settings
    }

    #[test]
    fn a_service_that_answers_is_found_with_its_ports() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let admin = listener.local_addr().unwrap();
        let service = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            assert_ne!(peer.read(&mut request).unwrap(), 0);
            peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        });
        let running = find(&settings(
            folder.path(),
            &format!(r#"{{"admin":"{admin}"}}"#),
        ));
        service.join().unwrap();
        assert!(running.holds("admin", admin.port()), "{running:?}");
        assert!(!running.holds("api", admin.port()));
    }

    #[test]
    fn addresses_that_nobody_answers_are_stale() {
        let folder = tempfile::tempdir().unwrap();
        let admin = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        for text in [
            format!(r#"{{"admin":"{admin}"}}"#),
            "{}".to_owned(),
            "half a fi".to_owned(),
        ] {
            assert_eq!(
                find(&settings(folder.path(), &text)),
                Running::Stale,
                "{text}"
            );
        }
    }
}
