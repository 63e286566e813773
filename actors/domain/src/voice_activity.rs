//! Who speaks when: the utterances of one channel, with exact positions.
//!
//! The channel is brought to 16 000 Hz and cut into blocks of 16 ms. A small neural network (earshot) scores
//! each, the judge turns scores into verdicts, and the segmenter turns verdicts into utterances. Positions
//! are given in frames of the channel's own rate, with the resampler's delay taken off.
//!
//! At the default sensitivity neither silence, nor white noise, nor tones (one or two sines, as dialling, ringing and
//! DTMF are) begin an utterance. What does, besides speech: pink noise of -40 dBFS and louder that begins
//! suddenly, as wind and traffic do, for as long as it lasts, and music.

mod judge;
mod lanes;
mod noise_floor;
mod segmenter;
mod tones;

pub use segmenter::EndReason;

use earshot::Detector;

use crate::audio::SampleRate;
use crate::audio::resample::{OUTPUT_RATE, To16k};
use judge::{BLOCK, Bounds, Judge};
use segmenter::{Edge, Limits, Segmenter};

/// Length of one block, in milliseconds: the grain of all durations here.
const BLOCK_MSEC: u32 = BLOCK as u32 * 1_000 / OUTPUT_RATE;
/// Frames that are resampled at once, which bounds the room that a large chunk needs.
const SLICE_FRAMES: usize = 512;

/// How much is held before it is worked on, in milliseconds: two blocks. The detector's weights and state leave the caches
/// between the chunks of a call, hundreds of other calls later; two blocks in one go pay for that once.
const HOLD_MSEC: u64 = 2 * BLOCK_MSEC as u64;

/// When an utterance begins and ends. Durations are rounded to blocks of 16 ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// 0 to 1: the higher, the quieter and the less certain the speech that counts. From 0 (a score of 0.9 and
    /// -45 dBFS) to 1 (0.3 and -75 dBFS).
    pub sensitivity: f32,
    /// How much speech begins an utterance, in milliseconds. Rounded up.
    pub speech_trigger_msec: u32,
    /// How much silence ends it, in milliseconds. Rounded up.
    pub silence_trigger_msec: u32,
    /// The longest utterance, in milliseconds, 0 for no limit. Rounded down, but to 16 at least.
    pub maximum_speech_msec: u32,
}

impl Default for Settings {
    /// Sensitivity 0.5, 64 ms of speech begin, 500 ms of silence end, 60 s at most.
    fn default() -> Self {
        Self {
            sensitivity: 0.5,
            speech_trigger_msec: 64,
            silence_trigger_msec: 500,
            maximum_speech_msec: 60_000,
        }
    }
}

impl Settings {
    fn limits(self) -> Limits {
        let blocks = |msec: u32| u64::from(msec.div_ceil(BLOCK_MSEC).max(1));
        let longest = u64::from((self.maximum_speech_msec / BLOCK_MSEC).max(1));
        Limits {
            speech: blocks(self.speech_trigger_msec),
            silence: blocks(self.silence_trigger_msec),
            longest: (self.maximum_speech_msec > 0).then_some(longest),
        }
    }
}

/// An utterance began or ended. Positions are frames of the channel's rate since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Somebody began to speak.
    Started {
        /// The first frame of the utterance; it lies in the past, by what it takes to be sure.
        start_frame: u64,
    },
    /// The utterance that began last has ended.
    Ended {
        /// Its first frame, as it was told when it began.
        start_frame: u64,
        /// The frame after its last.
        end_frame: u64,
        /// Why it ended.
        reason: EndReason,
    },
}

/// Finds the utterances of one mono channel. About 12 KiB, and 10 more at rates other than 8 000 and 16 000 Hz.
pub struct VoiceActivity {
    rate: SampleRate,
    resampler: To16k,
    /// Samples as they came, fewer than [`HOLD_MSEC`] of them.
    held: Vec<i16>,
    /// How many samples are held before they are worked on.
    hold: usize,
    /// Samples at 16 000 Hz that do not fill a block yet.
    waiting: Vec<i16>,
    detector: Box<Detector>,
    judge: Judge,
    segmenter: Segmenter,
    edges: Vec<Edge>,
    /// Frames that came in.
    frames: u64,
    /// Where the current or the last utterance began.
    start_frame: u64,
}

impl VoiceActivity {
    /// A detector that has heard nothing yet.
    #[must_use]
    pub fn new(rate: SampleRate, settings: Settings) -> Self {
        Self {
            rate,
            resampler: To16k::new(rate),
            held: Vec::new(),
            hold: usize::try_from(rate.frames_in(HOLD_MSEC))
                .unwrap_or(1)
                .max(1),
            waiting: Vec::new(),
            detector: Detector::default_boxed(),
            judge: Judge::new(Bounds::new(settings.sensitivity)),
            segmenter: Segmenter::new(settings.limits()),
            edges: Vec::new(),
            frames: 0,
            start_frame: 0,
        }
    }

    /// Changes the settings from the next block on; an utterance that has begun goes on.
    pub fn set(&mut self, settings: Settings) {
        self.judge.set(Bounds::new(settings.sensitivity));
        self.segmenter.set(settings.limits());
    }

    /// Takes the next samples of the channel and appends the changes that they settle to `out`, in order.
    pub fn push(&mut self, mono: &[i16], out: &mut Vec<Change>) {
        self.frames += mono.len() as u64;
        if self.held.is_empty() && mono.len() >= self.hold {
            return self.work(mono, out);
        }
        self.held.extend_from_slice(mono);
        if self.held.len() >= self.hold {
            self.work_held(out);
        }
    }

    /// Ends the utterance that the audio ends in, if there is one.
    pub fn finish(&mut self, out: &mut Vec<Change>) {
        self.work_held(out);
        self.segmenter.finish(&mut self.edges);
        self.report(out);
    }

    fn work_held(&mut self, out: &mut Vec<Change>) {
        let mut held = std::mem::take(&mut self.held);
        self.work(&held, out);
        held.clear();
        self.held = held;
    }

    fn work(&mut self, mono: &[i16], out: &mut Vec<Change>) {
        for slice in mono.chunks(SLICE_FRAMES) {
            self.resampler.push(slice, &mut self.waiting);
            self.judge_waiting();
            self.report(out);
        }
    }

    fn judge_waiting(&mut self) {
        let (blocks, rest) = self.waiting.as_chunks::<BLOCK>();
        for block in blocks {
            let score = self.detector.predict_i16(block);
            let verdict = self.judge.judge(block, score);
            self.segmenter.push(verdict, &mut self.edges);
        }
        let taken = self.waiting.len() - rest.len();
        self.waiting.drain(..taken);
    }

    fn report(&mut self, out: &mut Vec<Change>) {
        let mut edges = std::mem::take(&mut self.edges);
        for edge in edges.drain(..) {
            let change = match edge {
                Edge::Start(block) => {
                    self.start_frame = self.frame_of(block);
                    Change::Started {
                        start_frame: self.start_frame,
                    }
                }
                Edge::End(block, reason) => Change::Ended {
                    start_frame: self.start_frame,
                    end_frame: self.frame_of(block),
                    reason,
                },
            };
            out.push(change);
        }
        self.edges = edges;
    }

    /// The frame of the channel's own rate that was heard at the beginning of `block`.
    fn frame_of(&self, block: u64) -> u64 {
        let at_16k =
            (block * BLOCK as u64).saturating_sub(u64::from(self.resampler.delay_frames()));
        (at_16k * u64::from(self.rate.hertz()) / u64::from(OUTPUT_RATE)).min(self.frames)
    }
}

impl std::fmt::Debug for VoiceActivity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VoiceActivity")
            .field("rate", &self.rate)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
