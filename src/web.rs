//! What every HTTP door shares: who calls, and how faults look on the wire.

pub mod auth;
pub mod problem;
