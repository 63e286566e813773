//! The node types. Adding one is a file here and a line in [`Registry::standard`]; `docs/nodes.md` shows how.

mod dtmf;
mod entry;
mod level;
mod loopback;
mod publisher;
mod recorder;
#[cfg(test)]
mod tests;
mod voice_activity;

use std::any::Any;
use std::sync::Arc;

use actix::Addr;
use callwright_domain::audio::AudioFormat;
use callwright_domain::flow::{Emitter, Node, NodeCatalog, NodeFault, NodeSchema, Settings};
use callwright_domain::identity::TenantId;
use uuid::Uuid;

use crate::ports::Recordings;
use crate::session::{NodeSignal, Session};

/// What a node is built with.
#[derive(Clone)]
pub struct NodeContext {
    /// The session it works for.
    pub session: Uuid,
    /// Whose session it is.
    pub tenant: TenantId,
    /// Its id within the project.
    pub node: String,
    /// The audio of the call.
    pub format: AudioFormat,
    /// The language of the call, if the client said.
    pub language: Option<String>,
    /// Its settings, checked against its schema.
    pub settings: Settings,
    /// Where results of outside work go.
    pub signals: SignalSender,
}

impl NodeContext {
    /// The id of utterance `number`, counted from 1, on `channel`: unique among all calls.
    #[must_use]
    pub fn group_id(&self, channel: u8, number: u64) -> String {
        format!("{}-{channel}-{number}", self.session)
    }
}

/// Brings the result of a node's outside work back to the node, from any thread.
#[derive(Clone)]
pub struct SignalSender {
    node: usize,
    /// An address of its own: a mailbox always has room for one message from each.
    to: Addr<Session>,
}

impl SignalSender {
    pub(crate) const fn new(node: usize, to: Addr<Session>) -> Self {
        Self { node, to }
    }

    /// Sends `result` to the node's `signal`. A session that has ended hears nothing.
    pub fn send(&self, result: impl Any + Send) {
        let signal = NodeSignal {
            node: self.node,
            result: Box::new(result),
        };
        if self.to.try_send(signal).is_err() {
            tracing::debug!(
                node = self.node,
                "a node's result came after its session ended"
            );
        }
    }
}

type Build = Box<dyn Fn(NodeContext) -> Box<dyn Node> + Send + Sync>;

/// The node types that projects may use.
pub struct Registry {
    types: Vec<(NodeSchema, Build)>,
}

impl Registry {
    /// The node types of the product.
    #[must_use]
    pub fn standard(recordings: &Arc<dyn Recordings>) -> Self {
        let recordings = Arc::clone(recordings);
        Self::empty()
            .with(entry::SCHEMA, |_| Box::new(entry::Entry))
            .with(publisher::SCHEMA, |_| Box::new(publisher::Publisher))
            .with(voice_activity::SCHEMA, |context| {
                Box::new(voice_activity::VoiceActivityNode::new(context))
            })
            .with(dtmf::SCHEMA, |context| {
                Box::new(dtmf::DtmfNode::new(context))
            })
            .with(level::SCHEMA, |context| {
                Box::new(level::LevelNode::new(context))
            })
            .with(loopback::SCHEMA, |context| {
                Box::new(loopback::Loopback::new(context))
            })
            .with(recorder::SCHEMA, move |context| {
                Box::new(recorder::Recorder::new(context, recordings.as_ref()))
            })
    }

    /// No node types at all; for building a registry of one's own.
    #[must_use]
    pub const fn empty() -> Self {
        Self { types: Vec::new() }
    }

    /// The same registry with one more type; the first of a name stays.
    #[must_use]
    pub fn with(
        mut self,
        schema: NodeSchema,
        build: impl Fn(NodeContext) -> Box<dyn Node> + Send + Sync + 'static,
    ) -> Self {
        self.types.push((schema, Box::new(build)));
        self
    }

    /// Every schema, in the order of registration.
    pub fn schemas(&self) -> impl Iterator<Item = &NodeSchema> {
        self.types.iter().map(|(schema, _)| schema)
    }

    /// Builds a node of type `name`. A type that does not exist gives a node that fails at its first input.
    #[must_use]
    pub fn build(&self, name: &str, context: NodeContext) -> Box<dyn Node> {
        let found = self.types.iter().find(|(schema, _)| schema.name == name);
        found.map_or_else(
            || Box::new(Missing) as Box<dyn Node>,
            |(_, build)| build(context),
        )
    }
}

impl NodeCatalog for Registry {
    fn schema(&self, name: &str) -> Option<&NodeSchema> {
        self.schemas().find(|schema| schema.name == name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.schemas().map(|schema| schema.name).collect()
    }
}

/// Stands for a type that a plan knew and the registry does not.
struct Missing;

impl Node for Missing {
    fn finish(&mut self, _out: &mut Emitter) -> Result<(), NodeFault> {
        Err(NodeFault("this node type does not exist".to_owned()))
    }
}
