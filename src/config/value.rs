//! What a setting may hold, and how text or TOML becomes it.

use std::net::{IpAddr, SocketAddr};

use secrecy::SecretString;
use serde_json::json;
use tracing_subscriber::EnvFilter;
use url::Url;

/// What stands for a secret wherever values are shown.
pub(super) const HIDDEN: &str = "(hidden)";

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number within a range, both ends included.
    Number {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
        /// Plural of the unit; empty when the number only counts.
        unit: &'static str,
    },
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// Text of one shape.
    Text(Shape),
    /// Texts of one shape; separated by commas outside TOML.
    List(Shape),
}

/// A form that text must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Says what is allowed, to follow "allowed is".
    allowed: &'static str,
    fits: fn(&str) -> bool,
}

impl Shape {
    /// Anything, also nothing.
    pub(super) const ANY: Self = Self {
        allowed: "any text",
        fits: |_| true,
    };
    /// At least one character.
    pub(super) const NOT_EMPTY: Self = Self {
        allowed: "any text but an empty one",
        fits: |text| !text.trim().is_empty(),
    };
    /// An IP address and a port.
    pub(super) const ADDRESS: Self = Self {
        allowed: "an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080",
        fits: |text| text.parse::<SocketAddr>().is_ok(),
    };
    /// A level, or tracing's filter directives.
    pub(super) const LOG_LEVEL: Self = Self {
        allowed: "error, warn, info, debug or trace, or directives such as info,callwright=debug",
        fits: is_log_filter,
    };
    /// Where the store is.
    pub(super) const STORE_URL: Self = Self {
        allowed: "embedded, sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE",
        fits: is_store_url,
    };
    /// Who issues tokens.
    pub(super) const ISSUER: Self = Self {
        allowed: "embedded, or an http(s) URL",
        fits: |text| text == "embedded" || is_web_url(text),
    };
    /// A web address, or nothing.
    pub(super) const OPTIONAL_URL: Self = Self {
        allowed: "an http(s) URL, or nothing",
        fits: |text| text.is_empty() || is_web_url(text),
    };
    /// A DNS name or an IP address.
    pub(super) const HOST: Self = Self {
        allowed: "DNS names and IP addresses",
        fits: is_host,
    };
}

fn is_log_filter(text: &str) -> bool {
    // A bare word that is no level would be read as the name of a module, and log nothing else.
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let level_or_target = |part: &str| part.contains('=') || LEVELS.contains(&part.trim());
    text.split(',').all(level_or_target) && EnvFilter::try_new(text).is_ok()
}

fn is_store_url(text: &str) -> bool {
    let postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let sqlite = text
        .strip_prefix("sqlite:")
        .is_some_and(|path| !path.is_empty());
    text == "embedded" || sqlite || (postgres && Url::parse(text).is_ok())
}

fn is_web_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let name = text.strip_prefix("*.").unwrap_or(text);
    text.parse::<IpAddr>().is_ok() || (name.len() <= 253 && name.split('.').all(label))
}

/// The value of a setting.
#[derive(Debug, Clone)]
pub enum Value {
    /// A flag.
    Flag(bool),
    /// A number, in the unit of its key.
    Number(u64),
    /// A text or one of a few words.
    Text(String),
    /// A text that is never shown.
    Secret(SecretString),
    /// Texts.
    List(Vec<String>),
}

impl Value {
    /// The value for people, in TOML's notation; a secret is hidden.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Secret(_) => HIDDEN.to_owned(),
            other => other.to_json().to_string(),
        }
    }

    /// The value for programs; a secret is hidden.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Flag(flag) => json!(flag),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Secret(_) => json!(HIDDEN),
            Self::List(items) => json!(items),
        }
    }
}

impl Kind {
    /// What is allowed, to follow "allowed is".
    #[must_use]
    pub(super) fn allowed(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Number { min, max, unit: "" } => format!("a whole number from {min} to {max}"),
            Self::Number { min, max, unit } => format!("{min} to {max} {unit}, a whole number"),
            Self::Choice(words) => words.join(" or "),
            Self::Text(shape) => shape.allowed.to_owned(),
            Self::List(shape) => format!("a list of {}", shape.allowed),
        }
    }

    /// Reads a value from a variable or a flag; nothing when it is not allowed.
    pub(super) fn read_text(&self, text: &str) -> Option<Value> {
        match self {
            Self::Flag => text.trim().parse().ok().map(Value::Flag),
            Self::Number { .. } => text
                .trim()
                .parse()
                .ok()
                .and_then(|number| self.number(number)),
            Self::Choice(_) | Self::Text(_) => self.text(text),
            Self::List(_) => self.list(split(text)),
        }
    }

    /// Reads a value from a settings file; nothing when it is not allowed.
    pub(super) fn read_toml(&self, value: &toml::Value) -> Option<Value> {
        match (self, value) {
            (Self::Flag, toml::Value::Boolean(flag)) => Some(Value::Flag(*flag)),
            (Self::Number { .. }, toml::Value::Integer(number)) => u64::try_from(*number)
                .ok()
                .and_then(|number| self.number(number)),
            (Self::Choice(_) | Self::Text(_), toml::Value::String(text)) => self.text(text),
            (Self::List(_), toml::Value::Array(items)) => self.list(
                items
                    .iter()
                    .map(|item| item.as_str().map(str::to_owned))
                    .collect::<Option<_>>()?,
            ),
            _ => None,
        }
    }

    fn number(&self, number: u64) -> Option<Value> {
        let fits = matches!(self, Self::Number { min, max, .. } if (*min..=*max).contains(&number));
        fits.then_some(Value::Number(number))
    }

    fn text(&self, text: &str) -> Option<Value> {
        let fits = match self {
            Self::Choice(words) => words.contains(&text),
            Self::Text(shape) => (shape.fits)(text),
            Self::Flag | Self::Number { .. } | Self::List(_) => false,
        };
        fits.then(|| Value::Text(text.to_owned()))
    }

    fn list(&self, items: Vec<String>) -> Option<Value> {
        let fits = matches!(self, Self::List(shape) if items.iter().all(|item| (shape.fits)(item)));
        fits.then_some(Value::List(items))
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_takes_what_it_names_and_nothing_else() {
        for (shape, good, bad) in [
            (Shape::ADDRESS, "[::1]:0", "localhost:80"),
            (Shape::LOG_LEVEL, "info,callwright=debug", "verbose"),
            (Shape::STORE_URL, "sqlite:data/x.db", "mysql://host/db"),
            (
                Shape::STORE_URL,
                "postgres://u:p@h:5432/d",
                "postgres://[bad",
            ),
            (Shape::ISSUER, "https://id.example/realm", "id.example"),
            (Shape::OPTIONAL_URL, "", "ftp://id.example"),
            (Shape::HOST, "*.calls.example", "two words"),
            (Shape::HOST, "10.0.0.1", ""),
        ] {
            assert!((shape.fits)(good), "{good}");
            assert!(!(shape.fits)(bad), "{bad}");
        }
    }

    #[test]
    fn numbers_keep_to_their_range() {
        let kind = Kind::Number {
            min: 100,
            max: 200,
            unit: "seconds",
        };
        for (text, fits) in [
            ("100", true),
            (" 200 ", true),
            ("99", false),
            ("201", false),
            ("1e2", false),
            ("-1", false),
        ] {
            assert_eq!(kind.read_text(text).is_some(), fits, "{text}");
        }
        assert!(
            kind.read_toml(&toml::Value::String("150".to_owned()))
                .is_none()
        );
    }
}
