//! What the actors need from the outside. Edges implement these; only the composition root joins the two.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use callwright_domain::audio::AudioFormat;
use callwright_domain::identity::{Principal, TenantId};
use uuid::Uuid;

/// Why a token was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// The token itself is at fault; the text says how, in plain words and without the token.
    #[error("{0}")]
    Refused(String),
    /// The token could not be checked now; the same token may pass later.
    #[error("{0}")]
    Unavailable(String),
}

/// Checks access tokens: signature, pinned algorithms, issuer, audience, times, tenant and scopes.
#[async_trait]
pub trait TokenVerifier: Send + Sync {
    /// Gives the principal that `token` stands for. Whether its scopes suffice is for the caller to ask.
    ///
    /// # Errors
    /// [`TokenFault`] says whether the token is bad or could not be checked.
    async fn verify(&self, token: &str) -> Result<Principal, TokenFault>;
}

/// A project as it is kept: a definition in TOML, read by the part that runs that kind of project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProject {
    /// Unique within the tenant.
    pub name: String,
    /// `flow` or `evaluator`.
    pub kind: String,
    /// Counts up with each change, from 1.
    pub version: i32,
    /// The definition, TOML.
    pub definition: String,
}

/// The store could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store did not answer: {0}")]
pub struct StoreUnavailable(pub String);

/// Finds projects.
#[async_trait]
pub trait Projects: Send + Sync {
    /// The project `name` of `tenant`, if there is one.
    ///
    /// # Errors
    /// [`StoreUnavailable`] when the store does not answer in time.
    async fn find(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<Arc<StoredProject>>, StoreUnavailable>;
}

/// What is known of a recording before its first byte.
#[derive(Debug, Clone)]
pub struct RecordingInfo {
    /// The session recorded.
    pub session: Uuid,
    /// Whose session it is.
    pub tenant: TenantId,
    /// The recorder node; a project may have several.
    pub node: String,
    /// The audio as it will be written.
    pub format: AudioFormat,
}

/// A recording that is complete on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedRecording {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes of audio in it, without the header.
    pub audio_bytes: u64,
}

/// Why recorded audio could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingFault {
    /// The disk is slower than the calls; this audio is lost to the recording, later audio may not be.
    #[error("the disk does not keep up with the calls")]
    Full,
    /// The recording cannot go on.
    #[error("the recording failed: {0}")]
    Failed(String),
}

/// Told once, on any thread, how a recording ended.
pub type RecordingDone = Box<dyn FnOnce(Result<SavedRecording, RecordingFault>) + Send>;

/// One recording being written. Dropping it closes the file with what was taken so far.
pub trait RecordingSink: Send {
    /// Takes whole frames, in the format of [`RecordingInfo`]. Never blocks.
    ///
    /// # Errors
    /// [`RecordingFault::Full`] when the writer's queue is full, [`RecordingFault::Failed`] once the file is broken.
    fn write(&mut self, audio: Bytes) -> Result<(), RecordingFault>;

    /// Closes the file and calls `done` when it is complete.
    fn finish(self: Box<Self>, done: RecordingDone);
}

/// Writes recordings somewhere that outlives the process.
pub trait Recordings: Send + Sync {
    /// Begins a recording. Never blocks: the file is opened by the writer.
    ///
    /// # Errors
    /// [`RecordingFault::Full`] when the writer's queue is full.
    fn begin(&self, info: RecordingInfo) -> Result<Box<dyn RecordingSink>, RecordingFault>;
}
