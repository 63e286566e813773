//! The wire messages of the streaming interface, generated from `dataflow.proto`.
//!
//! The proto has no package, so that the path of the call is `/dataflow/Stream`.

/// Generated types; their documentation is the proto file.
#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "generated code"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/_.rs"));
}

pub use generated::*;

/// The encoded file descriptor set, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));

/// The full method path of the streaming call.
pub const STREAM_PATH: &str = "/dataflow/Stream";
