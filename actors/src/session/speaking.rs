//! What a session says: to its client, and to operators who watch.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::Context;
use callwright_domain::event::Event;
use callwright_domain::flow::{Output, Playback};
use callwright_domain::protocol::EndReason;

use super::outlet::{Outgoing, OutletFault};
use super::running::Session;

impl Session {
    /// Gives the client what the flow has said.
    pub(super) fn speak(&mut self, ctx: &mut Context<Self>) {
        let mut failure = None;
        for output in self.flow.take_outputs() {
            match output {
                Output::Event(event) => self.say(event, ctx),
                Output::Playback(playback) => self.play(&playback, ctx),
                Output::Failed { node, message } => {
                    failure = Some(format!("node `{node}` failed: {message}"))
                }
            }
        }
        if let Some(message) = failure {
            self.fail(&message, ctx);
        }
    }

    /// Gives the client one event.
    pub(super) fn say(&mut self, event: Arc<Event>, ctx: &mut Context<Self>) {
        // `Session Ended` is the last event for watchers too.
        if self.exit.is_closed() {
            return;
        }
        let event = self.tagged(event);
        self.show(&event);
        let live = Arc::clone(&self.exit.listed().session);
        if self.give(Outgoing::Event(event.to_wire()), ctx) {
            live.events_sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Shows watchers an event. One that has fallen behind is let go: its channel closes, and it can ask again.
    pub(super) fn show(&mut self, event: &Arc<Event>) {
        self.watchers
            .retain(|watcher| watcher.try_send(Arc::clone(event)).is_ok());
    }

    pub(super) fn tagged(&self, event: Arc<Event>) -> Arc<Event> {
        let tags = usize::try_from(event.channel)
            .ok()
            .and_then(|channel| self.channel_tags.get(channel));
        match tags {
            Some(tags) if event.tags.is_empty() && !tags.is_empty() => {
                let mut event = Arc::unwrap_or_clone(event);
                event.tags.clone_from(tags);
                Arc::new(event)
            }
            _ => event,
        }
    }

    pub(super) fn play(&mut self, playback: &Playback, ctx: &mut Context<Self>) {
        let mut audio = Vec::with_capacity(playback.samples.len() * self.output.sample_bytes());
        self.output.encode(&playback.samples, &mut audio);
        self.give(Outgoing::Audio(audio.into()), ctx);
    }

    pub(super) fn answer(&mut self, response: String, ctx: &mut Context<Self>) {
        self.give(Outgoing::Response(response), ctx);
    }

    /// Whether the message is on its way to the client.
    pub(super) fn give(&mut self, message: Outgoing, ctx: &mut Context<Self>) -> bool {
        let given = self
            .exit
            .outlet()
            .map_or(Err(OutletFault::Closed), |outlet| outlet.give(message));
        match given {
            Ok(()) => true,
            Err(OutletFault::Full) => {
                self.end(
                    EndReason::SlowReader,
                    "the client does not read its events",
                    ctx,
                );
                false
            }
            // Whoever is gone is told by the inbound stream; nodes still finish their work for it.
            Err(OutletFault::Closed) => false,
        }
    }
}
