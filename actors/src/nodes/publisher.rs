//! `publisher`: what reaches it reaches the client.

use std::sync::Arc;

use callwright_domain::event::Event;
use callwright_domain::flow::{Emitter, Hears, Node, NodeFault, NodeSchema, PUBLISHER, Playback};

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: PUBLISHER,
    help: "The way to the client: every event and all server audio wired to it is sent.",
    hears: Hears::Nothing,
    settings: &[],
};

pub(super) struct Publisher;

impl Node for Publisher {
    fn event(&mut self, event: &Arc<Event>, out: &mut Emitter) -> Result<(), NodeFault> {
        out.publish_event(event);
        Ok(())
    }

    fn playback(&mut self, playback: &Playback, out: &mut Emitter) -> Result<(), NodeFault> {
        out.publish_playback(playback);
        Ok(())
    }
}
