//! The gRPC door: connections, streams, and their wire.
//!
//! One arbiter a core, each with its own listener on the same port; the sessions of a connection live on the arbiter that
//! accepted it, so that audio never crosses a thread. Knows the wire and nothing of what a call means: it hands the first
//! message to the reception and the rest to the session.

mod connection;
mod cut;
mod listener;
mod outbound;
mod preface;
mod service;
mod status;

pub use listener::{Options, Server};
