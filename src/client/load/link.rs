//! Connections and the calls on them: opened on time, then only read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callwright_proto::STREAM_PATH;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, StatusCode};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tonic::Code;

use super::notice::{Notice, Notices, What};
use super::plan::Plan;
use super::wire::{Unframer, framed};
use crate::client::fault::code_name;
use crate::client::message::{self, Reply};

/// How long connecting may take, TLS and the HTTP/2 preface included, and how long a call may take to start.
const DEADLINE: Duration = Duration::from_secs(10);
/// Window of one call for what the server sends: a few hundred events.
const STREAM_WINDOW: u32 = 64 * 1024;
/// Window of a connection; the calls on it share it.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// The name of the event that comes back.
pub(super) const PING: &str = "Loadtest Ping";

/// Opens one connection and the calls that belong on it.
pub(super) struct Opener {
    plan: Arc<Plan>,
    tls: Option<Arc<rustls::ClientConfig>>,
    notices: Notices,
}

/// Why a connection or a call is not there: a gRPC status name, or what was met below gRPC.
type Failure = String;

impl Opener {
    pub(super) const fn new(
        plan: Arc<Plan>,
        tls: Option<Arc<rustls::ClientConfig>>,
        notices: Notices,
    ) -> Self {
        Self { plan, tls, notices }
    }

    /// Opens connection `connection` when its first call is due, then each of its calls when that is due.
    pub(super) async fn run(self, connection: u64, start: Instant) {
        sleep_until(self.plan.opening(start, connection)).await;
        let mut tasks = JoinSet::new();
        let connected = timeout(DEADLINE, self.connect(&mut tasks)).await;
        let requests = match connected.unwrap_or_else(|_| Err("connect timeout".to_owned())) {
            Ok(requests) => requests,
            Err(failure) => return self.fail_all(connection, &failure).await,
        };
        for stream in self.plan.streams_of(connection) {
            sleep_until(self.plan.opening(start, stream)).await;
            let reader = Reader::new(stream, self.notices.clone());
            match timeout(DEADLINE, self.request(requests.clone())).await {
                Ok(Ok((response, uplink))) => _ = tasks.spawn(reader.run(response, uplink)),
                Ok(Err(failure)) => reader.tell(What::Failed(failure)).await,
                Err(_) => {
                    reader
                        .tell(What::Failed("request timeout".to_owned()))
                        .await
                }
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn fail_all(&self, connection: u64, failure: &str) {
        for stream in self.plan.streams_of(connection) {
            let what = What::Failed(failure.to_owned());
            // Without a pacer there is nobody left to tell.
            let _ = self.notices.send(Notice { stream, what }).await;
        }
    }

    async fn connect(&self, tasks: &mut JoinSet<()>) -> Result<SendRequest<Bytes>, Failure> {
        let address = &self.plan.target.address;
        let socket = TcpStream::connect((address.host(), address.port()))
            .await
            .map_err(|fault| format!("connect: {}", fault.kind()))?;
        // The test goes on without it; it would only be slower.
        let _ = socket.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return shake_hands(socket, tasks).await;
        };
        let name =
            ServerName::try_from(address.host().to_owned()).map_err(|fault| fault.to_string())?;
        let socket = TlsConnector::from(Arc::clone(tls))
            .connect(name, socket)
            .await
            .map_err(|fault| format!("TLS: {fault}"))?;
        shake_hands(socket, tasks).await
    }

    /// Sends the request and Start; the answer is the reader's to wait for.
    async fn request(
        &self,
        requests: SendRequest<Bytes>,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), Failure> {
        let request = Request::post(format!("{}{STREAM_PATH}", self.plan.target.uri()))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header(
                "user-agent",
                concat!("callwright-loadtest/", env!("CARGO_PKG_VERSION")),
            )
            .body(())
            .map_err(|fault| fault.to_string())?;
        let mut requests = requests.ready().await.map_err(|fault| below_grpc(&fault))?;
        let (response, mut uplink) = requests
            .send_request(request, false)
            .map_err(|fault| below_grpc(&fault))?;
        let start = framed(&message::request(self.plan.start.to_json()));
        uplink
            .send_data(start, false)
            .map_err(|fault| below_grpc(&fault))?;
        Ok((response, uplink))
    }
}

async fn shake_hands<S>(socket: S, tasks: &mut JoinSet<()>) -> Result<SendRequest<Bytes>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (requests, connection) = h2::client::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .enable_push(false)
        .handshake(socket)
        .await
        .map_err(|fault| below_grpc(&fault))?;
    // Its end shows in each of its calls.
    tasks.spawn(async move { _ = connection.await });
    Ok(requests)
}

fn below_grpc(fault: &h2::Error) -> Failure {
    match fault.reason() {
        Some(reason) if fault.is_go_away() => format!("HTTP/2 GOAWAY {reason:?}"),
        Some(reason) => format!("HTTP/2 reset {reason:?}"),
        None => "connection lost".to_owned(),
    }
}

/// Reads one call to its end.
struct Reader {
    stream: u64,
    notices: Notices,
}

impl Reader {
    const fn new(stream: u64, notices: Notices) -> Self {
        Self { stream, notices }
    }

    async fn tell(&self, what: What) {
        let stream = self.stream;
        // Without a pacer there is nobody left to tell.
        let _ = self.notices.send(Notice { stream, what }).await;
    }

    async fn run(self, response: ResponseFuture, uplink: SendStream<Bytes>) {
        let started = timeout(DEADLINE, Downlink::started(response)).await;
        let mut downlink =
            match started.unwrap_or_else(|_| Err(What::Failed("start timeout".to_owned()))) {
                Ok(downlink) => downlink,
                Err(what) => return self.tell(what).await,
            };
        self.tell(What::Opened(uplink)).await;
        let end = loop {
            match downlink.next().await {
                Ok(Some(reply)) => self.tell(heard(&reply)).await,
                Ok(None) => break downlink.status().await,
                Err(failure) => break failure,
            }
        };
        self.tell(What::Ended(end)).await;
    }
}

fn heard(reply: &Reply) -> What {
    let at = Instant::now();
    match reply {
        Reply::Event(event) if event.name == PING => {
            let id = event.data.get("Id").and_then(serde_json::Value::as_u64);
            id.map_or(What::Other, |id| What::Pong { id, at })
        }
        Reply::Event(_) | Reply::Response(_) | Reply::Audio(_) => What::Other,
    }
}

/// What comes back on one call.
struct Downlink {
    body: RecvStream,
    headers: HeaderMap,
    unframer: Unframer,
}

impl Downlink {
    /// Waits until the server has accepted the call.
    async fn started(response: ResponseFuture) -> Result<Self, What> {
        let failed = |failure: Failure| What::Failed(failure);
        let (head, body) = response
            .await
            .map_err(|fault| failed(below_grpc(&fault)))?
            .into_parts();
        if head.status != StatusCode::OK {
            return Err(failed(format!("HTTP {}", head.status.as_u16())));
        }
        let mut downlink = Self {
            body,
            headers: head.headers,
            unframer: Unframer::default(),
        };
        match downlink.next().await.map_err(failed)? {
            Some(Reply::Response(response)) => match response.accepted() {
                Ok(_) => Ok(downlink),
                Err(refusal) => Err(What::Refused(refusal.value)),
            },
            Some(_) => Err(failed("no answer to Start".to_owned())),
            None => Err(failed(downlink.status().await)),
        }
    }

    async fn next(&mut self) -> Result<Option<Reply>, Failure> {
        loop {
            if let Some(output) = self.unframer.next().map_err(|fault| fault.to_string())? {
                return message::reply(output)
                    .map(Some)
                    .map_err(|fault| fault.to_string());
            }
            let Some(data) = self.body.data().await else {
                return Ok(None);
            };
            let data = data.map_err(|fault| below_grpc(&fault))?;
            // Refused only for a stream that is over, where it no longer matters.
            let _ = self.body.flow_control().release_capacity(data.len());
            self.unframer.push(&data);
        }
    }

    /// The gRPC status of a call whose messages are over.
    async fn status(&mut self) -> Failure {
        match self.body.trailers().await {
            Ok(Some(trailers)) => status_name(&trailers),
            Ok(None) => status_name(&self.headers),
            Err(fault) => below_grpc(&fault),
        }
    }
}

fn status_name(headers: &HeaderMap) -> String {
    let code = headers
        .get("grpc-status")
        .map(|value| Code::from_bytes(value.as_bytes()));
    code.map_or("no gRPC status", code_name).to_owned()
}
