//! Can a folder be written, and is there room?

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::finding::Finding;

/// Below this much room, writing fails soon: the database and the log of its changes need it.
const LEAST_BYTES: u64 = 100 << 20;
/// An hour of a hundred recorded stereo μ-law calls.
const COMFORTABLE_BYTES: u64 = 6 << 30;

/// Looks at the folder, or, while it does not exist, at the one that it will be made in.
pub(super) fn examine(check: &str, folder: &Path) -> Finding {
    let Some(existing) = nearest_existing(folder) else {
        return Finding::fail(
            check,
            format!("nothing of {} exists", folder.display()),
            "give a path that can be made",
        );
    };
    if let Err(error) = try_writing(&existing) {
        let detail = format!("{} cannot be written ({error})", existing.display());
        return Finding::fail(
            check,
            detail,
            "give the service's user the right to write there, or set another folder",
        );
    }
    match free_bytes(&existing) {
        Ok(free) => room(check, folder, free),
        Err(error) => Finding::warn(
            check,
            format!("free space is unknown ({error})"),
            "look at it with df",
        ),
    }
}

fn room(check: &str, folder: &Path, free: u64) -> Finding {
    let detail = format!("{} is writable, {} MiB free", folder.display(), free >> 20);
    match free {
        0..LEAST_BYTES => Finding::fail(check, detail, "free at least 100 MiB"),
        LEAST_BYTES..COMFORTABLE_BYTES => Finding::warn(
            check,
            detail,
            "recordings fill it fast: a stereo μ-law call takes 58 MB an hour",
        ),
        COMFORTABLE_BYTES.. => Finding::ok(check, detail),
    }
}

fn nearest_existing(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    folder
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .map(Path::to_owned)
}

fn try_writing(folder: &Path) -> std::io::Result<()> {
    // The file has no name and is gone with its handle, even if this process dies.
    tempfile::tempfile_in(folder)?.write_all(b"callwright")
}

fn free_bytes(folder: &Path) -> std::io::Result<u64> {
    let volume = rustix::fs::statvfs(folder)?;
    Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Status;
    use super::*;

    #[test]
    fn a_folder_still_to_be_made_is_judged_by_its_parent() {
        let parent = tempfile::tempdir().unwrap();
        let finding = examine("data folder", &parent.path().join("not/yet"));
        assert_ne!(finding.status, Status::Fail, "{finding}");
        assert!(!parent.path().join("not").exists());
    }

    #[test]
    fn a_file_in_place_of_the_folder_fails() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(examine("data folder", file.path()).status, Status::Fail);
    }

    #[test]
    fn little_room_warns_and_none_fails() {
        for (free, status) in [
            (0, Status::Fail),
            (1 << 30, Status::Warn),
            (100 << 30, Status::Ok),
        ] {
            assert_eq!(room("data folder", Path::new("data"), free).status, status);
        }
    }
}
