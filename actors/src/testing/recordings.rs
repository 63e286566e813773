//! Recordings in memory, with a disk that can be slow, broken or silent.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use crate::ports::{
    RecordingDone, RecordingFault, RecordingInfo, RecordingSink, Recordings, SavedRecording,
};

#[derive(Default)]
struct Disk {
    recorded: Vec<Vec<u8>>,
    infos: Vec<RecordingInfo>,
    fault: Option<RecordingFault>,
    silent: bool,
    waiting: Vec<RecordingDone>,
}

/// Every recording, in the order of beginning.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Disk>>);

impl Memory {
    pub(crate) fn port(&self) -> Arc<dyn Recordings> {
        Arc::new(self.clone())
    }

    /// Every begin and write fails so from now on; nothing lets them succeed again.
    pub(crate) fn fail(&self, fault: impl Into<Option<RecordingFault>>) {
        self.lock().fault = fault.into();
    }

    /// Recordings that finish are never said to be saved.
    pub(crate) fn fall_silent(&self) {
        self.lock().silent = true;
    }

    pub(crate) fn audio(&self, number: usize) -> Vec<u8> {
        self.lock().recorded[number].clone()
    }

    pub(crate) fn info(&self, number: usize) -> RecordingInfo {
        self.lock().infos[number].clone()
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }
}

struct Sink {
    disk: Memory,
    number: usize,
}

impl Recordings for Memory {
    fn begin(&self, info: RecordingInfo) -> Result<Box<dyn RecordingSink>, RecordingFault> {
        let mut disk = self.lock();
        if let Some(fault) = &disk.fault {
            return Err(fault.clone());
        }
        disk.infos.push(info);
        disk.recorded.push(Vec::new());
        Ok(Box::new(Sink {
            disk: self.clone(),
            number: disk.recorded.len() - 1,
        }))
    }
}

impl RecordingSink for Sink {
    fn write(&mut self, audio: Bytes) -> Result<(), RecordingFault> {
        let mut disk = self.disk.lock();
        if let Some(fault) = &disk.fault {
            return Err(fault.clone());
        }
        disk.recorded[self.number].extend_from_slice(&audio);
        Ok(())
    }

    fn finish(self: Box<Self>, done: RecordingDone) {
        let mut disk = self.disk.lock();
        if disk.silent {
            disk.waiting.push(done);
            return;
        }
        let saved = SavedRecording {
            path: format!("/memory/{}.wav", self.number).into(),
            audio_bytes: disk.recorded[self.number].len() as u64,
        };
        drop(disk);
        done(Ok(saved));
    }
}
