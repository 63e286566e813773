//! Callwright, the service.

pub mod grpc;
pub mod recordings;
pub mod tls;
