//! The rules of Callwright: what should happen, never when or for whom.
//!
//! Everything here is pure. No async, no clock, no I/O, no randomness: time and chance arrive as
//! arguments, so every rule can be tested with a table.

pub mod audio;
pub mod dtmf;
pub mod event;
pub mod flow;
pub mod identity;
pub mod level;
pub mod protocol;
#[cfg(test)]
mod sound;
pub mod voice_activity;
