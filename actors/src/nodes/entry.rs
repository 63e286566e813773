//! `entry`: where a call comes in. Audio goes from here to every node wired from it; client events pass through.

use std::sync::Arc;

use callwright_domain::event::Event;
use callwright_domain::flow::{ENTRY, Emitter, Hears, Node, NodeFault, NodeSchema};

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: ENTRY,
    help: "Where a call comes in: its audio, and the events that the client sends.",
    hears: Hears::Nothing,
    settings: &[],
};

pub(super) struct Entry;

impl Node for Entry {
    fn event(&mut self, event: &Arc<Event>, out: &mut Emitter) -> Result<(), NodeFault> {
        out.pass_event(event);
        Ok(())
    }
}
