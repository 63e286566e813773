//! `loopback`: sends one channel of the call back as server audio, so that an integrator can hear both directions work.

use callwright_domain::flow::{
    AudioBlock, Emitter, Hears, Node, NodeFault, NodeSchema, Playback, SettingKind, SettingSpec,
    Settings,
};

use super::NodeContext;

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: "loopback",
    help: "Sends one channel of the call back to the client as server audio.",
    hears: Hears::Samples,
    settings: &[SettingSpec {
        name: "channel",
        kind: SettingKind::Integer { least: 0, most: 1 },
        default: "0",
        help: "The channel to send back, counted from 0.",
    }],
};

pub(super) struct Loopback {
    channel: usize,
}

impl Loopback {
    pub(super) fn new(context: NodeContext) -> Self {
        Self {
            channel: channel(&context.settings),
        }
    }
}

fn channel(settings: &Settings) -> usize {
    usize::try_from(settings.count("channel")).unwrap_or_default()
}

impl Node for Loopback {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        let samples = audio
            .channels
            .get(self.channel)
            .ok_or_else(|| NodeFault(format!("the call has no channel {}", self.channel)))?;
        out.playback(Playback {
            samples: samples.as_slice().into(),
        });
        Ok(())
    }

    fn update(&mut self, settings: &Settings) {
        self.channel = channel(settings);
    }
}
