//! Writes results to stdout. `println!` panics when the reader has gone, as in `callwright … | head`.

use std::io::{ErrorKind, Write as _};

use serde::Serialize;

use super::Failure;

/// Prints one line or several. A reader that has gone is no failure.
///
/// # Errors
/// A [`Failure`] when stdout cannot be written, a full disk for example.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(format!(
            "the output cannot be written: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Prints one JSON document, indented.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::failed(format!("the output is not JSON: {error}")))?;
    print(&text)
}
