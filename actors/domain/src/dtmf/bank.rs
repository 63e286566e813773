//! Eight filters over pieces of 5 ms.

use std::f64::consts::TAU;

use super::window::Key;
use crate::audio::SampleRate;

/// Frequencies of the rows and then of the columns of the keys, in hertz: ITU-T Q.23.
pub(super) const FREQUENCIES: [f64; TONES] = [
    697.0, 770.0, 852.0, 941.0, 1_209.0, 1_336.0, 1_477.0, 1_633.0,
];
/// Frequencies that are listened to.
pub(super) const TONES: usize = 8;
/// Pieces in one second.
const PIECES_PER_SECOND: u32 = 200;
/// Full scale of 16 bits.
const FULL_SCALE: f32 = 32_768.0;

/// A complex number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f32,
    pub(super) im: f32,
}

impl Complex {
    /// The number of magnitude 1 with this angle, in radians.
    pub(super) fn turn(angle: f64) -> Self {
        Self {
            re: angle.cos() as f32,
            im: angle.sin() as f32,
        }
    }

    pub(super) fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }

    pub(super) fn squared(self) -> f32 {
        self.re * self.re + self.im * self.im
    }
}

impl std::ops::Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl std::ops::Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// What was heard in one piece.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Piece {
    /// The mean square of its samples, full scale being 1.
    pub(super) power: f32,
    /// Amplitude and phase of every frequency; the phase is that at its end. A sine of the frequency and with a
    /// mean square of 1 has magnitude 1.
    pub(super) tones: [Complex; TONES],
}

impl Piece {
    /// The power of both tones of a key.
    pub(super) fn power_of(&self, key: Key) -> f32 {
        let [row, column] = key.tones();
        let power = |tone: usize| self.tones.get(tone).map_or(0.0, |tone| tone.squared());
        power(row) + power(column)
    }
}

/// Goertzel's filters for one channel, in the middle of a piece.
#[derive(Debug, Clone)]
pub(super) struct Bank {
    piece_frames: usize,
    frames: usize,
    /// Twice the cosine of the angle from one sample to the next.
    factors: [f32; TONES],
    /// That angle, in radians.
    angles: [f64; TONES],
    newest: [f32; TONES],
    older: [f32; TONES],
    squares: f32,
}

impl Bank {
    pub(super) fn new(rate: SampleRate) -> Self {
        let angles = FREQUENCIES.map(|frequency| TAU * frequency / f64::from(rate.hertz()));
        Self {
            piece_frames: ((rate.hertz() + PIECES_PER_SECOND / 2) / PIECES_PER_SECOND) as usize,
            frames: 0,
            factors: angles.map(|angle| 2.0 * angle.cos() as f32),
            angles,
            newest: [0.0; TONES],
            older: [0.0; TONES],
            squares: 0.0,
        }
    }

    /// Frames of one piece: 5 ms, to the nearest frame.
    pub(super) const fn piece_frames(&self) -> usize {
        self.piece_frames
    }

    /// Frames that the current piece needs, 1 or more.
    pub(super) const fn missing(&self) -> usize {
        self.piece_frames - self.frames
    }

    /// By what angle each frequency turns from one piece to the next, in radians.
    pub(super) fn turns(&self) -> [f64; TONES] {
        self.angles.map(|angle| angle * self.piece_frames as f64)
    }

    /// Takes at most the [`missing`](Self::missing) samples, and gives the piece that they complete.
    pub(super) fn push(&mut self, samples: &[i16]) -> Option<Piece> {
        let (mut newest, mut older, mut squares) = (self.newest, self.older, self.squares);
        for sample in samples {
            let sample = f32::from(*sample) / FULL_SCALE;
            squares += sample * sample;
            for ((newest, older), factor) in newest.iter_mut().zip(&mut older).zip(&self.factors) {
                let next = factor * *newest - *older + sample;
                *older = *newest;
                *newest = next;
            }
        }
        (self.newest, self.older, self.squares) = (newest, older, squares);
        self.frames += samples.len();
        (self.frames == self.piece_frames).then(|| self.take_piece())
    }

    fn take_piece(&mut self) -> Piece {
        let frames = self.piece_frames as f32;
        // A sine with a mean square of 1 has amplitude √2, and every frame adds half of that to the sum.
        let scale = std::f32::consts::SQRT_2 / frames;
        let mut tones = [Complex::default(); TONES];
        let states = self.newest.iter().zip(&self.older).zip(&self.angles);
        for (tone, ((newest, older), angle)) in tones.iter_mut().zip(states) {
            let (sin, cos) = angle.sin_cos();
            *tone = Complex {
                re: scale * (newest - older * cos as f32),
                im: scale * older * sin as f32,
            };
        }
        let power = self.squares / frames;
        (self.newest, self.older) = ([0.0; TONES], [0.0; TONES]);
        (self.squares, self.frames) = (0.0, 0);
        Piece { power, tones }
    }
}
