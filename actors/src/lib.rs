//! The event-driven core of Callwright: actors that decide when and for whom, and the ports they act through.
//!
//! No network and no SQL here. Rules live in `callwright-domain`; edges live in the service crate.

pub mod directory;
pub mod nodes;
pub mod ports;
pub mod reception;
pub mod session;

#[cfg(test)]
mod testing;
