//! The writer: takes pieces of audio in order and keeps every file whole.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use callwright_actors::ports::{RecordingFault, SavedRecording};
use callwright_domain::audio::{AudioFormat, wav};

use super::{Backlog, FileState, Order};

/// How often files are looked at when nothing comes; a file whose last note was lost waits as long to be closed.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// What people say on the telephone is not for everyone who has an account on the machine.
const MODE: u32 = 0o640;

struct Open {
    state: Arc<FileState>,
    file: Option<File>,
    path: PathBuf,
    format: AudioFormat,
    /// Bytes of audio written.
    written: u64,
    /// Pieces taken from the queue.
    taken: u64,
}

/// Writes until `stop` is set and nothing is queued, then closes what is open.
pub(super) fn run(queue: &Receiver<Order>, stop: &AtomicBool, backlog: &Backlog) {
    let mut files: HashMap<u64, Open> = HashMap::new();
    loop {
        match queue.recv_timeout(LOOK_INTERVAL) {
            Ok(Order::Begin { file, path, info }) => {
                files.insert(file.number, Open::create(file, path, info.format));
            }
            Ok(Order::Write { file, audio }) => {
                backlog.give_back(audio.len());
                if let Some(open) = files.get_mut(&file.number) {
                    open.write(&audio);
                    close_if_complete(&mut files, file.number);
                }
            }
            Ok(Order::Look) => close_complete(&mut files),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Acquire) => break,
            Err(RecvTimeoutError::Timeout) => close_complete(&mut files),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    for (_, open) in files.drain() {
        open.close();
    }
}

fn close_complete(files: &mut HashMap<u64, Open>) {
    let complete: Vec<u64> = files
        .iter()
        .filter(|(_, open)| open.is_complete())
        .map(|(number, _)| *number)
        .collect();
    for number in complete {
        if let Some(open) = files.remove(&number) {
            open.close();
        }
    }
}

fn close_if_complete(files: &mut HashMap<u64, Open>, number: u64) {
    if files.get(&number).is_some_and(Open::is_complete)
        && let Some(open) = files.remove(&number)
    {
        open.close();
    }
}

impl Open {
    fn create(state: Arc<FileState>, path: PathBuf, format: AudioFormat) -> Self {
        let mut open = Self {
            state,
            file: None,
            path,
            format,
            written: 0,
            taken: 0,
        };
        match open.open_file() {
            Ok(file) => open.file = Some(file),
            Err(fault) => open.fail(&fault),
        }
        open
    }

    fn open_file(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(&self.path)?;
        file.write_all_at(&wav::header(self.format, 0), 0)?;
        Ok(file)
    }

    fn write(&mut self, audio: &[u8]) {
        self.taken += 1;
        let Some(file) = &self.file else { return };
        let at = wav::header_bytes(self.format.encoding) as u64 + self.written;
        let total = self.written + audio.len() as u64;
        let written = match u32::try_from(total)
            .ok()
            .filter(|total| *total <= wav::LARGEST_DATA)
        {
            None => Err(io::Error::other(
                "it reached the largest size of a WAV file",
            )),
            // Audio before head: a head never promises what is not there.
            Some(length) => file
                .write_all_at(audio, at)
                .and_then(|()| file.write_all_at(&wav::header(self.format, length), 0)),
        };
        match written {
            Ok(()) => self.written = total,
            Err(fault) => self.fail(&fault),
        }
    }

    /// A chunk of a WAV file has an even length; the head does not count the byte that makes it so.
    fn pad(&mut self) {
        let end = wav::header_bytes(self.format.encoding) as u64 + self.written;
        if self.written % 2 == 1
            && let Some(file) = &self.file
            && let Err(fault) = file.write_all_at(&[0], end)
        {
            self.fail(&fault);
        }
    }

    fn fail(&mut self, fault: &io::Error) {
        tracing::error!(path = %self.path.display(), %fault, "a recording failed");
        let _ = self.state.failed.set(fault.to_string());
        self.file = None;
    }

    fn is_complete(&self) -> bool {
        self.state.closed.load(Ordering::Acquire)
            && self.taken >= self.state.sent.load(Ordering::Acquire)
    }

    /// Not synced: what was written survives the process, and waiting for the disk here would hold up every other call.
    fn close(mut self) {
        self.pad();
        // Closed before anybody is told that it is.
        self.file = None;
        let done = self
            .state
            .done
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(done) = done {
            done(match self.state.failed.get() {
                None => Ok(SavedRecording {
                    path: self.path.clone(),
                    audio_bytes: self.written,
                }),
                Some(reason) => Err(RecordingFault::Failed(reason.clone())),
            });
        }
    }
}

#[cfg(test)]
mod tests;
