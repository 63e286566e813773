//! One connection: handshakes within a deadline, then HTTP/2 until either side is done.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::service::Routes;
use tower::Service;

use super::cut::Streams;
use super::preface;
use super::service::Peer;

/// Bytes of one response buffered beyond what the client has allowed.
const SEND_BUFFER: usize = 64 * 1024;
/// Largest request head: a call has a handful of short headers.
const HEADER_LIMIT: u32 = 16 * 1024;
/// How long a connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// What every connection is served with.
pub(super) struct Terms {
    pub(super) tls: Option<Arc<rustls::ServerConfig>>,
    pub(super) handshake_timeout: Duration,
    pub(super) streams: u32,
    pub(super) stream_window: u32,
    pub(super) connection_window: u32,
    pub(super) keepalive_interval: Duration,
    pub(super) keepalive_timeout: Duration,
}

/// Serves one connection until it ends or `stop` says so.
pub(super) async fn serve(
    tcp: TcpStream,
    peer: SocketAddr,
    terms: Arc<Terms>,
    routes: Routes,
    stop: watch::Receiver<bool>,
) {
    if let Err(fault) = tcp.set_nodelay(true) {
        tracing::debug!(%peer, %fault, "no TCP_NODELAY");
    }
    let deadline = terms.handshake_timeout;
    match &terms.tls {
        None => match within(deadline, preface::expect(tcp)).await {
            Ok(io) => http2(io, peer, &terms, routes, stop).await,
            Err(fault) => refused(peer, "preface", &fault),
        },
        Some(config) => {
            let acceptor = TlsAcceptor::from(Arc::clone(config));
            let greeted = async { preface::expect(acceptor.accept(tcp).await?).await };
            match within(deadline, greeted).await {
                Ok(io) => http2(io, peer, &terms, routes, stop).await,
                Err(fault) => refused(peer, "tls", &fault),
            }
        }
    }
}

async fn within<T>(deadline: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(deadline, work)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn refused(peer: SocketAddr, stage: &'static str, fault: &io::Error) {
    metrics::counter!("callwright_handshakes_failed_total", "stage" => stage).increment(1);
    tracing::debug!(%peer, stage, %fault, "handshake failed");
}

async fn http2<Io>(
    io: Io,
    peer: SocketAddr,
    terms: &Terms,
    routes: Routes,
    mut stop: watch::Receiver<bool>,
) where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        routes.clone().call(request)
    });
    let connection = http2::Builder::new(Streams)
        .timer(TokioTimer::new())
        .initial_stream_window_size(terms.stream_window)
        .initial_connection_window_size(terms.connection_window)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(HEADER_LIMIT)
        .max_concurrent_streams(terms.streams)
        .keep_alive_interval(Some(terms.keepalive_interval))
        .keep_alive_timeout(terms.keepalive_timeout)
        .serve_connection(TokioIo::new(io), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            timeout(GOODBYE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(fault) = ended {
        tracing::debug!(%peer, %fault, "connection lost");
    }
}

/// Comes back once the door closes.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    drop(stop.wait_for(|stop| *stop).await);
}
