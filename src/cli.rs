//! The command line.

pub mod loadtest;
pub mod server;
pub mod stream;
