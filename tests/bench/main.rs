//! The speed and memory bars: what the service may cost beside the least that could do the same.
//!
//! ```text
//! bench ── starts, pins to core 0 ──▶ callwright serve  or  the raw handler (raw.rs)
//!       ── starts, pins to core 1 ──▶ callwright loadtest, the same for both
//!       ── reads /proc of the server while the load runs, alternates the two, takes medians
//! ```
//!
//! `cargo bench --bench bars` prints a table and writes `target/bench/bars.json`; `-- --quick` is for a first look,
//! `-- --raw` measures the raw handler alone. The exit code says whether it could be measured, not whether the bars
//! are met: the numbers are the machine's as much as the program's.

mod bars;
mod earshot;
mod load;
mod process;
mod raw;
mod serve;
mod shape;
mod table;

use std::process::ExitCode;

/// Anything that keeps a bar from being measured.
type Fault = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    let outcome = if given(raw::ARGUMENT) {
        raw::serve(&arguments)
    } else if given(earshot::ARGUMENT) {
        earshot::measure()
    } else {
        bars::run(given("--quick"), given("--raw"))
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bars: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// The middle of some measurements; of an even number, the mean of the two in the middle. None of none.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}
