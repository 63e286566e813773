//! `voice-activity`: when somebody speaks, one detector per channel.

use callwright_domain::audio::SampleRate;
use callwright_domain::event::{Event, names};
use callwright_domain::flow::{
    AudioBlock, Emitter, Hears, Node, NodeFault, NodeSchema, SettingKind, SettingSpec, Settings,
};
use callwright_domain::voice_activity::{self, Change, EndReason, VoiceActivity};

use super::NodeContext;

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: "voice-activity",
    help: "Says `Speech Started` and `Speech Ended` with the exact place in the audio and a GroupId for the utterance.",
    hears: Hears::Samples,
    settings: &[
        SettingSpec {
            name: "sensitivity",
            kind: SettingKind::Number {
                least: 0.0,
                most: 1.0,
            },
            default: "0.5",
            help: "Higher takes quieter and less certain sounds for speech.",
        },
        SettingSpec {
            name: "pre-speech-ms",
            kind: SettingKind::Integer {
                least: 0,
                most: 2_000,
            },
            default: "200",
            help: "Audio before the speech that belongs to the utterance: `Data.AudioStartMsec`.",
        },
        SettingSpec {
            name: "post-speech-ms",
            kind: SettingKind::Integer {
                least: 0,
                most: 2_000,
            },
            default: "200",
            help: "Audio after the speech that belongs to the utterance: `Data.AudioEndMsec`.",
        },
        SettingSpec {
            name: "speech-trigger-ms",
            kind: SettingKind::Integer {
                least: 16,
                most: 1_000,
            },
            default: "64",
            help: "How much speech begins an utterance.",
        },
        SettingSpec {
            name: "silence-trigger-ms",
            kind: SettingKind::Integer {
                least: 64,
                most: 10_000,
            },
            default: "500",
            help: "How much silence ends an utterance.",
        },
        SettingSpec {
            name: "maximum-speech-ms",
            kind: SettingKind::Integer {
                least: 0,
                most: 3_600_000,
            },
            default: "60000",
            help: "The longest utterance; a longer one is cut in two. 0 for no limit.",
        },
    ],
};

struct Channel {
    detector: VoiceActivity,
    utterance: u64,
    speaking: bool,
}

pub(super) struct VoiceActivityNode {
    context: NodeContext,
    channels: Vec<Channel>,
    changes: Vec<Change>,
    /// Frames heard so far: no utterance reaches beyond.
    heard: u64,
}

impl VoiceActivityNode {
    pub(super) fn new(context: NodeContext) -> Self {
        let settings = detector_settings(&context.settings);
        let channel = |_| Channel {
            detector: VoiceActivity::new(context.format.rate, settings),
            utterance: 0,
            speaking: false,
        };
        let channels = (0..context.format.channels).map(channel).collect();
        Self {
            context,
            channels,
            changes: Vec::new(),
            heard: 0,
        }
    }

    fn rate(&self) -> SampleRate {
        self.context.format.rate
    }

    fn say(&mut self, number: u8, out: &mut Emitter) {
        for change in std::mem::take(&mut self.changes) {
            if let Some(channel) = self.channels.get_mut(usize::from(number)) {
                channel.speaking = matches!(change, Change::Started { .. });
                channel.utterance += u64::from(channel.speaking);
                let utterance = channel.utterance;
                out.event(
                    self.describe(&change)
                        .on_channel(number)
                        .in_group(self.context.group_id(number, utterance)),
                );
            }
        }
    }

    fn describe(&self, change: &Change) -> Event {
        let rate = self.rate();
        let padding = |name| u64::from(self.context.settings.count(name));
        match *change {
            Change::Started { start_frame } => {
                let start = rate.msec_of(start_frame);
                Event::new(names::SPEECH_STARTED).starting(start).with(
                    "AudioStartMsec",
                    start.saturating_sub(padding("pre-speech-ms")),
                )
            }
            Change::Ended {
                start_frame,
                end_frame,
                reason,
            } => {
                let (start, end) = (rate.msec_of(start_frame), rate.msec_of(end_frame));
                let audio_end =
                    (end + padding("post-speech-ms")).min(rate.msec_of(self.heard).max(end));
                Event::new(names::SPEECH_ENDED)
                    .spanning(start, end)
                    .with(
                        "AudioStartMsec",
                        start.saturating_sub(padding("pre-speech-ms")),
                    )
                    .with("AudioEndMsec", audio_end)
                    .with("Reason", reason_word(reason))
            }
        }
    }
}

const fn reason_word(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Silence => "silence",
        EndReason::MaximumSpeech => "maximum-speech",
        EndReason::EndOfAudio => "end-of-audio",
    }
}

fn detector_settings(settings: &Settings) -> voice_activity::Settings {
    voice_activity::Settings {
        sensitivity: settings.number("sensitivity") as f32,
        speech_trigger_msec: settings.count("speech-trigger-ms"),
        silence_trigger_msec: settings.count("silence-trigger-ms"),
        maximum_speech_msec: settings.count("maximum-speech-ms"),
    }
}

impl Node for VoiceActivityNode {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        self.heard = audio.start_frame + audio.frames;
        for (number, samples) in (0..).zip(audio.channels) {
            if let Some(channel) = self.channels.get_mut(usize::from(number)) {
                channel.detector.push(samples, &mut self.changes);
            }
            if !self.changes.is_empty() {
                self.say(number, out);
            }
        }
        Ok(())
    }

    fn update(&mut self, settings: &Settings) {
        self.context.settings = settings.clone();
        for channel in &mut self.channels {
            channel.detector.set(detector_settings(settings));
        }
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), NodeFault> {
        for number in 0..u8::try_from(self.channels.len()).unwrap_or(u8::MAX) {
            if let Some(channel) = self.channels.get_mut(usize::from(number)) {
                channel.detector.finish(&mut self.changes);
            }
            self.say(number, out);
        }
        Ok(())
    }

    fn doing(&self) -> &'static str {
        if self.channels.iter().any(|channel| channel.speaking) {
            "hearing speech"
        } else {
            "hearing silence"
        }
    }
}
