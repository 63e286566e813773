//! The session: one call, from an accepted Start to its last event.
//!
//! ```text
//! inbound stream ──Inbound──▶ Session ──audio, events──▶ Flow
//!                                │  ◀──────outputs────────┘
//!                                ├──Outgoing──▶ Outlet (the edge, the client)
//!                                └──Event─────▶ watchers (operators)
//! ```
//!
//! Owns the flow and the deadlines of one call. Lives on the thread that carries its connection, and never waits: every
//! handler returns at once, slow work happens behind the nodes' ports. Whatever ends it, a panic included, the client is
//! told by a last event and a status ([`Verdict`]).

mod ending;
mod exit;
mod hearing;
mod messages;
mod outlet;
mod pacing;
mod running;
mod speaking;
#[cfg(test)]
mod tests;

pub use exit::Verdict;
pub(crate) use messages::NodeSignal;
pub use messages::{DescribeNodes, EndSession, Inbound, InboundFault, NoticeDraining, WatchEvents};
pub use outlet::{Crowded, Outgoing, Outlet, OutletFault};
pub use running::{Limits, Session, SessionStart};
