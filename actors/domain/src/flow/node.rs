//! What a node is: something that hears call audio, events and playback, and says events and playback.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;

use super::schema::Settings;
use crate::audio::AudioFormat;
use crate::event::Event;

/// A stretch of call audio: whole frames.
#[derive(Debug)]
pub struct AudioBlock<'a> {
    /// Rate, channels and encoding of the call.
    pub format: AudioFormat,
    /// Position of the first frame since the start of the call.
    pub start_frame: u64,
    /// Number of frames.
    pub frames: u64,
    /// The frames as they came, interleaved, in the encoding of the call.
    pub bytes: &'a Bytes,
    /// A slice per channel of decoded samples; empty when no node of the project hears samples.
    pub channels: &'a [Vec<i16>],
}

/// Audio for the client: 16-bit samples at the rate of the call, one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playback {
    /// The samples.
    pub samples: Arc<[i16]>,
}

/// Why a node cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NodeFault(pub String);

/// What a node says while it handles one input.
#[derive(Debug, Default)]
pub struct Emitter {
    pub(super) emitted: Vec<Item>,
    pub(super) published: Vec<Item>,
}

/// Something that travels along wires.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Event(Arc<Event>),
    Playback(Playback),
}

impl Emitter {
    /// Sends an event along the node's wires.
    pub fn event(&mut self, event: Event) {
        self.emitted.push(Item::Event(Arc::new(event)));
    }

    /// Sends an event on along the node's wires, as it came.
    pub fn pass_event(&mut self, event: &Arc<Event>) {
        self.emitted.push(Item::Event(Arc::clone(event)));
    }

    /// Sends audio for the client along the node's wires.
    pub fn playback(&mut self, playback: Playback) {
        self.emitted.push(Item::Playback(playback));
    }

    /// Gives an event to the client. Only `publisher` does this: what is not wired to it stays inside.
    pub fn publish_event(&mut self, event: &Arc<Event>) {
        self.published.push(Item::Event(Arc::clone(event)));
    }

    /// Gives audio to the client. Only `publisher` does this.
    pub fn publish_playback(&mut self, playback: &Playback) {
        self.published.push(Item::Playback(playback.clone()));
    }
}

/// One node of one running flow.
///
/// Every method runs on the thread that carries the session and must return within a millisecond: slow work goes through a
/// port, and its result comes back through [`Node::signal`].
pub trait Node: Send {
    /// Hears a stretch of call audio, at most 100 ms long.
    ///
    /// # Errors
    /// A [`NodeFault`] is handled by the node's policy.
    fn audio(&mut self, _audio: &AudioBlock<'_>, _out: &mut Emitter) -> Result<(), NodeFault> {
        Ok(())
    }

    /// Hears an event from a node wired to this one.
    ///
    /// # Errors
    /// A [`NodeFault`] is handled by the node's policy.
    fn event(&mut self, _event: &Arc<Event>, _out: &mut Emitter) -> Result<(), NodeFault> {
        Ok(())
    }

    /// Hears audio that a node wired to this one sends to the client.
    ///
    /// # Errors
    /// A [`NodeFault`] is handled by the node's policy.
    fn playback(&mut self, _playback: &Playback, _out: &mut Emitter) -> Result<(), NodeFault> {
        Ok(())
    }

    /// Takes the result of work that this node started outside the flow.
    ///
    /// # Errors
    /// A [`NodeFault`] is handled by the node's policy.
    fn signal(
        &mut self,
        _result: Box<dyn Any + Send>,
        _out: &mut Emitter,
    ) -> Result<(), NodeFault> {
        Ok(())
    }

    /// Takes new settings in the middle of a call.
    fn update(&mut self, _settings: &Settings) {}

    /// Says what is still to be said: no more input comes. Called once.
    ///
    /// # Errors
    /// A [`NodeFault`] is handled by the node's policy.
    fn finish(&mut self, _out: &mut Emitter) -> Result<(), NodeFault> {
        Ok(())
    }

    /// Whether, after [`Node::finish`], a [`Node::signal`] is still to come.
    fn busy(&self) -> bool {
        false
    }

    /// What the node is doing, in a word or two for operators.
    fn doing(&self) -> &'static str {
        "running"
    }
}
