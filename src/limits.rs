//! The operating system's limits on this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many files and sockets may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// In force now.
    pub soft: u64,
    /// As far as the process may raise it itself.
    pub hard: u64,
}

/// The limit on open files and sockets; a missing limit reads as the largest number.
#[must_use]
pub fn open_files() -> OpenFiles {
    let limit = getrlimit(Resource::Nofile);
    OpenFiles {
        soft: limit.current.unwrap_or(u64::MAX),
        hard: limit.maximum.unwrap_or(u64::MAX),
    }
}

/// Raises the limit on open files as far as it goes, and gives what is in force then. Shells start programs with 1024,
/// too few for a thousand calls with recordings.
///
/// # Errors
/// The system's own error when it refuses; the old limit is still in force.
pub fn raise_open_files() -> std::io::Result<OpenFiles> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )?;
    Ok(open_files())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_reaches_the_hard_limit() {
        let before = open_files();
        let after = raise_open_files().unwrap();
        assert_eq!(
            after,
            OpenFiles {
                soft: before.hard,
                hard: before.hard
            }
        );
        assert_eq!(open_files(), after);
    }
}
