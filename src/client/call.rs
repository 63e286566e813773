//! One call over the streaming interface: opened, spoken into, listened to, ended.

use std::time::Duration;

use callwright_proto::dataflow_client::DataflowClient;
use callwright_proto::{StreamInput, StreamOutput};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use super::fault::{ClientFault, root_cause};
use super::message::{self, Reply, Response};
use super::start::Start;
use super::target::{Security, Target, install_cryptography, trusted_roots};

/// How long connecting may take, TLS included.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// How long the answer to Start may take: the server allows itself 5 s for the whole of it.
const START_DEADLINE: Duration = Duration::from_secs(10);
/// How often a quiet connection is probed, and how long the answer may take; a dead server is noticed in 40 s.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// Messages handed to the connection and not sent yet: 8 chunks are 160 ms of audio, enough to ride out a slow
/// turn, few enough that `Stop` is not stuck behind a backlog. When full, sending waits.
const QUEUE: usize = 8;

/// An open call.
#[derive(Debug)]
pub struct Call {
    /// The answer to Start.
    pub started: Response,
    /// The way to the service.
    pub uplink: Uplink,
    /// The way back.
    pub downlink: Downlink,
}

/// The way to the service. Dropping it half-closes the call, which the service takes for Finalize.
#[derive(Debug)]
pub struct Uplink {
    messages: mpsc::Sender<StreamInput>,
}

/// The call is over, so that nothing more can be sent; the [`Downlink`] says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call is over")]
pub struct CallOver;

impl Uplink {
    /// Sends one message, waiting while flow control holds it back.
    ///
    /// # Errors
    /// [`CallOver`] once the service has ended the call.
    pub async fn send(&self, message: StreamInput) -> Result<(), CallOver> {
        self.messages.send(message).await.map_err(|_| CallOver)
    }
}

/// The way back.
#[derive(Debug)]
pub struct Downlink {
    replies: Streaming<StreamOutput>,
}

impl Downlink {
    /// The next message, or none once the call ended with OK.
    ///
    /// # Errors
    /// [`ClientFault::Ended`] with the status the call ended with, [`ClientFault::Unexpected`] for a message
    /// outside the protocol.
    pub async fn next(&mut self) -> Result<Option<Reply>, ClientFault> {
        let Some(output) = self.replies.message().await? else {
            return Ok(None);
        };
        message::reply(output)
            .map(Some)
            .map_err(|fault| ClientFault::Unexpected(fault.to_string()))
    }
}

/// Connects, sends `start` and waits for the answer.
///
/// # Errors
/// [`ClientFault::Unreachable`] and [`ClientFault::BadAuthority`] before there is a connection,
/// [`ClientFault::Refused`] when the service does not accept the call, [`ClientFault::Silent`] when it does not answer.
pub async fn open(target: &Target, start: &Start) -> Result<Call, ClientFault> {
    let channel = connect(target).await?;
    start_within_deadline(channel, target, start).await
}

async fn start_within_deadline(
    channel: Channel,
    target: &Target,
    start: &Start,
) -> Result<Call, ClientFault> {
    let silent = || ClientFault::Silent {
        server: target.address.to_string(),
        what: "Start",
        seconds: START_DEADLINE.as_secs(),
    };
    timeout(START_DEADLINE, begin(channel, start))
        .await
        .unwrap_or_else(|_| Err(silent()))
}

async fn connect(target: &Target) -> Result<Channel, ClientFault> {
    let unreachable = |fault: tonic::transport::Error| ClientFault::Unreachable {
        server: target.address.to_string(),
        reason: root_cause(&fault),
    };
    let endpoint = endpoint(target)?.map_err(unreachable)?;
    match timeout(CONNECT_DEADLINE, endpoint.connect()).await {
        Ok(connected) => connected.map_err(unreachable),
        Err(_) => Err(ClientFault::Silent {
            server: target.address.to_string(),
            what: "the connection",
            seconds: CONNECT_DEADLINE.as_secs(),
        }),
    }
}

fn endpoint(target: &Target) -> Result<Result<Endpoint, tonic::transport::Error>, ClientFault> {
    install_cryptography();
    let endpoint = Endpoint::from_shared(target.uri()).map(|endpoint| {
        endpoint
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
    });
    let Security::Tls { authorities } = &target.security else {
        return Ok(endpoint);
    };
    // Read here as well: the transport would take a file with no certificate in it for one that trusts nobody.
    trusted_roots(authorities)?;
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authorities))
        .domain_name(target.address.host());
    Ok(endpoint.and_then(|endpoint| endpoint.tls_config(tls)))
}

async fn begin(channel: Channel, start: &Start) -> Result<Call, ClientFault> {
    let (messages, queue) = mpsc::channel(QUEUE);
    let uplink = Uplink { messages };
    // Start waits in the queue before the call is made: the server may answer nothing, headers included, without it.
    let request = message::request(start.to_json());
    if uplink.send(request).await.is_err() {
        return Err(ClientFault::Unexpected(
            "the call ended before it began".to_owned(),
        ));
    }
    let replies = DataflowClient::new(channel)
        .stream(ReceiverStream::new(queue))
        .await?
        .into_inner();
    let mut downlink = Downlink { replies };
    match downlink.next().await? {
        Some(Reply::Response(response)) => Ok(Call {
            started: response.accepted()?,
            uplink,
            downlink,
        }),
        Some(_) => Err(ClientFault::Unexpected(
            "something else before the answer to Start".to_owned(),
        )),
        None => Err(ClientFault::Unexpected(
            "the end of the call instead of an answer to Start".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::client::message::{FINALIZE, request};
    use crate::client::testserver::{Script, TestServer, any_start};

    async fn ending(downlink: &mut Downlink) -> (Vec<String>, Option<ClientFault>) {
        let mut names = Vec::new();
        loop {
            match downlink.next().await {
                Ok(Some(Reply::Event(event))) => names.push(event.name),
                Ok(Some(_)) => {}
                Ok(None) => return (names, None),
                Err(fault) => return (names, Some(fault)),
            }
        }
    }

    #[tokio::test]
    async fn a_call_over_tls_starts_streams_and_ends() {
        let server = TestServer::tls(Script::Echo);
        let mut call = open(&server.target, &any_start()).await.unwrap();
        assert_eq!(call.started.session(), "session-1");
        call.uplink
            .send(message::audio(vec![0xff; 160].into()))
            .await
            .unwrap();
        call.uplink.send(request(FINALIZE)).await.unwrap();
        let (names, fault) = ending(&mut call.downlink).await;
        assert_eq!(names, ["Session Ended"]);
        assert!(fault.is_none(), "{fault:?}");
        assert_eq!(server.heard().chunks, [vec![0xff; 160]]);
        assert_eq!(server.heard().start["Tenant"], "default");
    }

    #[tokio::test]
    async fn a_refusal_carries_the_error_value_and_the_words() {
        let server = TestServer::plaintext(Script::Refuse("project-not-found", Code::NotFound));
        let fault = open(&server.target, &any_start()).await.unwrap_err();
        let ClientFault::Refused(refusal) = &fault else {
            panic!("{fault}")
        };
        assert_eq!(
            (refusal.value.as_str(), refusal.message.as_str()),
            ("project-not-found", "as scripted")
        );
    }

    #[tokio::test]
    async fn a_certificate_for_another_name_is_not_trusted() {
        let server = TestServer::tls(Script::Echo);
        let target = Target {
            address: format!("127.0.0.1:{}", server.target.address.port())
                .parse()
                .unwrap(),
            ..server.target.clone()
        };
        let fault = open(&target, &any_start()).await.unwrap_err();
        let ClientFault::Unreachable { reason, .. } = &fault else {
            panic!("{fault}")
        };
        assert!(reason.contains("certificate"), "{reason}");
    }

    #[tokio::test]
    async fn a_certificate_of_another_authority_is_not_trusted() {
        let server = TestServer::tls(Script::Echo);
        let other = TestServer::tls(Script::Echo);
        let target = Target {
            address: server.target.address.clone(),
            security: other.target.security.clone(),
        };
        let fault = open(&target, &any_start()).await.unwrap_err();
        assert!(matches!(fault, ClientFault::Unreachable { .. }), "{fault}");
    }

    #[tokio::test]
    async fn a_port_where_nothing_listens_is_unreachable() {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            security: Security::Plaintext,
        };
        let fault = open(&target, &any_start()).await.unwrap_err();
        assert!(matches!(fault, ClientFault::Unreachable { .. }), "{fault}");
    }

    #[tokio::test]
    async fn a_server_that_never_answers_start_is_given_up() {
        let server = TestServer::plaintext(Script::Mute);
        let channel = connect(&server.target).await.unwrap();
        tokio::time::pause();
        let start = any_start();
        let fault = start_within_deadline(channel, &server.target, &start)
            .await
            .unwrap_err();
        assert!(
            matches!(fault, ClientFault::Silent { what: "Start", .. }),
            "{fault}"
        );
    }

    #[tokio::test]
    async fn a_call_that_breaks_off_ends_with_its_status() {
        let server = TestServer::plaintext(Script::Break(1, Code::ResourceExhausted));
        let mut call = open(&server.target, &any_start()).await.unwrap();
        call.uplink
            .send(message::audio(vec![0xff; 160].into()))
            .await
            .unwrap();
        let (_, fault) = ending(&mut call.downlink).await;
        assert_eq!(
            fault.unwrap().to_string(),
            "the call ended with RESOURCE_EXHAUSTED: as scripted"
        );
    }
}
