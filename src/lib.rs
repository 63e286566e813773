//! Callwright: speech and conversation analytics as one self-hosted service.
//!
//! This crate holds the edges and the composition root. What should happen is decided in `callwright-domain`, when
//! and for whom in `callwright-actors`.

pub mod admin;
pub mod app;
pub mod cli;
pub mod client;
pub mod config;
pub mod grpc;
pub mod http;
pub mod identity;
pub mod limits;
pub mod net;
pub mod recordings;
pub mod store;
pub mod telemetry;
pub mod tls;
pub mod web;
