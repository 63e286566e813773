//! The running service as tests see it: a process of its own, its command line, its doors, calls over real TLS.
//!
//! A [`Server`] is the product's own binary with a data folder and ports of its own. It ends with the test that started
//! it, however that test ends. Every wait has a deadline, so that a test which fails does so soon and says where.

mod audio;
mod call;
mod server;
mod start;
mod wire;

pub(crate) use audio::{fixture, fixture_audio, pcm, tone, wav_data};
pub(crate) use call::{Call, Heard, Said, WAIT, dial, dial_plaintext, message};
pub(crate) use server::{Outcome, Server};
pub(crate) use start::Start;
pub(crate) use wire::assert_wire;

/// The `Reason` of a call's last event.
pub(crate) fn reason(event: &serde_json::Value) -> &str {
    event["Data"]["Reason"].as_str().unwrap_or_default()
}
