//! One struct per section of `config.toml`. Units, ranges and reasons are told there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::Reader;

/// `[log]`
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// A level, or tracing's filter directives.
    pub level: String,
    /// How a line looks.
    pub format: LogFormat,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl LogSettings {
    pub(super) fn read(read: &mut Reader<'_>) -> Self {
        let format = match read.text("log.format").as_str() {
            "json" => LogFormat::Json,
            _ => LogFormat::Text,
        };
        Self {
            level: read.text("log.level"),
            format,
        }
    }
}

/// `[store]`
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// `sqlite:PATH` or `postgres://…`; `embedded` is already resolved to the data folder.
    pub url: SecretString,
    /// Connections in the pool, at least 1.
    pub pool_size: u32,
    /// Longest wait for a connection.
    pub acquire_timeout: Duration,
    /// Longest run of one statement.
    pub statement_timeout: Duration,
}

impl StoreSettings {
    pub(super) fn read(read: &mut Reader<'_>, data_dir: &Path) -> Self {
        Self {
            url: read.store_url(data_dir),
            pool_size: read.number("store.pool_size"),
            acquire_timeout: read.millis("store.acquire_timeout_ms"),
            statement_timeout: read.millis("store.statement_timeout_ms"),
        }
    }
}

/// `[identity]`
#[derive(Debug, Clone)]
pub struct IdentitySettings {
    /// Who issues tokens.
    pub issuer: Issuer,
    /// The audience a token must name.
    pub audience: String,
    /// The claim that holds the tenant.
    pub tenant_claim: String,
    /// Life of a token of the embedded issuer.
    pub token_lifetime: Duration,
    /// Base URL of the embedded issuer, without a closing slash; nothing: made from the api listener.
    pub public_url: Option<String>,
    /// Clock difference forgiven when times are checked.
    pub leeway: Duration,
    /// At most one fetch of keys per this time for unknown key ids.
    pub unknown_key_fetch_interval: Duration,
    /// Longest wait for the issuer.
    pub fetch_timeout: Duration,
}

/// Who issues tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Issuer {
    /// This service.
    Embedded,
    /// An OIDC issuer, exactly as its tokens name it in `iss`.
    Url(String),
}

impl IdentitySettings {
    pub(super) fn read(read: &mut Reader<'_>) -> Self {
        let issuer = match read.text("identity.issuer") {
            word if word == "embedded" => Issuer::Embedded,
            url => Issuer::Url(url),
        };
        let public_url = read.text("identity.public_url");
        let public_url = Url::parse(&public_url)
            .ok()
            .map(|_| public_url.trim_end_matches('/').to_owned());
        Self {
            issuer,
            audience: read.text("identity.audience"),
            tenant_claim: read.text("identity.tenant_claim"),
            token_lifetime: read.seconds("identity.token_lifetime_s"),
            public_url,
            leeway: read.seconds("identity.leeway_s"),
            unknown_key_fetch_interval: read.seconds("identity.unknown_key_fetch_interval_s"),
            fetch_timeout: read.millis("identity.fetch_timeout_ms"),
        }
    }
}

/// `[stream]`
#[derive(Debug, Clone)]
pub struct StreamSettings {
    /// Address of the gRPC listener; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Threads; 0 is one per core.
    pub threads: usize,
    /// Served without TLS; only ever true on loopback.
    pub plaintext: bool,
    /// Sessions at once.
    pub max_sessions: usize,
    /// Sessions of one tenant at once; `max_sessions` when it was left at 0.
    pub max_sessions_per_tenant: usize,
    /// TCP connections at once.
    pub max_connections: usize,
    /// Streams on one connection.
    pub max_streams_per_connection: u32,
    /// HTTP/2 window of one stream, bytes.
    pub stream_window: u32,
    /// HTTP/2 window of one connection, bytes.
    pub connection_window: u32,
    /// What a client refused for lack of room is told to wait.
    pub retry_after: Duration,
    /// Longest wait for the first message.
    pub start_timeout: Duration,
    /// Longest wait for the TLS handshake and the first bytes.
    pub handshake_timeout: Duration,
    /// Longest silence on the wire.
    pub silence_timeout: Duration,
    /// Longest session.
    pub max_session: Duration,
    /// Largest message from a client, bytes.
    pub max_message_bytes: usize,
    /// Events waiting for one client, messages.
    pub event_queue: usize,
    /// How long a client may leave more than half of that queue unread.
    pub slow_reader_patience: Duration,
    /// How long a client may still read when its session has ended for that.
    pub slow_reader_grace: Duration,
    /// Longest flush after `Finalize`.
    pub finalize_timeout: Duration,
    /// Pause between HTTP/2 pings.
    pub keepalive_interval: Duration,
    /// Longest wait for the answer to a ping.
    pub keepalive_timeout: Duration,
    /// The certificate.
    pub tls: StreamTlsSettings,
}

/// `[stream.tls]`
#[derive(Debug, Clone)]
pub struct StreamTlsSettings {
    /// The operator's own files; nothing: the service makes an authority and a certificate.
    pub files: Option<CertificateFiles>,
    /// More DNS names and IP addresses for the made certificate.
    pub names: Vec<String>,
    /// How often the files are looked at for a change.
    pub reload_interval: Duration,
}

/// A certificate chain and its private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The private key of the leaf.
    pub key: PathBuf,
}

impl StreamSettings {
    pub(super) fn read(read: &mut Reader<'_>) -> Self {
        let max_sessions = read.number("stream.max_sessions");
        let max_sessions_per_tenant = match read.number("stream.max_sessions_per_tenant") {
            0 => max_sessions,
            limit => limit,
        };
        Self {
            listen: read.address("stream.listen"),
            threads: read.number("stream.threads"),
            plaintext: read.flag("stream.plaintext"),
            max_sessions,
            max_sessions_per_tenant,
            max_connections: read.number("stream.max_connections"),
            max_streams_per_connection: read.number("stream.max_streams_per_connection"),
            stream_window: read.number("stream.stream_window_bytes"),
            connection_window: read.number("stream.connection_window_bytes"),
            retry_after: read.millis("stream.retry_after_ms"),
            start_timeout: read.millis("stream.start_timeout_ms"),
            handshake_timeout: read.millis("stream.handshake_timeout_ms"),
            silence_timeout: read.seconds("stream.silence_timeout_s"),
            max_session: read.seconds("stream.max_session_s"),
            max_message_bytes: read.number("stream.max_message_bytes"),
            event_queue: read.number("stream.event_queue"),
            slow_reader_patience: read.millis("stream.slow_reader_patience_ms"),
            slow_reader_grace: read.millis("stream.slow_reader_grace_ms"),
            finalize_timeout: read.millis("stream.finalize_timeout_ms"),
            keepalive_interval: read.seconds("stream.keepalive_interval_s"),
            keepalive_timeout: read.seconds("stream.keepalive_timeout_s"),
            tls: StreamTlsSettings {
                files: read.certificate("stream.tls.certificate", "stream.tls.key"),
                names: read.list("stream.tls.names"),
                reload_interval: read.seconds("stream.tls.reload_interval_s"),
            },
        }
    }
}

/// `[api]`
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// Address of the HTTP interface; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Whether a call needs a token.
    pub authentication: Authentication,
    /// Largest request body, bytes.
    pub max_body_bytes: usize,
    /// Threads; 0 is one per core.
    pub threads: usize,
    /// The certificate; nothing: plain HTTP.
    pub tls: Option<CertificateFiles>,
}

/// Whether an HTTP call needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// A call without a token counts as tenant `default`.
    None,
    /// Every call needs one.
    Required,
}

impl ApiSettings {
    pub(super) fn read(read: &mut Reader<'_>) -> Self {
        let authentication = match read.text("api.authentication").as_str() {
            "none" => Authentication::None,
            _ => Authentication::Required,
        };
        Self {
            listen: read.address("api.listen"),
            authentication,
            max_body_bytes: read.number("api.max_body_bytes"),
            threads: read.number("api.threads"),
            tls: read.certificate("api.tls.certificate", "api.tls.key"),
        }
    }
}

/// `[admin]`
#[derive(Debug, Clone)]
pub struct AdminSettings {
    /// Address of health, metrics and the admin routes; port 0 picks a free one.
    pub listen: SocketAddr,
}

/// `[service]`
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// Time from SIGTERM to exit.
    pub drain_timeout: Duration,
}

/// `[recordings]`
#[derive(Debug, Clone)]
pub struct RecordingSettings {
    /// Folder of the recordings, resolved.
    pub directory: PathBuf,
    /// Audio waiting for the disk, bytes, all sessions together.
    pub queue_bytes: usize,
}

impl RecordingSettings {
    pub(super) fn read(read: &mut Reader<'_>, data_dir: &Path) -> Self {
        Self {
            directory: read.path_or("recordings.directory", data_dir.join("recordings")),
            queue_bytes: read.number("recordings.queue_bytes"),
        }
    }
}
