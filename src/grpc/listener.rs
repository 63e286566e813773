//! The listeners: one a core on the same port, each with an arbiter of its own.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use callwright_actors::reception::Reception;
use callwright_actors::session::Limits;
use callwright_proto::dataflow_server::DataflowServer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, health_reporter};

use super::connection::{self, Terms};
use super::service::{Desk, Streams};

/// What a message may be over the audio limit: its framing. Anything larger is refused before it is read whole.
const MESSAGE_SLACK: usize = 16 * 1024;
/// Pause after a failed accept (out of file descriptors, mostly), so as not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The settings of the door.
#[derive(Clone)]
pub struct Options {
    /// TLS, or none on a loopback address.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Most connections.
    pub connections: usize,
    /// Most streams of one connection.
    pub streams_per_connection: u32,
    /// Bytes of one stream that may be under way unread.
    ///
    /// Together with the connection's it must keep stalled streams of small chunks inside what h2 allows a connection in
    /// small unread frames: streams × window / L × (256 − L) ≤ connection window / 2 for chunks of L bytes.
    pub stream_window: u32,
    /// Bytes of all streams of a connection that may be under way unread.
    pub connection_window: u32,
    /// How long TLS and the HTTP/2 preface may take together.
    pub handshake_timeout: Duration,
    /// How long the first message may take.
    pub start_timeout: Duration,
    /// Time between pings of a quiet connection.
    pub keepalive_interval: Duration,
    /// How long a ping may go unanswered.
    pub keepalive_timeout: Duration,
    /// Messages that may wait for a client to read them.
    pub event_queue: usize,
    /// Deadlines and limits of sessions.
    pub limits: Limits,
}

/// The running door.
pub struct Server {
    arbiters: Vec<Arbiter>,
    stop: watch::Sender<bool>,
    health: HealthReporter,
}

impl Server {
    /// Serves each listener on an arbiter of its own.
    ///
    /// # Errors
    /// The reflection descriptors or a listener could not be used.
    pub async fn start(
        listeners: Vec<TcpListener>,
        reception: Arc<Reception>,
        options: Options,
    ) -> io::Result<Self> {
        let (health, health_service) = health_reporter();
        health.set_serving::<DataflowServer<Streams>>().await;
        let reflect = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(callwright_proto::DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let (v1, v1alpha) = (
            reflect().build_v1().map_err(io::Error::other)?,
            reflect().build_v1alpha().map_err(io::Error::other)?,
        );
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared::new(&options));
        let desk = Arc::new(Desk {
            reception,
            limits: options.limits,
            start_timeout: options.start_timeout,
            event_queue: options.event_queue,
        });
        let mut arbiters = Vec::new();
        for listener in listeners {
            let arbiter = Arbiter::new();
            let streams = Streams {
                desk: Arc::clone(&desk),
                arbiter: arbiter.handle(),
            };
            let dataflow = DataflowServer::new(streams).max_decoding_message_size(
                options.limits.audio_message.saturating_add(MESSAGE_SLACK),
            );
            let routes = Routes::new(dataflow)
                .add_service(health_service.clone())
                .add_service(v1.clone())
                .add_service(v1alpha.clone())
                .prepare();
            arbiter.spawn(accept(
                listener,
                Arc::clone(&shared),
                routes,
                stopped.clone(),
            ));
            arbiters.push(arbiter);
        }
        Ok(Self {
            arbiters,
            stop,
            health,
        })
    }

    /// Tells health checks that no new streams are wanted. Connections are still accepted, so that streams get an answer.
    pub async fn drain(&self) {
        self.health
            .set_not_serving::<DataflowServer<Streams>>()
            .await;
        self.health
            .set_service_status("", ServingStatus::NotServing)
            .await;
    }

    /// Stops accepting and says goodbye to every connection; then the threads end.
    pub async fn stop(self, goodbye: Duration) {
        self.stop.send_replace(true);
        let gone = async {
            while self.stop.receiver_count() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(goodbye, gone).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        for arbiter in self.arbiters {
            let _ = arbiter.join();
        }
    }
}

struct Shared {
    terms: Arc<Terms>,
    connections: Arc<Semaphore>,
}

impl Shared {
    fn new(options: &Options) -> Self {
        Self {
            terms: Arc::new(Terms {
                tls: options.tls.clone(),
                handshake_timeout: options.handshake_timeout,
                streams: options.streams_per_connection,
                stream_window: options.stream_window,
                connection_window: options.connection_window,
                keepalive_interval: options.keepalive_interval,
                keepalive_timeout: options.keepalive_timeout,
            }),
            connections: Arc::new(Semaphore::new(options.connections)),
        }
    }
}

async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    routes: Routes,
    mut stop: watch::Receiver<bool>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(fault) => {
            tracing::error!(%fault, "a stream listener could not be used");
            return;
        }
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = connection::stopped(&mut stop) => return,
        };
        match accepted {
            Ok((tcp, peer)) => match Arc::clone(&shared.connections).try_acquire_owned() {
                Ok(permit) => {
                    let serving = connection::serve(
                        tcp,
                        peer,
                        Arc::clone(&shared.terms),
                        routes.clone(),
                        stop.clone(),
                    );
                    tokio::spawn(hold(permit, serving));
                }
                Err(_) => {
                    metrics::counter!("callwright_connections_refused_total").increment(1);
                    tracing::warn!(%peer, "connection refused: the server has as many as it may");
                }
            },
            Err(fault) => {
                tracing::warn!(%fault, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn hold(permit: OwnedSemaphorePermit, serving: impl Future<Output = ()>) {
    let gauge = metrics::gauge!("callwright_connections");
    gauge.increment(1.0);
    serving.await;
    gauge.decrement(1.0);
    drop(permit);
}
