//! G.711 companding: one byte a sample, logarithmic, as telephone lines carry it.
//!
//! Decoding gives 16-bit samples. Encoding rounds to the resolution that the law has (14 bits for
//! μ-law, 13 for A-law) before it looks the code up, so that the error is at most half a step and half
//! a unit of that rounding. Both follow ITU-T G.711 (11/1988), tables 1 and 2, and agree with sox for
//! every code and every sample.

/// Bits of a sample that μ-law can tell apart.
const ULAW_BITS: u32 = 14;
/// Bits of a sample that A-law can tell apart.
const ALAW_BITS: u32 = 13;
/// μ-law adds this to a 14-bit magnitude, so that every segment starts at a power of two.
const ULAW_BIAS: i32 = 33;
/// The largest 14-bit magnitude that still has a μ-law code of its own.
const ULAW_CLIP: i32 = 8_158;
/// μ-law codes travel inverted, so that silence is full of ones and a line keeps its clock.
const ULAW_INVERSION: u8 = 0xFF;
/// A-law codes travel with every even bit inverted, for the same reason.
const ALAW_INVERSION: u8 = 0x55;

static ULAW_DECODED: [i16; 256] = ulaw_samples();
static ALAW_DECODED: [i16; 256] = alaw_samples();
static ULAW_ENCODED: [u8; 1 << ULAW_BITS] = ulaw_codes();
static ALAW_ENCODED: [u8; 1 << ALAW_BITS] = alaw_codes();

/// Expands one μ-law code to a 16-bit sample, -32 124 to 32 124.
#[must_use]
#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "a byte cannot exceed the 256 entries"
)]
pub fn ulaw_decode(code: u8) -> i16 {
    ULAW_DECODED[code as usize]
}

/// Expands one A-law code to a 16-bit sample, -32 256 to 32 256.
#[must_use]
#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "a byte cannot exceed the 256 entries"
)]
pub fn alaw_decode(code: u8) -> i16 {
    ALAW_DECODED[code as usize]
}

/// Compresses one 16-bit sample to its nearest μ-law code.
#[must_use]
#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "14 bits cannot exceed the 16 384 entries"
)]
pub fn ulaw_encode(sample: i16) -> u8 {
    ULAW_ENCODED[rounded(sample, ULAW_BITS)]
}

/// Compresses one 16-bit sample to its nearest A-law code.
#[must_use]
#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "13 bits cannot exceed the 8 192 entries"
)]
pub fn alaw_encode(sample: i16) -> u8 {
    ALAW_ENCODED[rounded(sample, ALAW_BITS)]
}

/// The sample rounded to `bits` bits, counted up from the most negative: an index into an encoding table.
const fn rounded(sample: i16, bits: u32) -> usize {
    let shift = 16 - bits;
    let value = (sample as i32 + (1 << (shift - 1))) >> shift;
    let most = (1 << (bits - 1)) - 1;
    let value = if value > most { most } else { value };
    (value + most + 1) as usize
}

const fn expand_ulaw(code: u8) -> i16 {
    let bits = code ^ ULAW_INVERSION;
    let segment = (bits >> 4) & 7;
    let step = (bits & 15) as i32;
    let magnitude = (((2 * step + ULAW_BIAS) << segment) - ULAW_BIAS) << 2;
    (if bits & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }) as i16
}

const fn expand_alaw(code: u8) -> i16 {
    let bits = code ^ ALAW_INVERSION;
    let segment = (bits >> 4) & 7;
    let step = 2 * (bits & 15) as i32 + 1;
    let magnitude = match segment {
        0 => step << 3,
        _ => (step + 32) << (segment + 2),
    };
    (if bits & 0x80 == 0 {
        -magnitude
    } else {
        magnitude
    }) as i16
}

/// The code of a 14-bit value.
const fn compress_ulaw(value: i32) -> u8 {
    let clipped = if value.abs() > ULAW_CLIP {
        ULAW_CLIP
    } else {
        value.abs()
    };
    let biased = clipped + ULAW_BIAS;
    let segment = biased.ilog2() - 5;
    let step = (biased >> (segment + 1)) & 15;
    let sign = if value < 0 { 0x80 } else { 0 };
    (sign | (segment as u8) << 4 | step as u8) ^ ULAW_INVERSION
}

/// The code of a 13-bit value.
const fn compress_alaw(value: i32) -> u8 {
    // The negative half is the one's complement of the positive: -1 lies in the innermost step, as 0 does.
    let magnitude = if value < 0 { -value - 1 } else { value };
    let segment = if magnitude < 32 {
        0
    } else {
        magnitude.ilog2() - 4
    };
    let step = (magnitude >> if segment == 0 { 1 } else { segment }) & 15;
    let sign = if value < 0 { 0 } else { 0x80 };
    (sign | (segment as u8) << 4 | step as u8) ^ ALAW_INVERSION
}

/// Writes a `const fn` that fills a table from a function of the index.
macro_rules! tabulated {
    ($name:ident, [$entry:ty; $length:expr], $at:ident => $value:expr) => {
        #[expect(
            clippy::indexing_slicing,
            reason = "the loop ends at the table's length"
        )]
        const fn $name() -> [$entry; $length] {
            let mut table = [0; $length];
            let mut $at = 0;
            while $at < table.len() {
                table[$at] = $value;
                $at += 1;
            }
            table
        }
    };
}

tabulated!(ulaw_samples, [i16; 256], at => expand_ulaw(at as u8));
tabulated!(alaw_samples, [i16; 256], at => expand_alaw(at as u8));
tabulated!(ulaw_codes, [u8; 1 << ULAW_BITS], at => compress_ulaw(at as i32 - (1 << (ULAW_BITS - 1))));
tabulated!(alaw_codes, [u8; 1 << ALAW_BITS], at => compress_alaw(at as i32 - (1 << (ALAW_BITS - 1))));

#[cfg(test)]
mod tests;
