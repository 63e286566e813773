//! Keys pressed on a telephone: pairs of tones, as ITU-T Q.23 defines them.
//!
//! Audio is measured in pieces of 5 ms by Goertzel's algorithm, one filter for each of the eight frequencies.
//! Six pieces make a window, which either holds a digit or does not; two windows with the same digit, one piece
//! apart, begin it. So a tone needs seven pieces at least: 40 ms always begin a digit, 20 ms never do. What
//! a window must fulfil keeps within ITU-T Q.24. Once it has begun, a digit lasts while its tones do;
//! gaps of up to 25 ms are part of it.

mod bank;
mod window;

use crate::audio::SampleRate;
use bank::{Bank, Piece};
use window::{Key, WINDOW, Window};

/// Pieces without its tones that end a digit: 30 ms. A drop-out of 15 ms touches four pieces, a pause of 40 ms
/// leaves seven whole ones without tones.
const PAUSE: u64 = 6;
/// Windows with the same digit in a row that begin it.
const WINDOWS: u64 = 2;
/// The part of the power with which a digit began that a piece must have for the digit to go on: 6 dB less.
const STILL_LOUD: f32 = 0.25;
/// The part of the power of a piece that the two tones must make for the digit to go on. Less than in a window,
/// as in 5 ms the tones cannot be told well from each other.
const STILL_PURE: f32 = 0.5;

/// A key that was pressed. Positions are frames of the channel's rate since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tone {
    /// `0` to `9`, `*`, `#`, or `A` to `D`.
    pub digit: char,
    /// The first frame of the tone, within 15 ms.
    pub start_frame: u64,
    /// The frame after its last, within 15 ms.
    pub end_frame: u64,
}

/// Finds the keys pressed on one mono channel. Less than 1 KiB.
#[derive(Debug, Clone)]
pub struct Detector {
    bank: Bank,
    window: Window,
    /// Pieces seen.
    pieces: u64,
    /// The key that the last windows held, and the number of those windows.
    candidate: Option<(Key, u64)>,
    current: Option<Digit>,
}

/// A digit that has begun.
#[derive(Debug, Clone, Copy)]
struct Digit {
    key: Key,
    /// The piece that it begins with.
    start: u64,
    /// The piece after the last with its tones.
    end: u64,
    /// The power of a piece when it began.
    power: f32,
}

impl Detector {
    /// A detector that has heard nothing yet.
    #[must_use]
    pub fn new(rate: SampleRate) -> Self {
        let bank = Bank::new(rate);
        let window = Window::new(&bank);
        Self {
            bank,
            window,
            pieces: 0,
            candidate: None,
            current: None,
        }
    }

    /// Takes the next samples of the channel and appends the tones that have ended to `out`, in order.
    pub fn push(&mut self, mut mono: &[i16], out: &mut Vec<Tone>) {
        while !mono.is_empty() {
            let (taken, rest) = mono.split_at(self.bank.missing().min(mono.len()));
            if let Some(piece) = self.bank.push(taken) {
                self.listen(piece, out);
            }
            mono = rest;
        }
    }

    /// Appends the tone that the audio ends in, if there is one.
    pub fn finish(&mut self, out: &mut Vec<Tone>) {
        self.end_current(out);
        self.candidate = None;
    }

    fn listen(&mut self, piece: Piece, out: &mut Vec<Tone>) {
        self.pieces += 1;
        self.window.push(piece);
        self.go_on(&piece, out);
        let key = self.window.key();
        self.candidate = match (key, self.candidate) {
            (Some(key), Some((same, windows))) if key == same => Some((key, windows + 1)),
            (Some(key), _) => Some((key, 1)),
            (None, _) => None,
        };
        if let Some((key, WINDOWS)) = self.candidate {
            self.begin(key, out);
        }
    }

    /// Holds the new piece against the current digit, which may end with it.
    fn go_on(&mut self, piece: &Piece, out: &mut Vec<Tone>) {
        let Some(digit) = &mut self.current else {
            return;
        };
        let pure = piece.power_of(digit.key) >= STILL_PURE * piece.power;
        if pure && piece.power >= STILL_LOUD * digit.power {
            digit.end = self.pieces;
        } else if self.pieces - digit.end >= PAUSE {
            self.end_current(out);
        }
    }

    fn begin(&mut self, key: Key, out: &mut Vec<Tone>) {
        if self.current.is_some_and(|digit| digit.key == key) {
            return;
        }
        let free_from = self.current.map_or(0, |digit| digit.end);
        self.end_current(out);
        let start = (self.pieces - (WINDOW as u64 + WINDOWS - 1)).max(free_from);
        self.current = Some(Digit {
            key,
            start,
            end: self.pieces,
            power: self.window.mean_power(),
        });
    }

    fn end_current(&mut self, out: &mut Vec<Tone>) {
        if let Some(digit) = self.current.take() {
            let frames = self.bank.piece_frames() as u64;
            let tone = Tone {
                digit: digit.key.digit(),
                start_frame: digit.start * frames,
                end_frame: digit.end * frames,
            };
            out.push(tone);
        }
    }
}

#[cfg(test)]
mod tests;
