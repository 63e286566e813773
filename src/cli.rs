//! The command line: what can be asked, and how a failure is told.
//!
//! A subcommand is a variant of `Command` and a module with `Args` and `run`. Each `run` is synchronous and starts
//! the runtime it needs itself: `serve` wants arbiters, a client wants one thread, most want none.

pub mod check_config;
pub mod client;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod exit;
pub mod keys;
pub mod loadtest;
pub mod migrate;
mod operate;
mod output;
pub mod project;
pub mod serve;
pub mod server;
pub mod stream;
pub mod tenant;
pub mod token;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{self, Faults, Loaded, Settings, Sources};
use crate::telemetry;

pub use exit::Failure;
pub use output::{print, print_json};

/// Self-hosted speech and conversation analytics.
#[derive(Debug, Parser)]
#[command(name = "callwright", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    context: Context,
    #[command(subcommand)]
    command: Command,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service until SIGTERM, SIGINT or POST /admin/drain.
    Serve(serve::Args),
    /// Run the service with a sample call, and stay open.
    Demo(demo::Args),
    /// Print the settings in force and the layer each came from.
    CheckConfig(check_config::Args),
    /// Look over this machine and say what would keep the service from running well.
    Doctor(doctor::Args),
    /// Stream a WAV file as a call and show its events as they come.
    Stream(stream::Args),
    /// Stream many calls at once on a fixed schedule and report rates and times.
    Loadtest(loadtest::Args),
    /// Apply, list, show and remove projects; list the node types they are made of.
    Project(project::Args),
    /// Add, list and remove OAuth clients.
    Client(client::Args),
    /// Fetch an access token and print it.
    Token(token::Args),
    /// List and rotate the keys that sign access tokens.
    Keys(keys::Args),
    /// Add and list tenants.
    Tenant(tenant::Args),
    /// Bring the store up to date; serve does so by itself.
    Migrate(migrate::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
}

impl Command {
    fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Serve(args) => serve::run(&args, context),
            Self::Demo(args) => demo::run(args, context),
            Self::Project(args) => project::run(args, context),
            Self::Client(args) => client::run(args, context),
            Self::Token(args) => token::run(args),
            Self::Keys(args) => keys::run(args, context),
            Self::Tenant(args) => tenant::run(args, context),
            Self::Migrate(args) => migrate::run(&args, context),
            Self::CheckConfig(args) => check_config::run(&args, context),
            Self::Doctor(args) => doctor::run(&args, context),
            Self::Stream(args) => stream::run(args),
            Self::Loadtest(args) => loadtest::run(args),
            Self::Completions(args) => completions::run(&args),
        }
    }
}

/// What every subcommand is given: where the settings are.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Context {
    /// Settings file; otherwise ./config.toml if it is there.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one key, over file and environment, such as --set stream.listen=127.0.0.1:0; may be repeated.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Context {
    /// Reads the settings from every layer.
    ///
    /// # Errors
    /// [`Faults`] with everything that is wrong.
    pub fn load(&self) -> Result<Loaded, Faults> {
        config::load(&Sources::of_process(self.config.clone(), self.set.clone()))
    }

    /// Reads the settings and starts logging as they say. The first line of every subcommand that does work.
    ///
    /// # Errors
    /// A [`Failure`] with [`exit::SETTINGS`] that names every fault.
    pub fn begin(&self) -> Result<Settings, Failure> {
        self.begin_saying(None)
    }

    /// As [`Context::begin`], but says only what `directives` let through, whatever the settings say: for commands whose
    /// output is for people.
    ///
    /// # Errors
    /// As [`Context::begin`].
    pub fn begin_saying(&self, directives: Option<&str>) -> Result<Settings, Failure> {
        let settings = self.load()?.settings;
        let mut log = settings.log.clone();
        if let Some(directives) = directives {
            directives.clone_into(&mut log.level);
        }
        telemetry::start(&log).map_err(|error| Failure::failed(error.to_string()))?;
        Ok(settings)
    }
}

/// Reads the command line, runs what it asks, tells a failure in plain words on stderr.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    telemetry::install_crypto();
    let outcome = cli.command.run(&cli.context);
    telemetry::finish();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_flags_are_taken_on_either_side_of_the_subcommand() {
        for line in [
            ["callwright", "--set", "a=b", "doctor"],
            ["callwright", "doctor", "--set", "a=b"],
        ] {
            assert_eq!(Cli::try_parse_from(line).unwrap().context.set, ["a=b"]);
        }
    }

    #[test]
    fn a_secret_may_begin_with_a_dash() {
        for secret in ["-DRcRyNs", "--dry-run", "-h"] {
            let line = [
                "callwright",
                "token",
                "--client-id",
                "c",
                "--client-secret",
                secret,
            ];
            assert!(Cli::try_parse_from(line).is_ok(), "{secret}");
        }
    }
}
