//! Recordings on disk: one writer thread for all of them, so that no call ever waits for the disk.
//!
//! A file is a valid WAV from its first quarter of a second on: the head is written anew behind every piece of audio, so
//! that a process that is killed leaves whole files. `<folder>/<tenant>/<date>/<session>-<node>.wav`.

mod writer;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use callwright_actors::ports::{
    RecordingDone, RecordingFault, RecordingInfo, RecordingSink, Recordings,
};
use chrono::Utc;

/// Recordings below one folder.
pub struct Folder {
    folder: PathBuf,
    queue: SyncSender<Order>,
    writer: Mutex<Option<JoinHandle<()>>>,
    stop: Arc<AtomicBool>,
    backlog: Arc<Backlog>,
}

/// Notes that may wait for the writer; audio is bounded by its bytes, and this is a good deal more than that allows in
/// pieces of a quarter of a second of 8 kHz G.711.
const ORDER_QUEUE: usize = 16_384;

/// Bytes of audio that wait for the writer.
struct Backlog {
    waiting: AtomicUsize,
    most: usize,
}

impl Backlog {
    fn take(&self, bytes: usize) -> Result<(), RecordingFault> {
        if self
            .waiting
            .fetch_add(bytes, Ordering::AcqRel)
            .saturating_add(bytes)
            > self.most
        {
            self.give_back(bytes);
            return Err(RecordingFault::Full);
        }
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// What the writer is told.
enum Order {
    Begin {
        file: Arc<FileState>,
        path: PathBuf,
        info: RecordingInfo,
    },
    Write {
        file: Arc<FileState>,
        audio: Bytes,
    },
    /// Something else changed: look at the files.
    Look,
}

/// What sink and writer share of one file.
#[derive(Default)]
struct FileState {
    /// Unique within this process.
    number: u64,
    /// Pieces that the sink has sent.
    sent: AtomicU64,
    /// No more pieces come.
    closed: AtomicBool,
    done: Mutex<Option<RecordingDone>>,
    failed: OnceLock<String>,
}

impl Folder {
    /// Makes the folder where it is not there, and starts the writer with room for `queue_bytes` of audio.
    ///
    /// # Errors
    /// The folder cannot be made, or the thread cannot be started.
    pub fn open(folder: PathBuf, queue_bytes: usize) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        let (sender, receiver) = sync_channel(ORDER_QUEUE);
        let backlog = Arc::new(Backlog {
            waiting: AtomicUsize::new(0),
            most: queue_bytes,
        });
        let taken = Arc::clone(&backlog);
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let writer = std::thread::Builder::new()
            .name("recordings".to_owned())
            .spawn(move || writer::run(&receiver, &stopping, &taken))?;
        Ok(Self {
            folder,
            queue: sender,
            writer: Mutex::new(Some(writer)),
            stop,
            backlog,
        })
    }

    /// Writes what is queued, closes every file, and ends the writer. Blocks until that is done.
    pub fn close(&self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.queue.try_send(Order::Look);
        let writer = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::error!("the recordings' writer had failed");
        }
    }
}

impl Recordings for Folder {
    fn begin(&self, info: RecordingInfo) -> Result<Box<dyn RecordingSink>, RecordingFault> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let day = Utc::now().format("%Y-%m-%d").to_string();
        let name = format!("{}-{}.wav", info.session, info.node);
        let path = self.folder.join(info.tenant.as_str()).join(day).join(name);
        let file = Arc::new(FileState {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            ..FileState::default()
        });
        let order = Order::Begin {
            file: Arc::clone(&file),
            path,
            info,
        };
        self.queue.try_send(order).map_err(refused)?;
        Ok(Box::new(Sink {
            file,
            queue: self.queue.clone(),
            backlog: Arc::clone(&self.backlog),
        }))
    }
}

fn refused(fault: TrySendError<Order>) -> RecordingFault {
    match fault {
        TrySendError::Full(_) => RecordingFault::Full,
        TrySendError::Disconnected(_) => RecordingFault::Failed("the writer has ended".to_owned()),
    }
}

struct Sink {
    file: Arc<FileState>,
    queue: SyncSender<Order>,
    backlog: Arc<Backlog>,
}

impl RecordingSink for Sink {
    fn write(&mut self, audio: Bytes) -> Result<(), RecordingFault> {
        if let Some(reason) = self.file.failed.get() {
            return Err(RecordingFault::Failed(reason.clone()));
        }
        let bytes = audio.len();
        self.backlog.take(bytes)?;
        let order = Order::Write {
            file: Arc::clone(&self.file),
            audio,
        };
        self.queue.try_send(order).map_err(|fault| {
            self.backlog.give_back(bytes);
            refused(fault)
        })?;
        self.file.sent.fetch_add(1, Ordering::Release);
        Ok(())
    }

    fn finish(self: Box<Self>, done: RecordingDone) {
        *self
            .file
            .done
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(done);
        // Dropping the sink closes the file.
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.file.closed.store(true, Ordering::Release);
        // A full queue is as good: the writer looks at the files now and then in any case.
        let _ = self.queue.try_send(Order::Look);
    }
}

#[cfg(test)]
mod tests;
