//! A small server that tests speak to: it behaves as its script says, and keeps what it was told.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use callwright_domain::event::Event;
use callwright_proto::dataflow_server::{Dataflow, DataflowServer};
use callwright_proto::{ContentType, Message, StreamInput, StreamOutput};
use futures_util::Stream;
use serde_json::Value;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status, Streaming};

use super::start::Start;
use super::target::{Security, Target};

/// A small window, so that a server that reads nothing is soon sent nothing.
const WINDOW: u32 = 64 * 1024;

/// How the server behaves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Script {
    /// Accepts, sends events back, ends well.
    Echo,
    /// Refuses Start with an error value and a status.
    Refuse(&'static str, Code),
    /// Accepts, then ends with a status after so many chunks.
    Break(usize, Code),
    /// Reads, and never says anything.
    Mute,
    /// Accepts and never reads on.
    Deaf,
}

/// What the server was told.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The Start request.
    pub(crate) start: Value,
    /// The chunks, in order.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// The names of the other requests.
    pub(crate) requests: Vec<String>,
}

/// A running server; it ends with the test's runtime.
pub(crate) struct TestServer {
    /// Where it is.
    pub(crate) target: Target,
    heard: Arc<Mutex<Heard>>,
}

impl TestServer {
    /// Serves on a free port without TLS.
    pub(crate) fn plaintext(script: Script) -> Self {
        Self::serve(script, Server::builder(), "127.0.0.1", Security::Plaintext)
    }

    /// Serves with a certificate for `localhost`, signed by itself.
    pub(crate) fn tls(script: Script) -> Self {
        super::target::install_cryptography();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let identity = Identity::from_pem(made.cert.pem(), made.signing_key.serialize_pem());
        let server = Server::builder()
            .tls_config(ServerTlsConfig::new().identity(identity))
            .unwrap();
        let authorities = made.cert.pem().into_bytes();
        Self::serve(script, server, "localhost", Security::Tls { authorities })
    }

    fn serve(script: Script, server: Server, host: &str, security: Security) -> Self {
        let mut server = server
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = incoming.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let service = Service {
            script,
            heard: Arc::clone(&heard),
        };
        tokio::spawn(
            server
                .add_service(DataflowServer::new(service))
                .serve_with_incoming(incoming),
        );
        Self {
            target: Target {
                address: format!("{host}:{port}").parse().unwrap(),
                security,
            },
            heard,
        }
    }

    /// What it was told so far.
    pub(crate) fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap()
    }
}

/// A Start that any of these servers takes.
pub(crate) fn any_start() -> Start {
    Start {
        tenant: "default".to_owned(),
        token: "token".to_owned().into(),
        project: "demo-stream".to_owned(),
        sample_rate: 8_000,
        channels: 1,
        encoding: callwright_domain::audio::Encoding::Ulaw,
        language: None,
        settings: serde_json::Map::new(),
        call_properties: serde_json::Map::new(),
    }
}

struct Service {
    script: Script,
    heard: Arc<Mutex<Heard>>,
}

type Outputs = Sender<Result<StreamOutput, Status>>;

#[tonic::async_trait]
impl Dataflow for Service {
    type StreamStream = Pin<Box<dyn Stream<Item = Result<StreamOutput, Status>> + Send>>;

    async fn stream(
        &self,
        request: Request<Streaming<StreamInput>>,
    ) -> Result<Response<Self::StreamStream>, Status> {
        let (outputs, queue) = channel(16);
        let call = Conversation {
            script: self.script,
            heard: Arc::clone(&self.heard),
            inputs: request.into_inner(),
            outputs,
        };
        tokio::spawn(call.run());
        Ok(Response::new(Box::pin(ReceiverStream::new(queue))))
    }
}

struct Conversation {
    script: Script,
    heard: Arc<Mutex<Heard>>,
    inputs: Streaming<StreamInput>,
    outputs: Outputs,
}

impl Conversation {
    async fn run(mut self) {
        let Some(first) = self.next().await else {
            return;
        };
        self.heard.lock().unwrap().start = serde_json::from_str(&first.content).unwrap();
        match self.script {
            Script::Refuse(value, code) => return self.refuse(value, code).await,
            Script::Mute => while self.next().await.is_some() {},
            _ => {
                self.respond("Start", r#""success","SessionId":"session-1""#)
                    .await
            }
        }
        if matches!(self.script, Script::Deaf) {
            return self.outputs.closed().await;
        }
        while let Some(message) = self.next().await {
            if self.take(message).await {
                break;
            }
        }
    }

    async fn next(&mut self) -> Option<Message> {
        self.inputs.message().await.ok().flatten()?.message
    }

    /// Takes one message, and says whether it was the last.
    async fn take(&mut self, message: Message) -> bool {
        match message.content_type() {
            ContentType::Audio => {
                self.heard
                    .lock()
                    .unwrap()
                    .chunks
                    .push(message.binary_content.to_vec());
                self.breaks_off().await
            }
            ContentType::Event => {
                self.send(ContentType::Event, message.content).await;
                false
            }
            _ => {
                let request: Value = serde_json::from_str(&message.content).unwrap();
                let name = request["MessageName"].as_str().unwrap().to_owned();
                self.respond(&name, r#""success""#).await;
                let chunks = self.heard.lock().unwrap().chunks.len();
                let ended = Event::new("Session Ended")
                    .with("Reason", name.clone())
                    .with("Chunks", chunks);
                self.send(ContentType::Event, ended.to_wire()).await;
                self.heard.lock().unwrap().requests.push(name);
                true
            }
        }
    }

    async fn breaks_off(&self) -> bool {
        let Script::Break(chunks, code) = self.script else {
            return false;
        };
        let over = self.heard.lock().unwrap().chunks.len() >= chunks;
        if over {
            _ = self
                .outputs
                .send(Err(Status::new(code, "as scripted")))
                .await;
        }
        over
    }

    async fn refuse(&self, value: &str, code: Code) {
        self.respond(
            "Start",
            &format!(r#""{value}","error-message":"as scripted""#),
        )
        .await;
        _ = self
            .outputs
            .send(Err(Status::new(code, "as scripted")))
            .await;
    }

    async fn respond(&self, name: &str, result: &str) {
        let json = format!(r#"{{"MessageName":"{name}Response","operation-result":{result}}}"#);
        self.send(ContentType::Response, json).await;
    }

    async fn send(&self, kind: ContentType, content: String) {
        let message = Message {
            content,
            content_type: kind as i32,
            ..Message::default()
        };
        _ = self
            .outputs
            .send(Ok(StreamOutput {
                message: Some(message),
            }))
            .await;
    }
}
