//! The `Stream` call: from the first message to a session, or to a refusal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use callwright_actors::reception::Reception;
use callwright_actors::session::{Inbound, InboundFault, Limits, Session, SessionStart};
use callwright_domain::protocol::{ErrorValue, Refusal};
use callwright_proto::dataflow_server::Dataflow;
use callwright_proto::{ContentType, Message, StreamInput};
use futures_util::StreamExt;
use tokio::time::timeout;
use tonic::{Code, Request, Response, Status, Streaming};

use super::cut::Cut;
use super::outbound::{Outbound, QueueOutlet, queue};

/// Where a client is; put into each request by the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// What every stream of the service needs.
pub(super) struct Desk {
    pub(super) reception: Arc<Reception>,
    pub(super) limits: Limits,
    pub(super) start_timeout: Duration,
    pub(super) event_queue: usize,
}

/// The streams of one arbiter.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) desk: Arc<Desk>,
    pub(super) arbiter: ArbiterHandle,
}

#[tonic::async_trait]
impl Dataflow for Streams {
    type StreamStream = Outbound;

    async fn stream(
        &self,
        request: Request<Streaming<StreamInput>>,
    ) -> Result<Response<Outbound>, Status> {
        let peer = request
            .extensions()
            .get::<Peer>()
            .map_or_else(String::new, |peer| peer.0.to_string());
        let (outlet, outbound) = queue(self.desk.event_queue, Cut::current());
        // The answer begins before the first message comes: some clients wait for its headers before they speak.
        tokio::spawn(self.clone().begin(request.into_inner(), outlet, peer));
        Ok(Response::new(outbound))
    }
}

impl Streams {
    async fn begin(self, mut inbound: Streaming<StreamInput>, outlet: QueueOutlet, peer: String) {
        let desk = &self.desk;
        let place = match desk.reception.directory.enter() {
            Ok(place) => place,
            Err(refusal) => return refuse(outlet, &peer, START, &refusal),
        };
        let first = match timeout(desk.start_timeout, inbound.message()).await {
            Ok(received) => first_request(received),
            Err(_) => Err(Refusal::new(
                ErrorValue::StartTimeout,
                format!("no Start came within {} ms", desk.start_timeout.as_millis()),
            )),
        };
        let content = match first {
            Ok(content) => content,
            Err(refusal) => return refuse(outlet, &peer, START, &refusal),
        };
        match desk.reception.admit(&content, place).await {
            Ok(admission) => {
                let largest = desk.limits.audio_message;
                let inbound = inbound.map(move |received| to_inbound(received, largest));
                let start = SessionStart {
                    admission,
                    peer,
                    inbound: inbound.boxed(),
                    outlet: Box::new(outlet),
                    limits: desk.limits,
                    directory: Arc::clone(&desk.reception.directory),
                    registry: Arc::clone(&desk.reception.registry),
                };
                Session::start_on(&self.arbiter, start);
            }
            Err((request, refusal)) => refuse(outlet, &peer, &request, &refusal),
        }
    }
}

const START: &str = "Start";

fn refuse(outlet: QueueOutlet, peer: &str, request: &str, refusal: &Refusal) {
    tracing::info!(
        peer,
        error = refusal.value.as_str(),
        message = refusal.message,
        "stream refused"
    );
    outlet.refuse(request, refusal);
}

fn first_request(received: Result<Option<StreamInput>, Status>) -> Result<String, Refusal> {
    let not_started = |what: &str| {
        Refusal::new(
            ErrorValue::NotStarted,
            format!("the first message must be a Start request, not {what}"),
        )
    };
    match received {
        Ok(Some(StreamInput {
            message: Some(message),
        })) => match message.content_type() {
            ContentType::Request => Ok(message.content),
            ContentType::Audio => Err(not_started("audio")),
            ContentType::Event => Err(not_started("an event")),
            ContentType::Response => Err(not_started("a response")),
        },
        Ok(Some(StreamInput { message: None })) => Err(not_started("an empty message")),
        Ok(None) => Err(not_started("the end of the stream")),
        Err(status) => Err(Refusal::new(ErrorValue::InvalidRequest, status.message())),
    }
}

fn to_inbound(received: Result<StreamInput, Status>, largest: usize) -> Inbound {
    let message = match received {
        Ok(StreamInput {
            message: Some(message),
        }) => message,
        Ok(StreamInput { message: None }) => {
            return Inbound::Unusable("the message is empty".to_owned());
        }
        Err(status) => return Inbound::Fault(fault_of(&status)),
    };
    let Message {
        content,
        binary_content,
        content_type,
    } = message;
    let size = content.len().max(binary_content.len());
    if size > largest {
        return Inbound::Fault(InboundFault::TooLarge(format!(
            "a message of {size} bytes is over the limit of {largest} bytes"
        )));
    }
    match ContentType::try_from(content_type) {
        Ok(ContentType::Audio) => Inbound::Audio(binary_content),
        Ok(ContentType::Event) => Inbound::Event(content),
        Ok(ContentType::Request) => Inbound::Request(content),
        Ok(ContentType::Response) => Inbound::Unusable("a client sends no responses".to_owned()),
        Err(_) => Inbound::Unusable(format!("content type {content_type} does not exist")),
    }
}

/// The transport says `OutOfRange` for a message over its limit, and `Internal` for bytes that are no message.
fn fault_of(status: &Status) -> InboundFault {
    match status.code() {
        Code::OutOfRange | Code::ResourceExhausted => {
            InboundFault::TooLarge(status.message().to_owned())
        }
        Code::Internal | Code::Unimplemented | Code::InvalidArgument => {
            InboundFault::Protocol(status.message().to_owned())
        }
        _ => InboundFault::Lost(status.message().to_owned()),
    }
}
