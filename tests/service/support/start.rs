//! Start messages.

use serde_json::{Value, json};

/// A Start; change what a test is about.
#[derive(Debug, Clone)]
pub(crate) struct Start(pub(crate) Value);

impl Start {
    /// A call of tenant `default` through `demo-stream`: stereo μ-law at 8 kHz, like the sample call.
    pub(crate) fn new(token: &str) -> Self {
        Self(json!({
            "MessageName": "Start",
            "Tenant": "default",
            "Token": token,
            "ProjectName": "demo-stream",
            "Audio": { "SampleRate": 8000, "ChannelCount": 2, "Encoding": "ulaw" },
        }))
    }

    /// The same through another project.
    pub(crate) fn through(self, project: &str) -> Self {
        self.with("/ProjectName", json!(project))
    }

    /// The same with other audio.
    pub(crate) fn of(self, rate: u32, channels: u8, encoding: &str) -> Self {
        self.with(
            "/Audio",
            json!({ "SampleRate": rate, "ChannelCount": channels, "Encoding": encoding }),
        )
    }

    /// The same with `value` at a path such as `/Audio/SampleRate`.
    pub(crate) fn with(mut self, path: &str, value: Value) -> Self {
        let (object, field) = self.object(path);
        object.insert(field, value);
        self
    }

    /// The same without what is at a path.
    pub(crate) fn without(mut self, path: &str) -> Self {
        let (object, field) = self.object(path);
        object.remove(&field).expect("the field was there");
        self
    }

    pub(crate) fn json(&self) -> String {
        self.0.to_string()
    }

    fn object(&mut self, path: &str) -> (&mut serde_json::Map<String, Value>, String) {
        let (parent, field) = path.rsplit_once('/').expect("a path begins with /");
        let object = self.0.pointer_mut(parent).and_then(Value::as_object_mut);
        (object.expect("the object is there"), field.to_owned())
    }
}
