//! The flow of a project: a graph of nodes that call audio and events run through.
//!
//! [`Definition`] is what a person writes, [`Plan`] is what validation makes of it, [`Flow`] is one running copy: a state
//! machine that takes an input and gives outputs. Call audio goes from `entry` to every node wired from it; events and
//! playback follow the wires from whatever node says them. What reaches `publisher` reaches the client.

mod definition;
mod node;
mod plan;
mod run;
mod schema;
#[cfg(test)]
mod tests;
mod wires;

pub use definition::{Definition, DefinitionFault, FaultPolicy, NodeDefinition};
pub use node::{AudioBlock, Emitter, Node, NodeFault, Playback};
pub use plan::{Parameters, Plan, PlanFaults, PlanNode};
pub use run::{Flow, NodeStatus, Output};
pub use schema::{Hears, NodeCatalog, NodeSchema, SettingKind, SettingSpec, Settings};

/// The type of the node where a call comes in.
pub const ENTRY: &str = "entry";
/// The type of the node whose input reaches the client.
pub const PUBLISHER: &str = "publisher";
/// Most nodes of one project: far above any real flow, small enough that a definition cannot exhaust a server.
pub const NODE_LIMIT: usize = 64;

/// How values in JSON are read and shown, shared with the protocol.
pub(crate) mod schema_words {
    pub(crate) use super::schema::{as_integer, brief};
}
