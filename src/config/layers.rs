//! Lays one source of settings over another and notes every fault on the way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use super::fault::{Fault, Origin};
use super::schema::{self, Key};
use super::value::{HIDDEN, Value};

/// The defaults: the commented file that operators read.
pub(super) const DEFAULTS: &str = include_str!("../../config.toml");

/// Variables with this prefix, in any case, are settings.
const PREFIX: &str = "CALLWRIGHT__";

/// A value and the layer it came from.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// Another value was laid over the default.
    pub(super) changed: bool,
}

impl Entry {
    /// The value as it may be shown: a secret still at its default, which everyone can read, is none.
    pub(super) fn shown_value(&self) -> Value {
        match &self.value {
            Value::Secret(text) if !self.changed => Value::Text(text.expose_secret().to_owned()),
            value => value.clone(),
        }
    }
}

/// The settings while layers are being laid.
#[derive(Debug, Default)]
pub(super) struct Draft {
    entries: BTreeMap<&'static str, Entry>,
    faulty: Vec<&'static str>,
    pub(super) faults: Vec<Fault>,
}

impl Draft {
    pub(super) fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Says whether some layer gave the key a value that was refused.
    pub(super) fn is_faulty(&self, path: &str) -> bool {
        self.faulty.contains(&path)
    }

    /// Lays the compiled-in defaults.
    pub(super) fn lay_defaults(&mut self) {
        self.lay_document(DEFAULTS, &Origin::Default);
    }

    /// Lays a settings file; one that is only looked for may be missing.
    pub(super) fn lay_file(&mut self, path: &Path, must_exist: bool) {
        let origin = Origin::File(path.to_owned());
        match std::fs::read_to_string(path) {
            Ok(text) => self.lay_document(&text, &origin),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !must_exist => {}
            Err(error) => self.refuse_layer(origin, format!("the file cannot be read: {error}")),
        }
    }

    fn lay_document(&mut self, text: &str, origin: &Origin) {
        match toml::from_str::<toml::Table>(text) {
            Ok(table) => self.lay_table("", &table, origin),
            // The error's own Display quotes the line, which may hold a secret.
            Err(error) => {
                let line = error.span().map_or(1, |span| line_at(text, span.start));
                self.refuse_layer(
                    origin.clone(),
                    format!("line {line} is not TOML: {}", error.message()),
                );
            }
        }
    }

    fn lay_table(&mut self, section: &str, table: &toml::Table, origin: &Origin) {
        for (name, value) in table {
            let path = if section.is_empty() {
                name.clone()
            } else {
                format!("{section}.{name}")
            };
            match (schema::find(&path), value) {
                (Some(key), value) => self.lay_toml(key, value, origin),
                (None, toml::Value::Table(inner)) if is_section(&path) || !inner.is_empty() => {
                    self.lay_table(&path, inner, origin);
                }
                (None, _) => self.refuse_unknown(&path, origin.clone()),
            }
        }
    }

    fn lay_toml(&mut self, key: &'static Key, value: &toml::Value, origin: &Origin) {
        match key.kind.read_toml(value) {
            Some(read) => self.set(key, read, origin.clone()),
            None => self.refuse(key, &value.to_string(), origin.clone()),
        }
    }

    fn lay_text(&mut self, path: &str, text: &str, origin: Origin) {
        match schema::find(path) {
            None => self.refuse_unknown(path, origin),
            Some(key) => match key.kind.read_text(text) {
                Some(read) => self.set(key, read, origin),
                None => self.refuse(key, text, origin),
            },
        }
    }

    /// Lays the variables whose name begins with `CALLWRIGHT__`; the others are none of ours.
    pub(super) fn lay_environment(&mut self, variables: &[(OsString, OsString)]) {
        let mut ours: Vec<_> = variables
            .iter()
            .filter_map(|(name, value)| setting(name, value))
            .collect();
        // Two spellings of one name have no order of their own; sorted, the outcome is at least always the same.
        ours.sort();
        for (name, path, value) in ours {
            let origin = Origin::Environment(name);
            match value.to_str() {
                Some(text) => self.lay_text(&path, text, origin),
                None => self.refuse_layer(origin, "the value is not UTF-8".to_owned()),
            }
        }
    }

    /// Lays `key=value` pairs from the command line.
    pub(super) fn lay_flags(&mut self, flags: &[String]) {
        for flag in flags {
            match flag.split_once('=') {
                Some((path, text)) => self.lay_text(path.trim(), text, Origin::Flag),
                None => self.refuse_layer(
                    Origin::Flag,
                    "a flag reads --set section.key=value".to_owned(),
                ),
            }
        }
    }

    fn set(&mut self, key: &'static Key, value: Value, origin: Origin) {
        let changed = self
            .entries
            .get(key.path)
            .is_some_and(|entry| differs(&entry.value, &value) || entry.changed);
        let value = match value {
            Value::Text(text) if key.secret => Value::Secret(SecretString::from(text)),
            other => other,
        };
        self.entries.insert(
            key.path,
            Entry {
                value,
                origin,
                changed,
            },
        );
    }

    /// Puts a secret that was read from a file in place of the value.
    pub(super) fn set_from_secret_file(&mut self, key: &'static Key, text: &str, file: PathBuf) {
        let origin = Origin::SecretFile(file);
        match key.kind.read_text(text) {
            Some(read) => self.set(key, read, origin),
            None => self.refuse(key, text, origin),
        }
    }

    fn refuse(&mut self, key: &'static Key, shown: &str, origin: Origin) {
        let value = if key.secret {
            HIDDEN.to_owned()
        } else {
            shortened(shown)
        };
        let problem = format!("allowed is {}", key.kind.allowed());
        self.faulty.push(key.path);
        self.faults.push(Fault {
            key: key.path.to_owned(),
            value: Some(value),
            origin,
            problem,
        });
    }

    /// Refuses a key that does not exist. Its value is not shown: it may be a secret under a mistyped name.
    fn refuse_unknown(&mut self, path: &str, origin: Origin) {
        let problem = match schema::nearest(path) {
            Some(known) => format!("there is no such key; the nearest is {known}"),
            None => "there is no such key".to_owned(),
        };
        self.faults.push(Fault {
            key: path.to_owned(),
            value: None,
            origin,
            problem,
        });
    }

    fn refuse_layer(&mut self, origin: Origin, problem: String) {
        self.faults.push(Fault {
            key: String::new(),
            value: None,
            origin,
            problem,
        });
    }

    /// Notes a fault of a value that is allowed alone but not beside the others.
    pub(super) fn refuse_together(&mut self, path: &'static str, problem: String) {
        let (value, origin) = self
            .entries
            .get(path)
            .map_or((None, Origin::Default), |entry| {
                (Some(entry.value.shown()), entry.origin.clone())
            });
        self.faulty.push(path);
        self.faults.push(Fault {
            key: path.to_owned(),
            value,
            origin,
            problem,
        });
    }
}

fn setting(name: &OsString, value: &OsString) -> Option<(String, String, OsString)> {
    let name = name.to_str()?;
    let (prefix, rest) = name.split_at_checked(PREFIX.len())?;
    let path = rest.to_lowercase().replace("__", ".");
    prefix
        .eq_ignore_ascii_case(PREFIX)
        .then(|| (name.to_owned(), path, value.clone()))
}

fn is_section(path: &str) -> bool {
    schema::KEYS.iter().any(|key| {
        key.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

fn differs(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Secret(old), Value::Text(new)) => old.expose_secret() != new,
        (old, new) => old.to_json() != new.to_json(),
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}
