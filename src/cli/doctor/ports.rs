//! Can each listener be bound?

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use super::finding::Finding;
use super::running::Running;
use crate::config::Settings;

/// Tries each listener's address, unless the running service holds it.
pub(super) fn examine(settings: &Settings, running: &Running) -> Vec<Finding> {
    let listeners = [
        ("stream", settings.stream.listen),
        ("api", settings.api.listen),
        ("admin", settings.admin.listen),
    ];
    listeners
        .iter()
        .map(|(name, address)| port(name, *address, running))
        .collect()
}

fn port(listener: &str, address: SocketAddr, running: &Running) -> Finding {
    let check = format!("{listener} port");
    if running.holds(listener, address.port()) {
        return Finding::ok(check, format!("{address} is held by the running service"));
    }
    match TcpListener::bind(address) {
        Ok(_) if address.port() == 0 => Finding::ok(check, "a free one is picked at start"),
        Ok(_) => Finding::ok(check, format!("{address} is free")),
        Err(error) => refused(check, listener, address, &error),
    }
}

fn refused(check: String, listener: &str, address: SocketAddr, error: &std::io::Error) -> Finding {
    let (detail, todo) = match error.kind() {
        ErrorKind::AddrInUse => (
            format!("{address} is taken by another program"),
            format!(
                "set {listener}.listen to another port, or end that program; `ss -ltnp` names it"
            ),
        ),
        ErrorKind::PermissionDenied => (
            format!("{address} may not be used by this user"),
            format!("set {listener}.listen to a port from 1024, or grant CAP_NET_BIND_SERVICE"),
        ),
        ErrorKind::AddrNotAvailable => (
            format!("{address} is no address of this machine"),
            format!("set {listener}.listen to one; `ip address` lists them"),
        ),
        _ => (
            format!("{address} cannot be used ({error})"),
            format!("set {listener}.listen to another address"),
        ),
    };
    Finding::fail(check, detail, todo)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::finding::Status;
    use super::*;

    #[test]
    fn a_port_taken_by_a_stranger_fails_and_one_held_by_the_service_does_not() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let finding = port("api", address, &Running::No);
        assert_eq!(finding.status, Status::Fail);
        assert!(
            finding.to_string().contains("taken by another program"),
            "{finding}"
        );

        let ours = Running::Yes(BTreeMap::from([("api".to_owned(), address)]));
        assert_eq!(port("api", address, &ours).status, Status::Ok);
    }

    #[test]
    fn an_address_of_another_machine_fails() {
        // TEST-NET-1 of RFC 5737 belongs to nobody.
        let finding = port("stream", "192.0.2.1:0".parse().unwrap(), &Running::No);
        assert_eq!(finding.status, Status::Fail, "{finding}");
    }
}
