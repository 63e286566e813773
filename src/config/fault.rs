//! What is wrong with the settings, told so that it can be mended.

use std::fmt;
use std::path::PathBuf;

/// Which layer a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The compiled-in `config.toml`.
    Default,
    /// A settings file.
    File(PathBuf),
    /// An environment variable, by its name.
    Environment(String),
    /// A `--set` flag.
    Flag,
    /// A file that holds this one secret.
    SecretFile(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag => f.write_str("flag --set"),
            Self::SecretFile(path) => write!(f, "secret file {}", path.display()),
        }
    }
}

/// One thing wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The key, as it was written; empty when a whole layer could not be read.
    pub key: String,
    /// The value, unless it is or may be a secret.
    pub value: Option<String>,
    /// Where it was set.
    pub origin: Origin,
    /// What is wrong and what is allowed.
    pub problem: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            f.write_str(&self.key)?;
            if let Some(value) = &self.value {
                write!(f, " = {value}")?;
            }
            write!(f, " ")?;
        }
        write!(f, "({}): {}", self.origin, self.problem)
    }
}

/// Everything wrong with the settings, at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("one setting is at fault:")?,
            count => write!(f, "{count} settings are at fault:")?,
        }
        self.0.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}
