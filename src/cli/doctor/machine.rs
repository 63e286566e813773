//! The machine itself: open files, clock, cores.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};

use super::finding::Finding;
use crate::config::Settings;
use crate::limits::OpenFiles;

/// Listeners, the database, logs, certificates and what else is open beside the calls.
const OTHER_FILES: u64 = 256;

/// This program was written after that day; a clock before it was never set.
const WRITTEN: &str = "2026-01-01T00:00:00Z";

/// Compares the limit on open files with what a full server opens: a socket per connection, a file per recording.
pub(super) fn open_files(settings: &Settings, limit: OpenFiles) -> Finding {
    let (connections, sessions) = (
        settings.stream.max_connections,
        settings.stream.max_sessions,
    );
    let needed = (connections as u64)
        .saturating_add(sessions as u64)
        .saturating_add(OTHER_FILES);
    let detail = format!(
        "{} allowed, {needed} needed when the server is full",
        limit.hard
    );
    if limit.hard >= needed {
        return Finding::ok("open files", detail);
    }
    let todo = "raise it (LimitNOFILE of the unit, --ulimit nofile of a container), \
                or lower stream.max_connections and stream.max_sessions";
    Finding::warn("open files", detail, todo)
}

/// Judges the clock by this program's age and by the files of the data folder, which cannot come from the future.
pub(super) fn clock(settings: &Settings, now: DateTime<Utc>) -> Finding {
    let todo = "set the clock, and keep it right with NTP; tokens and certificates depend on it";
    let shown = now.format("%F %T UTC");
    if WRITTEN
        .parse::<DateTime<Utc>>()
        .is_ok_and(|written| now < written)
    {
        return Finding::fail(
            "clock",
            format!("{shown} lies before this program was written"),
            todo,
        );
    }
    match newest_file(&settings.data_dir) {
        Some(newest) if newest - now > TimeDelta::minutes(1) => Finding::warn(
            "clock",
            format!("{shown} lies before files of the data folder ({newest:.0?})"),
            todo,
        ),
        _ => Finding::ok("clock", shown.to_string()),
    }
}

fn newest_file(folder: &Path) -> Option<DateTime<Utc>> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .filter_map(|entry| entry.ok()?.metadata().ok()?.modified().ok())
        .max()
        .map(DateTime::from)
}

/// Compares the streaming threads with the cores.
pub(super) fn cores(settings: &Settings) -> Finding {
    let threads = settings.stream.threads;
    match std::thread::available_parallelism().map(usize::from) {
        Err(error) => Finding::warn(
            "cores",
            format!("their number is unknown ({error})"),
            "set stream.threads yourself",
        ),
        Ok(cores) if threads > cores => Finding::warn(
            "cores",
            format!("{threads} streaming threads on {cores} cores"),
            "set stream.threads to 0; more threads than cores only take turns",
        ),
        Ok(cores) => Finding::ok("cores", format!("{cores} for this process")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Status;
    use super::*;
    use crate::config::{Sources, load};

    fn settings(flags: &[String]) -> Settings {
        load(&Sources {
            flags: flags.to_vec(),
            ..Sources::default()
        })
        .unwrap()
        .settings
    }

    #[test]
    fn too_few_open_files_for_the_connections_warn() {
        let settings = settings(&[
            "stream.max_connections=1000".to_owned(),
            "stream.max_sessions=500".to_owned(),
        ]);
        for (hard, status) in [(1755, Status::Warn), (1756, Status::Ok)] {
            assert_eq!(
                open_files(&settings, OpenFiles { soft: 1024, hard }).status,
                status
            );
        }
    }

    #[test]
    fn a_clock_behind_the_data_folder_or_this_program_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("callwright.db"), "").unwrap();
        let settings = settings(&[format!("data_dir={}", folder.path().display())]);
        let now = Utc::now();
        for (clock_shows, status) in [
            (now, Status::Ok),
            (now - TimeDelta::hours(1), Status::Warn),
            (DateTime::UNIX_EPOCH, Status::Fail),
        ] {
            assert_eq!(
                clock(&settings, clock_shows).status,
                status,
                "{clock_shows}"
            );
        }
    }

    #[test]
    fn more_streaming_threads_than_cores_warn() {
        let many = std::thread::available_parallelism()
            .map(usize::from)
            .unwrap()
            + 1;
        assert_eq!(
            cores(&settings(&[format!("stream.threads={many}")])).status,
            Status::Warn
        );
        assert_eq!(cores(&settings(&[])).status, Status::Ok);
    }
}
