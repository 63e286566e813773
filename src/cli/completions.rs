//! `callwright completions`: a script for the shell, from the same table that reads the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Failure, print};

/// What `completions` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell that will read the script.
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// A [`Failure`] when stdout cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "callwright", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_knows_the_subcommands() {
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut Cli::command(), "callwright", &mut script);
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("check-config") && script.contains("doctor"));
    }
}
