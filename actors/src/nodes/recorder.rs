//! `recorder`: the call as a WAV file, written while it runs.

use std::any::Any;

use bytes::{Bytes, BytesMut};
use callwright_domain::event::{Event, names};
use callwright_domain::flow::{AudioBlock, Emitter, Hears, Node, NodeFault, NodeSchema};

use super::NodeContext;
use crate::ports::{RecordingFault, RecordingInfo, RecordingSink, Recordings, SavedRecording};

pub(super) const SCHEMA: NodeSchema = NodeSchema {
    name: "recorder",
    help: "Writes the call to a WAV file as it runs; says `Recording Saved` with its path and length.",
    hears: Hears::Bytes,
    settings: &[],
};

/// Audio gathered before it goes to the writer, in milliseconds: a quarter of the second that kill -9 may cost.
const GATHER_MSEC: u64 = 250;

/// The longest gap that is filled with silence, in milliseconds; a disk slower than that has failed.
const LONGEST_GAP_MSEC: u64 = 10_000;

/// Audio that the disk was too slow for.
struct Gap {
    start_frame: u64,
    frames: u64,
}

pub(super) struct Recorder {
    context: NodeContext,
    sink: Option<Box<dyn RecordingSink>>,
    /// Why there is no sink.
    broken: Option<RecordingFault>,
    gathered: BytesMut,
    gather_bytes: usize,
    /// Frames given to the sink or lost so far.
    position: u64,
    gap: Option<Gap>,
    saving: bool,
}

impl Recorder {
    pub(super) fn new(context: NodeContext, recordings: &dyn Recordings) -> Self {
        let begun = recordings.begin(RecordingInfo {
            session: context.session,
            tenant: context.tenant.clone(),
            node: context.node.clone(),
            format: context.format,
        });
        let gather_frames = context.format.rate.frames_in(GATHER_MSEC);
        let (sink, broken) = match begun {
            Ok(sink) => (Some(sink), None),
            Err(fault) => (None, Some(fault)),
        };
        Self {
            gather_bytes: usize::try_from(gather_frames).unwrap_or(0)
                * context.format.frame_bytes(),
            context,
            sink,
            broken,
            gathered: BytesMut::new(),
            position: 0,
            gap: None,
            saving: false,
        }
    }

    fn write(&mut self, out: &mut Emitter) -> Result<(), NodeFault> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let frames = self.frames_of(self.gathered.len());
        let audio = self.after_gap();
        let start_frame = self.position;
        self.position += frames;
        let sink = self
            .sink
            .as_mut()
            .ok_or_else(|| fault(self.broken.as_ref()))?;
        match sink.write(audio) {
            Ok(()) => {
                self.close_gap(out);
                Ok(())
            }
            Err(RecordingFault::Full) => {
                let gap = self.gap.get_or_insert(Gap {
                    start_frame,
                    frames: 0,
                });
                gap.frames += frames;
                if gap.frames > self.context.format.rate.frames_in(LONGEST_GAP_MSEC) {
                    return Err(fault(Some(&RecordingFault::Full)));
                }
                Ok(())
            }
            Err(failed @ RecordingFault::Failed(_)) => Err(fault(Some(&failed))),
        }
    }

    /// What was gathered, behind silence as long as the gap before it, so that places in the file are places in the call.
    fn after_gap(&mut self) -> Bytes {
        let audio = self.gathered.split().freeze();
        let Some(gap) = &self.gap else { return audio };
        let silent = usize::try_from(gap.frames).unwrap_or(0) * self.context.format.frame_bytes();
        let mut filled = BytesMut::with_capacity(silent + audio.len());
        filled.resize(silent, self.context.format.encoding.silence_byte());
        filled.extend_from_slice(&audio);
        filled.freeze()
    }

    fn frames_of(&self, bytes: usize) -> u64 {
        (bytes / self.context.format.frame_bytes().max(1)) as u64
    }

    /// One event for each stretch that was lost, once its end is known.
    fn close_gap(&mut self, out: &mut Emitter) {
        let Some(gap) = self.gap.take() else { return };
        let rate = self.context.format.rate;
        let (start, end) = (
            rate.msec_of(gap.start_frame),
            rate.msec_of(gap.start_frame + gap.frames),
        );
        let event = Event::new(names::AUDIO_DISCARDED)
            .spanning(start, end)
            .with("LengthMsec", end - start)
            .with("Node", self.context.node.as_str())
            .with("Message", RecordingFault::Full.to_string());
        out.event(event);
    }

    fn saved(&self, saved: &SavedRecording) -> Event {
        let format = self.context.format;
        let length = format
            .rate
            .msec_of(saved.audio_bytes / format.frame_bytes().max(1) as u64);
        Event::new(names::RECORDING_SAVED)
            .spanning(0, length)
            .with("Path", saved.path.display().to_string())
            .with("LengthMsec", length)
            .with("Node", self.context.node.as_str())
    }
}

/// A session that ends at once does not ask its nodes to finish: what is gathered still belongs into the file.
impl Drop for Recorder {
    fn drop(&mut self) {
        let audio = self.after_gap();
        if let Some(sink) = &mut self.sink
            && !audio.is_empty()
        {
            // The recording ends here: a fault can be told to nobody any more, and the writer logs its own.
            let _ = sink.write(audio);
        }
    }
}

fn fault(cause: Option<&RecordingFault>) -> NodeFault {
    let text = cause.map_or_else(|| "the recording is closed".to_owned(), ToString::to_string);
    NodeFault(text)
}

impl Node for Recorder {
    fn audio(&mut self, audio: &AudioBlock<'_>, out: &mut Emitter) -> Result<(), NodeFault> {
        self.gathered.extend_from_slice(audio.bytes);
        if self.gathered.len() >= self.gather_bytes {
            self.write(out)
        } else {
            Ok(())
        }
    }

    fn signal(&mut self, result: Box<dyn Any + Send>, out: &mut Emitter) -> Result<(), NodeFault> {
        self.saving = false;
        match result
            .downcast::<Result<SavedRecording, RecordingFault>>()
            .map(|result| *result)
        {
            Ok(Ok(saved)) => {
                out.event(self.saved(&saved));
                Ok(())
            }
            Ok(Err(failed)) => Err(fault(Some(&failed))),
            Err(_) => Err(NodeFault(
                "an answer came that the recorder did not ask for".to_owned(),
            )),
        }
    }

    fn finish(&mut self, out: &mut Emitter) -> Result<(), NodeFault> {
        self.write(out)?;
        self.close_gap(out);
        let sink = self
            .sink
            .take()
            .ok_or_else(|| fault(self.broken.as_ref()))?;
        let signals = self.context.signals.clone();
        self.saving = true;
        sink.finish(Box::new(move |result| signals.send(result)));
        Ok(())
    }

    fn busy(&self) -> bool {
        self.saving
    }

    fn doing(&self) -> &'static str {
        if self.sink.is_some() {
            "recording"
        } else {
            "not recording"
        }
    }
}
