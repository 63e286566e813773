//! Callwright, the service.

pub mod grpc;
