//! Callwright: self-hosted speech and conversation analytics.

pub mod client;
pub mod cli;
