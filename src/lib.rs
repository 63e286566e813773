//! Callwright: self-hosted speech and conversation analytics.
//!
//! This crate holds the edges and the composition root; the core is `callwright-actors`, the rules `callwright-domain`.

pub mod app;
pub mod http;
pub mod identity;
pub mod store;
