//! Listening sockets, with faults in words for people.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections waiting to be accepted, for each listener: what comes in while a core is busy for some milliseconds.
const BACKLOG: i32 = 1024;

/// Why no listener could be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} ({key}): {}", reason(.source))]
pub struct BindFault {
    /// The setting that names the address.
    key: &'static str,
    address: SocketAddr,
    source: io::Error,
}

fn reason(fault: &io::Error) -> String {
    match fault.kind() {
        io::ErrorKind::AddrInUse => "the port is taken by another program".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not use the port".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine does not have the address".to_owned(),
        _ => fault.to_string(),
    }
}

/// Opens `count` listeners on the address that the setting `key` names; port 0 picks a free port, the same for all.
///
/// # Errors
/// [`BindFault`] in words for people; a port that any other process listens on is refused.
pub fn bind(
    key: &'static str,
    address: SocketAddr,
    count: usize,
) -> Result<Vec<TcpListener>, BindFault> {
    let fault = |source| BindFault {
        key,
        address,
        source,
    };
    // With SO_REUSEPORT a second service of the same user would share the port in silence: ask first without it.
    let probe = open(address, false)
        .and_then(|socket| socket.local_addr())
        .map_err(fault)?;
    let address = probe.as_socket().unwrap_or(address);
    let listeners = (0..count.max(1)).map(|_| open(address, true).map(TcpListener::from));
    listeners.collect::<io::Result<_>>().map_err(fault)
}

fn open(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
