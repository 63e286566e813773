//! Puts the streaming side together: reception, recordings, the gRPC door.

use std::net::TcpListener;
use std::sync::Arc;

use callwright_actors::directory::{Capacity, Directory};
use callwright_actors::nodes::Registry;
use callwright_actors::ports::Recordings;
use callwright_actors::reception::Reception;
use callwright_actors::session::Limits;

use super::Fault;
use super::identity::Identity;
use super::projects::StoredProjects;
use crate::config::Settings;
use crate::grpc::{Options, Server};
use crate::recordings::Folder;
use crate::store::Store;

pub(super) fn recordings(settings: &Settings) -> Result<Arc<Folder>, Fault> {
    let folder = settings.recordings.directory.clone();
    Folder::open(folder.clone(), settings.recordings.queue_bytes)
        .map(Arc::new)
        .map_err(|source| Fault::Recordings { folder, source })
}

pub(super) fn reception(
    settings: &Settings,
    store: &Store,
    identity: &Identity,
    recordings: &Arc<Folder>,
) -> Arc<Reception> {
    let recordings: Arc<dyn Recordings> = Arc::<Folder>::clone(recordings);
    let retry_after = settings.stream.retry_after.as_millis();
    Arc::new(Reception {
        tokens: identity.verifier.clone(),
        projects: Arc::new(StoredProjects(store.clone())),
        registry: Arc::new(Registry::standard(&recordings)),
        directory: Directory::new(Capacity {
            server: settings.stream.max_sessions,
            tenant: settings.stream.max_sessions_per_tenant,
            retry_after_msec: u64::try_from(retry_after).unwrap_or(u64::MAX),
        }),
    })
}

pub(super) async fn serve(
    settings: &Settings,
    listeners: Vec<TcpListener>,
    reception: Arc<Reception>,
    tls: Option<Arc<rustls::ServerConfig>>,
) -> Result<Server, Fault> {
    let stream = &settings.stream;
    let options = Options {
        tls,
        connections: stream.max_connections,
        streams_per_connection: stream.max_streams_per_connection,
        stream_window: stream.stream_window,
        connection_window: stream.connection_window,
        handshake_timeout: stream.handshake_timeout,
        start_timeout: stream.start_timeout,
        keepalive_interval: stream.keepalive_interval,
        keepalive_timeout: stream.keepalive_timeout,
        event_queue: stream.event_queue,
        limits: Limits {
            silence: stream.silence_timeout,
            duration: stream.max_session,
            audio_message: stream.max_message_bytes,
            finalize: stream.finalize_timeout,
            slow_reader_patience: stream.slow_reader_patience,
            slow_reader_grace: stream.slow_reader_grace,
        },
    };
    Server::start(listeners, reception, options)
        .await
        .map_err(|fault| Fault::Inside(fault.to_string()))
}
