//! What earshot alone costs: one prediction each 16 ms of one channel, as CPU time for 20 ms.
//!
//! With as many detectors as the service has calls, taking turns, so that the caches are as busy as they are there.

use std::hint::black_box;
use std::process::Stdio;

use callwright_domain::audio::{Encoding, g711};

use crate::Fault;
use crate::process::{self, SERVER_CORE, pinned};

/// Makes this program the measurement, so that it can be pinned to the server's core.
pub(crate) const ARGUMENT: &str = "--earshot";

/// What earshot takes: 16 ms at 16 000 Hz.
const FRAME: usize = 256;
/// 20 ms of audio in frames of 16 ms.
const FRAMES_PER_CHUNK: f64 = 20.0 / 16.0;
/// Detectors that take turns, as many as there are calls in the measurement beside this one.
const DETECTORS: usize = 400;
/// A call of two voices, stereo μ-law at 8 000 Hz.
const CALL: &[u8] = include_bytes!("../fixtures/call.wav");

/// CPU time of earshot for 20 ms of one channel, in µs, measured on the server's core.
pub(crate) fn cost() -> Result<f64, Fault> {
    let output = pinned(SERVER_CORE, std::env::current_exe()?)
        .arg(ARGUMENT)
        .stderr(Stdio::inherit())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// Measures and prints it.
pub(crate) fn measure() -> Result<(), Fault> {
    let frames = frames()?;
    let mut detectors: Vec<_> = (0..DETECTORS)
        .map(|_| earshot::Detector::default_boxed())
        .collect();
    let mut predict = |turns: &[[i16; FRAME]]| {
        for frame in turns {
            for detector in &mut detectors {
                black_box(detector.predict_i16(black_box(frame)));
            }
        }
    };
    let (first, rest) = frames.split_at(frames.len() / 10);
    predict(first);
    let before = process::cpu_time(std::process::id())?;
    predict(rest);
    let spent = process::cpu_time(std::process::id())?.saturating_sub(before);
    let predictions = f64::from(u32::try_from(rest.len() * DETECTORS)?);
    println!(
        "{}",
        spent.as_secs_f64() * 1e6 / predictions * FRAMES_PER_CHUNK
    );
    Ok(())
}

/// The first channel of the sample call, each sample twice: 16 000 Hz is what matters here, not how it sounds.
fn frames() -> Result<Vec<[i16; FRAME]>, Fault> {
    let info = callwright_domain::audio::wav::parse(CALL)?;
    if info.wire_encoding() != Encoding::Ulaw || info.rate != 8_000 {
        return Err("the sample call is not μ-law at 8 000 Hz".into());
    }
    let audio = CALL
        .get(usize::try_from(info.data_start)?..)
        .unwrap_or_default();
    let channel = audio.iter().step_by(usize::from(info.channels));
    let samples: Vec<i16> = channel
        .flat_map(|code| [g711::ulaw_decode(*code); 2])
        .collect();
    Ok(samples.as_chunks::<FRAME>().0.to_vec())
}
