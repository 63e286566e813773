//! Rules between settings that are each allowed alone.

use std::net::SocketAddr;

use super::layers::Draft;
use super::settings::{Authentication, Settings};

/// The smallest audio chunk that whole connections of stalled streams must survive: 20 ms of 8 kHz μ-law.
const SMALLEST_CHUNK: u64 = 160;

/// The HTTP/2 layer charges each unread frame for what it lacks to this many bytes.
const CHEAP_FRAME: u64 = 256;

/// Notes every broken rule. A rule is skipped when one of its keys is already at fault: its value is not in force.
pub(super) fn check(settings: &Settings, draft: &mut Draft) {
    let mut rules = Rules { settings, draft };
    rules.exposure();
    rules.certificates();
    rules.listeners();
    rules.windows();
    rules.limits();
}

struct Rules<'a> {
    settings: &'a Settings,
    draft: &'a mut Draft,
}

impl Rules<'_> {
    fn require(&mut self, holds: bool, key: &'static str, others: &[&'static str], problem: &str) {
        let faulty =
            self.draft.is_faulty(key) || others.iter().any(|other| self.draft.is_faulty(other));
        if !holds && !faulty {
            self.draft.refuse_together(key, problem.to_owned());
        }
    }

    fn exposure(&mut self) {
        let Settings { stream, api, .. } = self.settings;
        let private = stream.listen.ip().is_loopback();
        self.require(
            !stream.plaintext || private,
            "stream.plaintext",
            &["stream.listen"],
            &format!(
                "allowed is false, since stream.listen is {}, which is not loopback",
                stream.listen
            ),
        );
        let private = api.listen.ip().is_loopback();
        self.require(
            api.authentication == Authentication::Required || private,
            "api.authentication",
            &["api.listen"],
            &format!(
                "allowed is required, since api.listen is {}, which is not loopback",
                api.listen
            ),
        );
    }

    fn certificates(&mut self) {
        for (certificate, key) in [
            ("stream.tls.certificate", "stream.tls.key"),
            ("api.tls.certificate", "api.tls.key"),
        ] {
            let (has_certificate, has_key) = (self.is_set(certificate), self.is_set(key));
            let needs = |other: &str| format!("{other} is missing; set both or neither");
            self.require(
                !has_certificate || has_key,
                certificate,
                &[key],
                &needs(key),
            );
            self.require(
                has_certificate || !has_key,
                key,
                &[certificate],
                &needs(certificate),
            );
        }
    }

    fn is_set(&self, path: &str) -> bool {
        self.draft.entry(path).is_some_and(|entry| entry.changed)
    }

    fn listeners(&mut self) {
        let Settings {
            stream, api, admin, ..
        } = self.settings;
        let listeners = [
            ("stream.listen", stream.listen),
            ("api.listen", api.listen),
            ("admin.listen", admin.listen),
        ];
        for (place, (key, address)) in listeners.iter().enumerate() {
            for (other, taken) in listeners.iter().take(place) {
                let problem = format!(
                    "{other} already takes that port ({taken}); choose another, or 0 for any free one"
                );
                self.require(!overlap(*address, *taken), key, &[other], &problem);
            }
        }
    }

    fn windows(&mut self) {
        let stream = &self.settings.stream;
        let held = u64::from(stream.max_streams_per_connection) * u64::from(stream.stream_window);
        let charged = held / SMALLEST_CHUNK * (CHEAP_FRAME - SMALLEST_CHUNK);
        let least = charged.saturating_mul(2);
        self.require(
            u64::from(stream.connection_window) >= least,
            "stream.connection_window_bytes",
            &["stream.max_streams_per_connection", "stream.stream_window_bytes"],
            &format!(
                "{} streams of {} bytes need at least {least}, or stalled streams would take their connection down; \
                 raise it, or lower stream.max_streams_per_connection or stream.stream_window_bytes",
                stream.max_streams_per_connection, stream.stream_window
            ),
        );
    }

    fn limits(&mut self) {
        let Settings {
            stream, service, ..
        } = self.settings;
        self.require(
            stream.max_sessions_per_tenant <= stream.max_sessions,
            "stream.max_sessions_per_tenant",
            &["stream.max_sessions"],
            &format!(
                "allowed is at most stream.max_sessions, {}",
                stream.max_sessions
            ),
        );
        self.require(
            stream.finalize_timeout <= service.drain_timeout,
            "stream.finalize_timeout_ms",
            &["service.drain_timeout_s"],
            &format!(
                "allowed is at most service.drain_timeout_s, {} s",
                service.drain_timeout.as_secs()
            ),
        );
        self.require(
            stream.silence_timeout <= stream.max_session,
            "stream.silence_timeout_s",
            &["stream.max_session_s"],
            &format!(
                "allowed is at most stream.max_session_s, {} s",
                stream.max_session.as_secs()
            ),
        );
    }
}

/// Says whether two listeners would meet. A wildcard takes every address; `[::]` takes IPv4's too.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let takes_all = |address: SocketAddr, beside: SocketAddr| {
        address.ip().is_unspecified() && (address.is_ipv6() || beside.is_ipv4())
    };
    let same_port = one.port() == other.port() && one.port() != 0;
    same_port && (one.ip() == other.ip() || takes_all(one, other) || takes_all(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_listeners_meet_on_one_port_of_one_machine_address() {
        for (one, other, meet) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:0", "127.0.0.1:0", false),
            ("0.0.0.0:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "[::]:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
        ] {
            let (a, b) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(overlap(a, b), meet, "{one} and {other}");
            assert_eq!(overlap(b, a), meet, "{other} and {one}");
        }
    }
}
