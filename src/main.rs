//! The `callwright` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    callwright::cli::main()
}
