//! Events: what nodes, clients and the service say while a call runs, and their form on the wire.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The `Channel` of an event that concerns every channel.
pub const ALL_CHANNELS: i32 = -2;
/// The `Channel`, `StartMsec` or `EndMsec` of an event to which it does not apply.
pub const NOT_APPLICABLE: i64 = -1;

/// Something that happened in a call.
///
/// Positions are in milliseconds of call audio since its start; -1 where they do not apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Event {
    /// What happened; see [`names`] for those the service knows.
    pub name: String,
    /// The audio channel from 0, -2 for all, -1 where none applies.
    #[serde(default = "no_channel")]
    pub channel: i32,
    /// Where it began.
    #[serde(default = "no_position")]
    pub start_msec: i64,
    /// Where it ended.
    #[serde(default = "no_position")]
    pub end_msec: i64,
    /// Names the utterance that the event belongs to; empty where there is none.
    #[serde(default)]
    pub group_id: String,
    /// Free labels.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What else there is to say.
    #[serde(default)]
    pub data: Map<String, Value>,
}

const fn no_channel() -> i32 {
    NOT_APPLICABLE as i32
}

const fn no_position() -> i64 {
    NOT_APPLICABLE
}

impl Event {
    /// An event that concerns all channels and no position.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            channel: ALL_CHANNELS,
            start_msec: NOT_APPLICABLE,
            end_msec: NOT_APPLICABLE,
            group_id: String::new(),
            tags: Vec::new(),
            data: Map::new(),
        }
    }

    /// The same event on one channel, counted from 0.
    #[must_use]
    pub fn on_channel(mut self, channel: u8) -> Self {
        self.channel = i32::from(channel);
        self
    }

    /// The same event with where it began and ended, in milliseconds.
    #[must_use]
    pub fn spanning(mut self, start_msec: u64, end_msec: u64) -> Self {
        self.start_msec = i64::try_from(start_msec).unwrap_or(i64::MAX);
        self.end_msec = i64::try_from(end_msec).unwrap_or(i64::MAX);
        self
    }

    /// The same event with where it began, in milliseconds; its end is not known yet.
    #[must_use]
    pub fn starting(mut self, start_msec: u64) -> Self {
        self.start_msec = i64::try_from(start_msec).unwrap_or(i64::MAX);
        self
    }

    /// The same event as part of the utterance `group_id`.
    #[must_use]
    pub fn in_group(mut self, group_id: impl Into<String>) -> Self {
        self.group_id = group_id.into();
        self
    }

    /// The same event with one more entry in `Data`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    /// The event as it goes over the wire: `{"Event":{…}}`.
    #[must_use]
    pub fn to_wire(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Envelope<'a> {
            event: &'a Event,
        }
        // Serialising strings, numbers and maps with string keys cannot fail.
        serde_json::to_string(&Envelope { event: self }).unwrap_or_default()
    }
}

/// The names of the events that the service itself gives a meaning.
pub mod names {
    /// The last event of every session: the reason and the totals.
    pub const SESSION_ENDED: &str = "Session Ended";
    /// The server is shutting down; the session may finish until the deadline in `Data`.
    pub const SERVER_DRAINING: &str = "Server Draining";
    /// Somebody began to speak.
    pub const SPEECH_STARTED: &str = "Speech Started";
    /// The utterance ended.
    pub const SPEECH_ENDED: &str = "Speech Ended";
    /// A key was pressed.
    pub const DTMF: &str = "DTMF";
    /// A recording is complete on disk.
    pub const RECORDING_SAVED: &str = "Recording Saved";
    /// Audio that could not be used, with where it began and how long it was.
    pub const AUDIO_DISCARDED: &str = "Audio Discarded";
    /// A node failed.
    pub const NODE_ERROR: &str = "Node Error";
    /// The loudness of one channel over one interval.
    pub const LEVEL: &str = "Level";
}
