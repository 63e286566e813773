//! Nodes that misbehave, each in one way.

use std::any::Any;
use std::time::Duration;

use callwright_domain::event::Event;
use callwright_domain::flow::{
    AudioBlock, Emitter, Hears, Node, NodeFault, NodeSchema, SettingKind, SettingSpec, Settings,
};

use super::recordings::Memory;
use crate::nodes::{NodeContext, Registry};

const fn schema(name: &'static str) -> NodeSchema {
    NodeSchema {
        name,
        help: "",
        hears: Hears::Bytes,
        settings: &[],
    }
}

const WORD: NodeSchema = NodeSchema {
    name: "word",
    help: "",
    hears: Hears::Bytes,
    settings: &[SettingSpec {
        name: "word",
        kind: SettingKind::Text { most: 20 },
        default: "\"none\"",
        help: "",
    }],
};

/// The node types of the product, and
/// `panics`, `fails` (at the first audio), `fails-late` (when it finishes), `panics-built`, `stuck` (never finishes), `slow` (needs 3 s to finish),
/// `chatty` (an event per stretch of audio, on channel 0), `word` (the same with its setting in `Data.Word`).
pub(crate) fn registry(disk: &Memory) -> Registry {
    Registry::standard(&disk.port())
        .with(schema("panics"), |_| Box::new(Panics))
        .with(schema("fails"), |_| Box::new(Fails))
        .with(schema("fails-late"), |_| Box::new(FailsLate))
        .with(schema("panics-built"), |_| panic!("built to panic"))
        .with(schema("stuck"), |_| Box::new(Stuck))
        .with(schema("slow"), |context| {
            Box::new(Slow {
                context,
                working: false,
            })
        })
        .with(schema("chatty"), |_| Box::new(Chatty))
        .with(WORD, |context| {
            Box::new(Word(context.settings.text("word").to_owned()))
        })
}

struct Panics;

impl Node for Panics {
    fn audio(&mut self, _: &AudioBlock<'_>, _: &mut Emitter) -> Result<(), NodeFault> {
        panic!("a node is made to panic")
    }
}

struct Fails;

impl Node for Fails {
    fn audio(&mut self, _: &AudioBlock<'_>, _: &mut Emitter) -> Result<(), NodeFault> {
        Err(NodeFault("made to fail".to_owned()))
    }
}

struct FailsLate;

impl Node for FailsLate {
    fn finish(&mut self, _: &mut Emitter) -> Result<(), NodeFault> {
        Err(NodeFault("made to fail late".to_owned()))
    }
}

struct Stuck;

impl Node for Stuck {
    fn busy(&self) -> bool {
        true
    }
}

struct Slow {
    context: NodeContext,
    working: bool,
}

impl Node for Slow {
    fn finish(&mut self, _: &mut Emitter) -> Result<(), NodeFault> {
        self.working = true;
        let signals = self.context.signals.clone();
        actix_rt::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            signals.send("done");
        });
        Ok(())
    }

    fn signal(&mut self, result: Box<dyn Any + Send>, out: &mut Emitter) -> Result<(), NodeFault> {
        self.working = false;
        out.event(Event::new("Slow Done").with("Said", *result.downcast::<&str>().unwrap()));
        Ok(())
    }

    fn busy(&self) -> bool {
        self.working
    }
}

struct Chatty;

impl Node for Chatty {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        let event = Event::new("Chat").on_channel(0);
        out.event(event.with("Frames", audio.frames));
        Ok(())
    }
}

struct Word(String);

impl Node for Word {
    fn audio(&mut self, _: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        out.event(Event::new("Word").with("Word", self.0.as_str()));
        Ok(())
    }

    fn update(&mut self, settings: &Settings) {
        self.0 = settings.text("word").to_owned();
    }
}
