//! One call over gRPC, message by message.

use std::time::Duration;

use bytes::Bytes;
use callwright_proto::dataflow_client::DataflowClient;
use callwright_proto::{ContentType, Message, StreamInput, StreamOutput};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status, Streaming};

use super::start::Start;

/// Longest wait for anything that should come at once; much longer than it takes on a loaded machine.
pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// One message from the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Response(Value),
    /// What is inside `Event`.
    Event(Value),
    Audio(Bytes),
}

/// Everything that came until the end of a call.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) heard: Vec<Heard>,
    pub(crate) status: Status,
}

/// A call.
pub(crate) struct Call {
    up: Option<mpsc::Sender<StreamInput>>,
    down: Streaming<StreamOutput>,
}

/// Connects with TLS to `host:port`.
pub(crate) async fn dial(address: &str, ca: &str) -> Channel {
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
    let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap();
    connected(endpoint.tls_config(tls).unwrap()).await
}

/// Connects without TLS to `host:port`.
pub(crate) async fn dial_plaintext(address: &str) -> Channel {
    connected(Endpoint::from_shared(format!("http://{address}")).unwrap()).await
}

async fn connected(endpoint: Endpoint) -> Channel {
    timeout(WAIT, endpoint.connect())
        .await
        .expect("a connection in time")
        .expect("a connection")
}

pub(crate) fn message(kind: ContentType, content: &str, binary: Bytes) -> StreamInput {
    StreamInput {
        message: Some(Message {
            content: content.to_owned(),
            binary_content: binary,
            content_type: kind.into(),
        }),
    }
}

impl Call {
    /// Opens a call and says nothing.
    pub(crate) async fn open(channel: Channel) -> Self {
        let (up, outgoing) = mpsc::channel(16);
        let mut client = DataflowClient::new(channel);
        let opened = client.stream(ReceiverStream::new(outgoing));
        let response = timeout(WAIT, opened).await.expect("an answer in time");
        Self {
            up: Some(up),
            down: response.expect("the call opens").into_inner(),
        }
    }

    /// Opens a call and starts it, which must succeed.
    pub(crate) async fn started(channel: Channel, start: &Start) -> Self {
        let mut call = Self::open(channel).await;
        let answer = call.start(start).await;
        assert_eq!(answer["operation-result"], "success", "{answer}");
        call
    }

    /// Sends a Start and gives its response.
    pub(crate) async fn start(&mut self, start: &Start) -> Value {
        self.request(&start.json()).await;
        self.response().await
    }

    /// Sends a message; a call that has ended takes none, and says so by `false`.
    pub(crate) async fn send(&self, message: StreamInput) -> bool {
        let up = self.up.as_ref().expect("this side is not closed yet");
        timeout(WAIT, up.send(message))
            .await
            .expect("the message is taken in time")
            .is_ok()
    }

    /// Sends a message if there is room for it at once.
    pub(crate) fn offer(&self, message: StreamInput) -> bool {
        let up = self.up.as_ref().expect("this side is not closed yet");
        up.try_send(message).is_ok()
    }

    /// Whether nothing more can be sent now: nobody takes what was sent before.
    pub(crate) fn is_full(&self) -> bool {
        let up = self.up.as_ref().expect("this side is not closed yet");
        !up.is_closed() && up.capacity() == 0
    }

    /// Waits, without reading, until the server takes no more: the call was reset.
    pub(crate) async fn cut_off(&self) {
        let up = self.up.as_ref().expect("this side is not closed yet");
        timeout(WAIT, up.closed())
            .await
            .expect("the call is cut off in time");
    }

    pub(crate) async fn request(&self, json: &str) -> bool {
        self.send(message(ContentType::Request, json, Bytes::new()))
            .await
    }

    pub(crate) async fn event(&self, json: &str) -> bool {
        self.send(message(ContentType::Event, json, Bytes::new()))
            .await
    }

    pub(crate) async fn audio(&self, audio: impl Into<Bytes>) -> bool {
        self.send(message(ContentType::Audio, "", audio.into()))
            .await
    }

    /// Sends audio in chunks of so many bytes.
    pub(crate) async fn chunks(&self, audio: &[u8], size: usize) {
        for chunk in audio.chunks(size) {
            assert!(
                self.audio(chunk.to_vec()).await,
                "the call ended before its audio"
            );
        }
    }

    /// Closes this side.
    pub(crate) fn half_close(&mut self) {
        self.up = None;
    }

    /// The next message, or how the call ended.
    pub(crate) async fn next(&mut self) -> Result<Heard, Status> {
        let read = timeout(WAIT, self.down.message())
            .await
            .expect("a message in time");
        let Some(output) = read? else {
            return Err(Status::new(Code::Ok, ""));
        };
        let message = output.message.expect("no message is empty");
        let kind = ContentType::try_from(message.content_type).expect("the type exists");
        let json = || -> Value { serde_json::from_str(&message.content).expect("JSON") };
        Ok(match kind {
            ContentType::Audio => Heard::Audio(message.binary_content),
            ContentType::Event => Heard::Event(json()["Event"].take()),
            ContentType::Response => Heard::Response(json()),
            ContentType::Request => panic!("a server asks nothing"),
        })
    }

    /// The next message, which must be a response.
    pub(crate) async fn response(&mut self) -> Value {
        match self.next().await {
            Ok(Heard::Response(response)) => response,
            other => panic!("a response was due, not {other:?}"),
        }
    }

    /// The next event of that name; others are passed over.
    pub(crate) async fn await_event(&mut self, name: &str) -> Value {
        loop {
            match self.next().await {
                Ok(Heard::Event(event)) if event["Name"] == name => return event,
                Ok(_) => {}
                Err(status) => panic!("the call ended before `{name}`: {status:?}"),
            }
        }
    }

    /// Everything until the call ends.
    pub(crate) async fn rest(mut self) -> Said {
        let mut heard = Vec::new();
        loop {
            match self.next().await {
                Ok(message) => heard.push(message),
                Err(status) => return Said { heard, status },
            }
        }
    }

    /// Closes this side and hears the call out.
    pub(crate) async fn hear_out(mut self) -> Said {
        self.half_close();
        self.rest().await
    }
}

impl Said {
    pub(crate) fn events(&self) -> Vec<&Value> {
        let events = self.heard.iter().filter_map(|heard| match heard {
            Heard::Event(event) => Some(event),
            _ => None,
        });
        events.collect()
    }

    pub(crate) fn responses(&self) -> Vec<&Value> {
        let responses = self.heard.iter().filter_map(|heard| match heard {
            Heard::Response(response) => Some(response),
            _ => None,
        });
        responses.collect()
    }

    /// The server's audio, all of it.
    pub(crate) fn audio(&self) -> Vec<u8> {
        let audio = self.heard.iter().filter_map(|heard| match heard {
            Heard::Audio(audio) => Some(audio.as_ref()),
            _ => None,
        });
        audio.flatten().copied().collect()
    }

    pub(crate) fn named(&self, name: &str) -> Vec<&Value> {
        let mut events = self.events();
        events.retain(|event| event["Name"] == name);
        events
    }

    /// The last message, which must be the event `Session Ended`, the only one of its name.
    pub(crate) fn ended(&self) -> &Value {
        assert_eq!(self.named("Session Ended").len(), 1, "{:?}", self.heard);
        match self.heard.last() {
            Some(Heard::Event(event)) if event["Name"] == "Session Ended" => event,
            other => panic!("the last message is {other:?}"),
        }
    }
}
