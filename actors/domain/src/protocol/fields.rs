//! Reading JSON objects whose keys come in several spellings.

use serde_json::{Map, Value};

use super::refusal::{ErrorValue, Refusal};
use crate::flow::schema_words;

/// A key without case, `-` and `_`: `SampleRate`, `sample-rate` and `sample_rate` are one.
#[must_use]
pub fn fold_key(key: &str) -> String {
    key.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// A JSON object read by folded keys, with its name in messages.
pub(super) struct Fields<'a> {
    path: &'static str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(path: &'static str, value: &'a Value) -> Result<Self, Refusal> {
        match value {
            Value::Object(map) => Ok(Self { path, map }),
            other if path.is_empty() => Err(invalid(format!(
                "the request must be a JSON object, not {}",
                kind(other)
            ))),
            other => Err(invalid(format!(
                "`{path}` must be an object, not {}",
                kind(other)
            ))),
        }
    }

    /// The value of `name`; null counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        let exact = self.map.get(name);
        let folded = fold_key(name);
        exact
            .or_else(|| {
                self.map
                    .iter()
                    .find(|(key, _)| fold_key(key) == folded)
                    .map(|(_, value)| value)
            })
            .filter(|value| !value.is_null())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter()
    }

    pub(super) fn required(&self, name: &str) -> Result<&'a Value, Refusal> {
        self.get(name)
            .ok_or_else(|| invalid(format!("`{}` is missing", self.full(name))))
    }

    /// The text `name`, which must be there and not be blank.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        let text = self.text_of(name, self.required(name)?)?;
        if text.trim().is_empty() {
            return Err(invalid(format!("`{}` is empty", self.full(name))));
        }
        Ok(text)
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.get(name)
            .map(|value| self.text_of(name, value))
            .transpose()
    }

    /// The whole number `name`, which may come as text.
    pub(super) fn integer(&self, name: &str) -> Result<i64, Refusal> {
        let value = self.required(name)?;
        schema_words::as_integer(value).ok_or_else(|| {
            let full = self.full(name);
            invalid(format!(
                "`{full}` must be a whole number, not {}",
                schema_words::brief(value)
            ))
        })
    }

    pub(super) fn full(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    fn text_of(&self, name: &str, value: &'a Value) -> Result<&'a str, Refusal> {
        value.as_str().ok_or_else(|| {
            invalid(format!(
                "`{}` must be text, not {}",
                self.full(name),
                kind(value)
            ))
        })
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorValue::InvalidRequest, message)
}

pub(super) const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
