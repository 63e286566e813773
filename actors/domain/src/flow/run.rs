//! One running copy of a flow: a state machine from inputs to outputs.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;

use super::definition::FaultPolicy;
use super::node::{AudioBlock, Emitter, Item, Node, NodeFault, Playback};
use super::plan::Plan;
use super::schema::{Hears, Settings};
use crate::audio::AudioFormat;
use crate::event::{Event, names};

/// Most deliveries that one input may cause. Real flows make a few; a graph of many diamonds would make 2^n.
const DELIVERY_LIMIT: usize = 10_000;

/// What a flow says to the outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// For the client.
    Event(Arc<Event>),
    /// For the client.
    Playback(Playback),
    /// A node whose policy is `end` failed: the session must end.
    Failed {
        /// The node.
        node: String,
        /// What it said.
        message: String,
    },
}

/// One node of a running flow, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// Its id.
    pub id: String,
    /// Its type.
    pub kind: &'static str,
    /// What it is doing, in a word or two.
    pub doing: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to finish; busy until it says otherwise.
    Finishing,
    Finished,
    Failed,
}

struct Place {
    node: Box<dyn Node>,
    phase: Phase,
}

/// A running flow.
pub struct Flow {
    plan: Arc<Plan>,
    format: AudioFormat,
    places: Vec<Place>,
    /// The nodes wired from `entry` that hear audio.
    listeners: Vec<usize>,
    entry: usize,
    hears: Hears,
    /// Frames of call audio so far.
    position: u64,
    interleaved: Vec<i16>,
    channels: Vec<Vec<i16>>,
    emitter: Emitter,
    outputs: Vec<Output>,
    finishing: bool,
    /// Deliveries since the last input came in.
    deliveries: usize,
}

impl Flow {
    /// Puts `nodes`, built in the order of the plan's, to work on audio of `format`.
    #[must_use]
    pub fn new(plan: Arc<Plan>, format: AudioFormat, nodes: Vec<Box<dyn Node>>) -> Self {
        let hears_audio = |index: &usize| {
            plan.nodes
                .get(*index)
                .is_some_and(|node| node.schema.hears != Hears::Nothing)
        };
        let entry = plan
            .nodes
            .iter()
            .position(|node| node.schema.name == super::ENTRY)
            .unwrap_or_default();
        let listeners = plan
            .nodes
            .get(entry)
            .map(|node| node.to.iter().copied().filter(hears_audio).collect())
            .unwrap_or_default();
        Self {
            listeners,
            entry,
            hears: plan.hears(),
            places: nodes
                .into_iter()
                .map(|node| Place {
                    node,
                    phase: Phase::Running,
                })
                .collect(),
            plan,
            format,
            position: 0,
            interleaved: Vec::new(),
            channels: Vec::new(),
            emitter: Emitter::default(),
            outputs: Vec::new(),
            finishing: false,
            deliveries: 0,
        }
    }

    /// Frames of call audio heard so far.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Hears whole frames of call audio, in the encoding of the call.
    pub fn audio(&mut self, bytes: &Bytes) {
        self.deliveries = 0;
        let frames = (bytes.len() / self.format.frame_bytes().max(1)) as u64;
        let start_frame = self.position;
        self.position += frames;
        if self.listeners.is_empty() || frames == 0 {
            return;
        }
        self.decode(bytes);
        for turn in 0..self.listeners.len() {
            let Some(&index) = self.listeners.get(turn) else {
                break;
            };
            // The buffers are lent to the node and taken back, so that they are allocated once a session.
            let channels = std::mem::take(&mut self.channels);
            let block = AudioBlock {
                format: self.format,
                start_frame,
                frames,
                bytes,
                channels: &channels,
            };
            self.visit(index, |node, out| node.audio(&block, out));
            self.channels = channels;
        }
    }

    /// Hears an event from the client.
    pub fn event(&mut self, event: &Arc<Event>) {
        self.deliveries = 0;
        self.visit(self.entry, |node, out| node.event(event, out));
    }

    /// Takes the result of work that the node at `index` started outside.
    pub fn signal(&mut self, index: usize, result: Box<dyn Any + Send>) {
        self.deliveries = 0;
        self.visit(index, |node, out| node.signal(result, out));
        if self.finishing {
            self.finish_ready();
        }
    }

    /// Gives every node its settings anew, in the order of the plan.
    pub fn update(&mut self, settings: &[Settings]) {
        for (place, settings) in self.places.iter_mut().zip(settings) {
            place.node.update(settings);
        }
    }

    /// Begins to finish: each node once every node it hears has finished. See [`Flow::is_finished`].
    pub fn finish(&mut self) {
        self.finishing = true;
        self.deliveries = 0;
        self.finish_ready();
    }

    /// Whether every node has finished or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.places
            .iter()
            .all(|place| matches!(place.phase, Phase::Finished | Phase::Failed))
    }

    /// What the flow has said since this was last asked.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// What each node is doing.
    #[must_use]
    pub fn statuses(&self) -> Vec<NodeStatus> {
        let status = |(planned, place): (&super::PlanNode, &Place)| NodeStatus {
            id: planned.id.clone(),
            kind: planned.schema.name,
            doing: match place.phase {
                Phase::Running => place.node.doing(),
                Phase::Finishing => "finishing",
                Phase::Finished => "finished",
                Phase::Failed => "failed",
            },
        };
        self.plan
            .nodes
            .iter()
            .zip(&self.places)
            .map(status)
            .collect()
    }

    #[cfg(test)]
    pub(super) fn visit_for_test(&mut self, index: usize, event: &Arc<Event>) {
        self.visit(index, |node, out| node.event(event, out));
    }

    fn decode(&mut self, bytes: &Bytes) {
        if self.hears != Hears::Samples {
            return;
        }
        let count = usize::from(self.format.channels);
        self.channels.resize_with(count, Vec::new);
        for channel in &mut self.channels {
            channel.clear();
        }
        if let [only] = self.channels.as_mut_slice() {
            self.format.encoding.decode(bytes, only);
            return;
        }
        self.interleaved.clear();
        self.format.encoding.decode(bytes, &mut self.interleaved);
        for (number, channel) in self.channels.iter_mut().enumerate() {
            channel.extend(self.interleaved.iter().skip(number).step_by(count));
        }
    }

    /// Lets the node at `index` work, then carries what it said to wherever its wires go.
    fn visit(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut dyn Node, &mut Emitter) -> Result<(), NodeFault>,
    ) {
        self.work(index, work);
        self.carry(index);
    }

    fn work(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut dyn Node, &mut Emitter) -> Result<(), NodeFault>,
    ) {
        let Some(place) = self.places.get_mut(index) else {
            return;
        };
        if matches!(place.phase, Phase::Failed | Phase::Finished) {
            return;
        }
        self.deliveries += 1;
        let worked = if self.deliveries > DELIVERY_LIMIT {
            Err(NodeFault(format!(
                "one input grew into more than {DELIVERY_LIMIT} deliveries"
            )))
        } else {
            work(place.node.as_mut(), &mut self.emitter)
        };
        if let Err(fault) = worked {
            place.phase = Phase::Failed;
            self.fail(index, &fault);
        }
    }

    fn fail(&mut self, index: usize, fault: &NodeFault) {
        let Some(planned) = self.plan.nodes.get(index) else {
            return;
        };
        let event = Event::new(names::NODE_ERROR)
            .with("Node", planned.id.as_str())
            .with("Type", planned.schema.name)
            .with("Message", fault.0.as_str());
        self.emitter.event(event);
        if planned.on_fault == FaultPolicy::End {
            self.outputs.push(Output::Failed {
                node: planned.id.clone(),
                message: fault.0.clone(),
            });
        }
    }

    /// Wires point forward only, so this ends; [`DELIVERY_LIMIT`] bounds a graph with very many paths.
    fn carry(&mut self, index: usize) {
        for item in self.emitter.published.drain(..) {
            self.outputs.push(match item {
                Item::Event(event) => Output::Event(event),
                Item::Playback(playback) => Output::Playback(playback),
            });
        }
        if self.emitter.emitted.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.emitter.emitted);
        let plan = Arc::clone(&self.plan);
        let targets = plan.nodes.get(index).map_or(&[][..], |node| &node.to);
        for item in &items {
            for &target in targets {
                self.visit(target, |node, out| match item {
                    Item::Event(event) => node.event(event, out),
                    Item::Playback(playback) => node.playback(playback, out),
                });
            }
        }
    }

    fn finish_ready(&mut self) {
        let plan = Arc::clone(&self.plan);
        for (index, planned) in plan.nodes.iter().enumerate() {
            let done = |from: &usize| {
                self.places
                    .get(*from)
                    .is_none_or(|place| matches!(place.phase, Phase::Finished | Phase::Failed))
            };
            let may_finish = planned.from.iter().all(done);
            let Some(place) = self.places.get_mut(index) else {
                continue;
            };
            if place.phase == Phase::Running && may_finish {
                place.phase = Phase::Finishing;
                self.visit(index, |node, out| node.finish(out));
            }
            if let Some(place) = self.places.get_mut(index)
                && place.phase == Phase::Finishing
                && !place.node.busy()
            {
                place.phase = Phase::Finished;
            }
        }
    }
}
