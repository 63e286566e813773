//! What a node type says of itself: the audio it hears and the settings it takes.

use serde_json::{Map, Number, Value};

/// Which form of the call audio a node type uses. The flow decodes only when somebody listens to samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// No audio at all.
    Nothing,
    /// The bytes as they came over the wire.
    Bytes,
    /// Decoded 16-bit samples, a slice per channel.
    Samples,
}

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// A number within a closed range.
    Number {
        /// Smallest value.
        least: f64,
        /// Largest value.
        most: f64,
    },
    /// A whole number within a closed range.
    Integer {
        /// Smallest value.
        least: i64,
        /// Largest value.
        most: i64,
    },
    /// True or false.
    Flag,
    /// Text of at most this many characters.
    Text {
        /// Most characters.
        most: usize,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One setting of a node type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettingSpec {
    /// Its name, kebab-case, with the unit at the end.
    pub name: &'static str,
    /// The values it takes.
    pub kind: SettingKind,
    /// The value when none is given, as JSON text.
    pub default: &'static str,
    /// One sentence for people.
    pub help: &'static str,
}

/// One node type as validation sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSchema {
    /// The name in `type = "…"`.
    pub name: &'static str,
    /// One sentence for people.
    pub help: &'static str,
    /// The audio it needs.
    pub hears: Hears,
    /// The settings it takes.
    pub settings: &'static [SettingSpec],
}

/// The node types that exist. The registry of the actors implements this.
pub trait NodeCatalog {
    /// The schema of the node type `name`.
    fn schema(&self, name: &str) -> Option<&NodeSchema>;
    /// Every type name, in the order to show them.
    fn names(&self) -> Vec<&'static str>;
}

/// The settings of one node: every setting of its type, checked, defaults filled in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings(Map<String, Value>);

impl Settings {
    /// Checks `given` against `specs` and fills in defaults. Each fault is a sentence that names the setting.
    ///
    /// # Errors
    /// Every fault there is: unknown settings, values of the wrong kind or out of range.
    pub fn check(specs: &[SettingSpec], given: &Map<String, Value>) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        let mut checked = Map::new();
        for name in given.keys() {
            if !specs.iter().any(|spec| spec.name == name) {
                faults.push(unknown_setting(specs, name));
            }
        }
        for spec in specs {
            let value = match given.get(spec.name) {
                Some(value) => spec.accept(value),
                None => Ok(serde_json::from_str(spec.default).unwrap_or(Value::Null)),
            };
            match value {
                Ok(value) => drop(checked.insert(spec.name.to_owned(), value)),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() {
            Ok(Self(checked))
        } else {
            Err(faults)
        }
    }

    /// The number `name`; 0 if the schema has no such number.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.0.get(name).and_then(Value::as_f64).unwrap_or_default()
    }

    /// The whole number `name`; 0 if the schema has no such number or it is negative.
    #[must_use]
    pub fn count(&self, name: &str) -> u32 {
        let number = self.0.get(name).and_then(Value::as_u64).unwrap_or_default();
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The flag `name`; false if the schema has no such flag.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.0
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    /// The text `name`; empty if the schema has no such text.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

fn unknown_setting(specs: &[SettingSpec], name: &str) -> String {
    if specs.is_empty() {
        return format!("`{name}` is unknown: this node type has no settings");
    }
    let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
    format!("`{name}` is unknown: the settings are {}", known.join(", "))
}

impl SettingSpec {
    /// Gives `value` in the kind of this setting; numbers and flags may come as text.
    ///
    /// # Errors
    /// A sentence that names the setting, the value and what is allowed.
    pub fn accept(&self, value: &Value) -> Result<Value, String> {
        let accepted = match self.kind {
            SettingKind::Number { least, most } => as_number(value)
                .filter(|number| (least..=most).contains(number))
                .and_then(Number::from_f64)
                .map(Value::Number),
            SettingKind::Integer { least, most } => as_integer(value)
                .filter(|number| (least..=most).contains(number))
                .map(Value::from),
            SettingKind::Flag => as_flag(value).map(Value::Bool),
            SettingKind::Text { most } => value
                .as_str()
                .filter(|text| text.chars().count() <= most)
                .map(Value::from),
            SettingKind::Choice(words) => value
                .as_str()
                .filter(|word| words.contains(word))
                .map(Value::from),
        };
        accepted.ok_or_else(|| {
            format!(
                "`{}` is {}, and must be {}",
                self.name,
                brief(value),
                self.allowed()
            )
        })
    }

    /// The values this setting takes, in words.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self.kind {
            SettingKind::Number { least, most } => format!("a number from {least} to {most}"),
            SettingKind::Integer { least, most } => {
                format!("a whole number from {least} to {most}")
            }
            SettingKind::Flag => "true or false".to_owned(),
            SettingKind::Text { most } => format!("text of at most {most} characters"),
            SettingKind::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// A value short enough for a message.
pub(crate) fn brief(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST).collect();
    format!("{head}…")
}

/// The number in `value`, which may be text.
pub(crate) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text
            .trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// The whole number in `value`, which may be text or written with a zero fraction.
pub(crate) fn as_integer(value: &Value) -> Option<i64> {
    if let Value::Number(number) = value
        && let Some(whole) = number.as_i64()
    {
        return Some(whole);
    }
    if let Value::String(text) = value {
        return text.trim().parse().ok();
    }
    // A double holds every whole number up to 2^53 exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    as_number(value)
        .filter(|number| number.fract() == 0.0 && number.abs() <= EXACT)
        .map(|number| number as i64)
}

fn as_flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}
