//! Callwright: self-hosted speech and conversation analytics.

pub mod cli;
pub mod client;
