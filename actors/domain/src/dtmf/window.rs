//! Whether 30 ms of audio are a digit.
//!
//! - Loud enough: above -43 dBFS altogether (0 dBFS being a full-scale square wave), and either tone above -50.
//! - Steady: no piece of 5 ms is more than 7 dB below the loudest. A shorter tone leaves pieces silent.
//! - Pure: the two tones make four fifths of the power, or more. Speech and music have more partials.
//! - In tune: either frequency is within 2 % (Q.24 accepts 1.5 % and refuses 3.5 %), measured by how
//!   far its phase turns from piece to piece.
//! - In balance: the column is at most 10 dB weaker than the row and 6 dB stronger (telephone lines lose the
//!   higher tones; 8 and 4 dB must be accepted).

use super::bank::{Bank, Complex, Piece, TONES};

/// Pieces in a window: 30 ms. Long enough to tell neighbouring frequencies, 73 Hz apart, from each other.
pub(super) const WINDOW: usize = 6;
/// Rows, and columns, of the keys.
const ROWS: usize = 4;
const KEYS: [[char; ROWS]; ROWS] = [
    ['1', '2', '3', 'A'],
    ['4', '5', '6', 'B'],
    ['7', '8', '9', 'C'],
    ['*', '0', '#', 'D'],
];

/// -43 dBFS, as a mean square.
const LEAST_POWER: f32 = 5e-5;
/// -50 dBFS: the weaker tone of the quietest digit may be 9 dB below both together.
const LEAST_TONE_POWER: f32 = 1e-5;
const STEADY: f32 = 0.2;
const PURE: f32 = 0.8;
/// The frequencies of several keys are nearly an octave apart: by a factor of 1.917. Either may be off by this much
/// without the two making a true octave, which music and voices are full of.
const IN_TUNE: f64 = 0.02;
/// The column's power relative to the row's: -10 to 6 dB.
const BALANCE: std::ops::RangeInclusive<f32> = 0.1..=4.0;

/// A key, as row and column from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    row: usize,
    column: usize,
}

impl Key {
    /// The character on the key.
    pub(super) fn digit(self) -> char {
        KEYS.get(self.row)
            .and_then(|row| row.get(self.column))
            .copied()
            .unwrap_or_default()
    }

    /// The two tones, as positions among the frequencies.
    pub(super) const fn tones(self) -> [usize; 2] {
        [self.row, ROWS + self.column]
    }
}

/// The last six pieces.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pieces: [Piece; WINDOW],
    /// By what angle every frequency turns during one piece, in radians.
    turns: [f64; TONES],
    /// What undoes that turn.
    back: [Complex; TONES],
}

impl Window {
    pub(super) fn new(bank: &Bank) -> Self {
        let turns = bank.turns();
        Self {
            pieces: [Piece::default(); WINDOW],
            turns,
            back: turns.map(|turn| Complex::turn(-turn)),
        }
    }

    /// Takes the next piece in, and the oldest out.
    pub(super) fn push(&mut self, piece: Piece) {
        self.pieces.rotate_left(1);
        if let Some(newest) = self.pieces.last_mut() {
            *newest = piece;
        }
    }

    /// The mean square of all samples, full scale being 1.
    pub(super) fn mean_power(&self) -> f32 {
        self.pieces.iter().map(|piece| piece.power).sum::<f32>() / WINDOW as f32
    }

    /// The key that was held down all through the window.
    pub(super) fn key(&self) -> Option<Key> {
        let power = self.mean_power();
        if power < LEAST_POWER || !self.is_steady() {
            return None;
        }
        let powers: [f32; TONES] = std::array::from_fn(|tone| total(self.unturned(tone)).squared());
        let (rows, columns) = powers.split_at(ROWS);
        let key = Key {
            row: strongest(rows),
            column: strongest(columns),
        };
        let [row, column] = key.tones().map(|tone| self.power_in_tune(tone));
        let (row, column) = (row?, column?);
        let clear = row + column >= PURE * power && row.min(column) >= LEAST_TONE_POWER;
        (clear && BALANCE.contains(&(column / row))).then_some(key)
    }

    fn is_steady(&self) -> bool {
        let powers = self.pieces.iter().map(|piece| piece.power);
        let loudest = powers.clone().fold(0.0, f32::max);
        powers.fold(f32::INFINITY, f32::min) >= STEADY * loudest
    }

    /// What was heard of one tone, piece by piece, as if its exact frequency did not turn.
    fn unturned(&self, tone: usize) -> [Complex; WINDOW] {
        let back = self.back.get(tone).copied().unwrap_or_default();
        let mut turn = Complex { re: 1.0, im: 0.0 };
        self.pieces.map(|piece| {
            let heard = piece.tones.get(tone).copied().unwrap_or_default() * turn;
            turn = turn * back;
            heard
        })
    }

    /// The power of a tone near `tone`, unless its frequency is too far away.
    fn power_in_tune(&self, tone: usize) -> Option<f32> {
        let heard = self.unturned(tone);
        let astray = turn_between(&heard);
        if astray.abs() > IN_TUNE * self.turns.get(tone)? {
            return None;
        }
        let back = Complex::turn(-astray);
        let mut turn = Complex { re: 1.0, im: 0.0 };
        let in_phase = heard.map(|heard| {
            let heard = heard * turn;
            turn = turn * back;
            heard
        });
        Some(total(in_phase).squared() / (WINDOW * WINDOW) as f32)
    }
}

/// By how much a tone turns from piece to piece, in radians.
///
/// Every two neighbours are added first: 10 ms keep the row and the column better apart than 5 do.
fn turn_between(heard: &[Complex; WINDOW]) -> f64 {
    let turns = heard
        .array_windows()
        .map(|[one, two, three]| (*two + *three) * (*one + *two).conjugate());
    let Complex { re, im } = turns.fold(Complex::default(), |sum, turn| sum + turn);
    f64::from(im).atan2(f64::from(re))
}

fn total(heard: [Complex; WINDOW]) -> Complex {
    heard
        .into_iter()
        .fold(Complex::default(), |sum, piece| sum + piece)
}

fn strongest(powers: &[f32]) -> usize {
    let positions = powers
        .iter()
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(other.1));
    positions.map_or(0, |(position, _)| position)
}
