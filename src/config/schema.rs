//! The table of every key: where it is, what it takes, whether it is a secret.
//!
//! `config.toml` holds the defaults and their reasons, this table the allowed values. A test holds the two together.

use super::value::{Kind, Shape};

/// A setting that exists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// Sections and name, joined by dots: `stream.tls.certificate`.
    pub(super) path: &'static str,
    /// What it takes.
    pub(super) kind: Kind,
    /// Its value is never shown.
    pub(super) secret: bool,
}

const fn key(path: &'static str, kind: Kind) -> Key {
    Key {
        path,
        kind,
        secret: false,
    }
}

const fn secret(path: &'static str, kind: Kind) -> Key {
    Key {
        path,
        kind,
        secret: true,
    }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Number { min, max, unit: "" }
}

const fn bytes(min: u64, max: u64) -> Kind {
    Kind::Number {
        min,
        max,
        unit: "bytes",
    }
}

const fn millis(min: u64, max: u64) -> Kind {
    Kind::Number {
        min,
        max,
        unit: "milliseconds",
    }
}

const fn seconds(min: u64, max: u64) -> Kind {
    Kind::Number {
        min,
        max,
        unit: "seconds",
    }
}

/// A path that may be left empty.
const OPTIONAL_PATH: Kind = Kind::Text(Shape::ANY);
const ADDRESS: Kind = Kind::Text(Shape::ADDRESS);
const WORD: Kind = Kind::Text(Shape::NOT_EMPTY);

/// Every key, in the order of `config.toml`.
pub(super) const KEYS: &[Key] = &[
    key("data_dir", WORD),
    key("log.level", Kind::Text(Shape::LOG_LEVEL)),
    key("log.format", Kind::Choice(&["text", "json"])),
    secret("store.url", Kind::Text(Shape::STORE_URL)),
    key("store.url_file", OPTIONAL_PATH),
    key("store.pool_size", count(1, 256)),
    key("store.acquire_timeout_ms", millis(10, 60_000)),
    key("store.statement_timeout_ms", millis(10, 60_000)),
    key("identity.issuer", Kind::Text(Shape::ISSUER)),
    key("identity.audience", WORD),
    key("identity.tenant_claim", WORD),
    key("identity.token_lifetime_s", seconds(60, 604_800)),
    key("identity.public_url", Kind::Text(Shape::OPTIONAL_URL)),
    key("identity.leeway_s", seconds(0, 300)),
    key("identity.unknown_key_fetch_interval_s", seconds(1, 3_600)),
    key("identity.fetch_timeout_ms", millis(100, 30_000)),
    key("stream.listen", ADDRESS),
    key("stream.threads", count(0, 256)),
    key("stream.plaintext", Kind::Flag),
    key("stream.max_sessions", count(1, 1_000_000)),
    key("stream.max_sessions_per_tenant", count(0, 1_000_000)),
    key("stream.max_connections", count(1, 1_000_000)),
    key("stream.max_streams_per_connection", count(1, 10_000)),
    key("stream.stream_window_bytes", bytes(16_384, 16_777_216)),
    key(
        "stream.connection_window_bytes",
        bytes(65_536, 1_073_741_824),
    ),
    key("stream.retry_after_ms", millis(100, 600_000)),
    key("stream.start_timeout_ms", millis(100, 60_000)),
    key("stream.handshake_timeout_ms", millis(100, 60_000)),
    key("stream.silence_timeout_s", seconds(1, 3_600)),
    key("stream.max_session_s", seconds(1, 86_400)),
    key("stream.max_message_bytes", bytes(4_096, 4_194_304)),
    key("stream.event_queue", count(16, 65_536)),
    key("stream.slow_reader_patience_ms", millis(0, 60_000)),
    key("stream.slow_reader_grace_ms", millis(0, 60_000)),
    key("stream.finalize_timeout_ms", millis(100, 600_000)),
    key("stream.keepalive_interval_s", seconds(1, 3_600)),
    key("stream.keepalive_timeout_s", seconds(1, 600)),
    key("stream.tls.certificate", OPTIONAL_PATH),
    key("stream.tls.key", OPTIONAL_PATH),
    key("stream.tls.names", Kind::List(Shape::HOST)),
    key("stream.tls.reload_interval_s", seconds(1, 3_600)),
    key("api.listen", ADDRESS),
    key("api.authentication", Kind::Choice(&["none", "required"])),
    key("api.max_body_bytes", bytes(1_024, 67_108_864)),
    key("api.threads", count(0, 256)),
    key("api.tls.certificate", OPTIONAL_PATH),
    key("api.tls.key", OPTIONAL_PATH),
    key("admin.listen", ADDRESS),
    key("service.drain_timeout_s", seconds(1, 600)),
    key("recordings.directory", OPTIONAL_PATH),
    key("recordings.queue_bytes", bytes(65_536, 1_073_741_824)),
];

/// Finds the key written exactly so.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The known key that reads most like `path`, for whoever mistyped it or forgot its section.
pub(super) fn nearest(path: &str) -> Option<&'static str> {
    KEYS.iter()
        .map(|key| (likeness(path, key.path), key.path))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

fn likeness(path: &str, known: &str) -> f64 {
    // The right name in the wrong section is a likelier slip than a name that is only similar; among several
    // sections with that name, the one that reads most alike.
    const OTHER_SECTION: f64 = 0.9;
    let whole = strsim::normalized_damerau_levenshtein(path, known);
    let name = strsim::normalized_damerau_levenshtein(last(path), last(known));
    whole.max(name * OTHER_SECTION + whole * (1.0 - OTHER_SECTION))
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_key_is_answered_with_the_one_meant() {
        for (typed, meant) in [
            ("stream.lisen", "stream.listen"),
            ("steam.max_sesions", "stream.max_sessions"),
            ("drain_timeout_s", "service.drain_timeout_s"),
            ("api.autentication", "api.authentication"),
            ("datadir", "data_dir"),
            ("stream.certificate", "stream.tls.certificate"),
        ] {
            assert_eq!(nearest(typed), Some(meant), "{typed}");
        }
    }

    #[test]
    fn no_key_is_listed_twice() {
        for key in KEYS {
            assert_eq!(
                KEYS.iter().filter(|other| other.path == key.path).count(),
                1,
                "{}",
                key.path
            );
        }
    }
}
