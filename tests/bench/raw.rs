//! The least that could do the same: a tonic handler that decodes audio and drops it, accepts Start, and sends
//! events back. It checks nothing, keeps nothing and knows no sessions; the settings of HTTP/2 are the service's.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

use callwright_proto::dataflow_server::{Dataflow, DataflowServer};
use callwright_proto::{ContentType, Message, StreamInput, StreamOutput};
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::Fault;
use crate::load::Door;
use crate::process::{SERVER_CORE, Server as Process, pinned};

/// Makes this program the raw server: `--raw-server AUTHORITY.pem`, the file that clients will trust.
pub(crate) const ARGUMENT: &str = "--raw-server";
/// The name in the certificate.
pub(crate) const HOST: &str = "localhost";

const STREAM_WINDOW: u32 = 64 * 1024;
/// Twice the service's default, on both sides: 400 calls share a connection here, 200 are the default.
const CONNECTION_WINDOW: u32 = 32 * 1024 * 1024;
/// Messages waiting for one client, as in the service.
const QUEUE: usize = 256;
const STARTED: &str =
    r#"{"MessageName":"StartResponse","operation-result":"success","SessionId":"raw"}"#;

/// A running raw server.
pub(crate) struct RawServer {
    /// Its process.
    pub(crate) process: Process,
    /// How the load gets in.
    pub(crate) door: Door,
    _folder: tempfile::TempDir,
}

impl RawServer {
    /// Starts this program as the raw server, with TLS, on the server's core.
    pub(crate) fn start() -> Result<Self, Fault> {
        let folder = tempfile::tempdir()?;
        let authority = folder.path().join("ca.pem");
        let mut command = pinned(SERVER_CORE, std::env::current_exe()?);
        command.arg(ARGUMENT).arg(&authority).stdout(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let mut server = String::new();
        BufReader::new(process.stdout()?).read_line(&mut server)?;
        let server = server.trim().to_owned();
        if server.is_empty() {
            return Err("the raw server does not start".into());
        }
        Ok(Self {
            process,
            door: Door::Raw { server, authority },
            _folder: folder,
        })
    }
}

/// Serves until it is killed; the address is the first line on stdout.
pub(crate) fn serve(arguments: &[String]) -> Result<(), Fault> {
    let authority = arguments
        .iter()
        .skip_while(|argument| *argument != ARGUMENT)
        .nth(1);
    let authority = Path::new(authority.ok_or("a file for the authority is wanted")?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?)?.with_nodelay(Some(true));
        let mut server = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_adaptive_window(Some(false))
            .tls_config(ServerTlsConfig::new().identity(identity(authority)?))?;
        writeln!(
            std::io::stdout(),
            "{HOST}:{}",
            incoming.local_addr()?.port()
        )?;
        server
            .add_service(DataflowServer::new(Raw))
            .serve_with_incoming(incoming)
            .await?;
        Ok(())
    })
}

/// A certificate signed by itself, which is written to `path` for clients to trust.
fn identity(path: &Path) -> Result<Identity, Fault> {
    callwright::client::target::install_cryptography();
    let made = rcgen::generate_simple_self_signed(vec![HOST.to_owned()])?;
    std::fs::write(path, made.cert.pem())?;
    Ok(Identity::from_pem(
        made.cert.pem(),
        made.signing_key.serialize_pem(),
    ))
}

struct Raw;

type Outputs = Sender<Result<StreamOutput, Status>>;

#[tonic::async_trait]
impl Dataflow for Raw {
    type StreamStream = ReceiverStream<Result<StreamOutput, Status>>;

    async fn stream(
        &self,
        request: Request<Streaming<StreamInput>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let (outputs, queue) = channel(QUEUE);
        tokio::spawn(drop_audio(request.into_inner(), outputs));
        Ok(Response::new(ReceiverStream::new(queue)))
    }
}

async fn drop_audio(mut inputs: Streaming<StreamInput>, outputs: Outputs) {
    while let Ok(Some(StreamInput {
        message: Some(message),
    })) = inputs.message().await
    {
        let answer = match message.content_type() {
            ContentType::Audio => continue,
            ContentType::Event => message,
            ContentType::Request | ContentType::Response
                if message.content.contains("Finalize") =>
            {
                return;
            }
            ContentType::Request | ContentType::Response => Message {
                content: STARTED.to_owned(),
                content_type: ContentType::Response.into(),
                ..Message::default()
            },
        };
        if outputs
            .send(Ok(StreamOutput {
                message: Some(answer),
            }))
            .await
            .is_err()
        {
            return;
        }
    }
}
