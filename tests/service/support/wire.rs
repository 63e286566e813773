//! Snapshots of what goes over the wire, with what differs from run to run left out.

use serde_json::Value;

/// Fields whose value is never the same twice.
const VOLATILE: [&str; 5] = [
    "SessionId",
    "GroupId",
    "Path",
    "DurationMsec",
    "DeadlineMsec",
];

/// Holds `messages` against the snapshot `name` in `tests/service/snapshots`.
pub(crate) fn assert_wire(name: &str, messages: impl Into<Value>) {
    let mut messages = messages.into();
    redact(&mut messages);
    let name = format!("service__stream__{name}");
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_json_snapshot!(name, messages);
    });
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if !text.is_empty() && is_volatile(key) => {
                        *text = format!("[{key}]");
                    }
                    Value::Number(_) if is_volatile(key) => *value = format!("[{key}]").into(),
                    value => redact(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(redact),
        _ => {}
    }
}

fn is_volatile(key: &str) -> bool {
    VOLATILE.contains(&key)
}
