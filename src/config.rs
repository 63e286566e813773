//! Settings: read from every layer, checked whole, handed out typed.
//!
//! Layers, later ones win: `config.toml` as compiled in, `./config.toml` or the file given, the environment, flags.
//! Nothing here opens a port or makes a folder. The composition root and the command line use it; the edges
//! are given the parts they need.

mod cross;
mod fault;
mod layers;
mod schema;
mod secrets;
mod settings;
#[cfg(test)]
mod tests;
mod value;

use std::ffi::OsString;
use std::path::PathBuf;

pub use fault::{Fault, Faults, Origin};
pub use settings::{
    AdminSettings, ApiSettings, Authentication, CertificateFiles, IdentitySettings, Issuer,
    LogFormat, LogSettings, RecordingSettings, ServiceSettings, Settings, StoreSettings,
    StreamSettings, StreamTlsSettings,
};
pub use value::Value;

use layers::Draft;
use settings::Reader;

/// The file that is read when it is there and no other is given.
const USUAL_FILE: &str = "config.toml";

/// Where settings are read from, beside the defaults.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A file that must exist.
    pub file: Option<PathBuf>,
    /// A file that is read if it exists and `file` is not given.
    pub usual_file: Option<PathBuf>,
    /// Environment variables; those that do not begin with `CALLWRIGHT__` are passed over.
    pub environment: Vec<(OsString, OsString)>,
    /// `key=value` pairs of the command line.
    pub flags: Vec<String>,
}

impl Sources {
    /// The sources of this process, with what its command line says.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: Vec<String>) -> Self {
        Self {
            file,
            usual_file: Some(PathBuf::from(USUAL_FILE)),
            environment: std::env::vars_os().collect(),
            flags,
        }
    }
}

/// One setting in force.
#[derive(Debug, Clone)]
pub struct Effective {
    /// Sections and name, joined by dots.
    pub key: &'static str,
    /// The value; secrets hide themselves.
    pub value: Value,
    /// The layer it came from.
    pub origin: Origin,
}

/// The settings, and how they came about.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Typed and complete.
    pub settings: Settings,
    /// Every key in the order of `config.toml`.
    pub effective: Vec<Effective>,
}

/// Reads every layer and checks the whole.
///
/// # Errors
/// [`Faults`] names everything that is wrong, not only the first of it.
pub fn load(sources: &Sources) -> Result<Loaded, Faults> {
    let mut draft = lay(sources);
    secrets::resolve(&mut draft);
    let mut reader = Reader::new(&draft);
    let settings = Settings::read(&mut reader);
    let missing = reader.faults;
    draft.faults.extend(missing);
    cross::check(&settings, &mut draft);
    if !draft.faults.is_empty() {
        return Err(Faults(draft.faults));
    }
    Ok(Loaded {
        settings,
        effective: effective(&draft),
    })
}

fn lay(sources: &Sources) -> Draft {
    let mut draft = Draft::default();
    draft.lay_defaults();
    match (&sources.file, &sources.usual_file) {
        (Some(file), _) => draft.lay_file(file, true),
        (None, Some(file)) => draft.lay_file(file, false),
        (None, None) => {}
    }
    draft.lay_environment(&sources.environment);
    draft.lay_flags(&sources.flags);
    draft
}

fn effective(draft: &Draft) -> Vec<Effective> {
    let entries = schema::KEYS
        .iter()
        .filter_map(|key| Some((key.path, draft.entry(key.path)?)));
    entries
        .map(|(key, entry)| Effective {
            key,
            value: entry.shown_value(),
            origin: entry.origin.clone(),
        })
        .collect()
}
