//! `callwright doctor`: looks over the machine and says what would keep the service from running well.
//!
//! Changes nothing that lasts. Each part below looks at one thing and gives findings; this module prints them.

mod certificates;
mod finding;
mod folder;
mod machine;
mod needs;
mod ports;
mod running;

use chrono::Utc;

use self::finding::{Finding, Status};
use super::{Context, Failure, exit, print, print_json};
use crate::config::{Faults, Settings};

/// What `doctor` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print a JSON list of check, status, detail and what to do.
    #[arg(long)]
    json: bool,
}

/// Prints every finding; a line is ok, warn or fail.
///
/// # Errors
/// A silent [`Failure`] when anything fails: [`exit::SETTINGS`] for settings, [`exit::FAILED`] for the rest.
pub fn run(args: &Args, context: &Context) -> Result<(), Failure> {
    let (findings, code) = match context.load() {
        Ok(loaded) => (examine(&loaded.settings), exit::FAILED),
        Err(faults) => (settings_at_fault(&faults), exit::SETTINGS),
    };
    if args.json {
        print_json(&findings)?;
    } else {
        print(&lines(&findings))?;
    }
    let failed = findings
        .iter()
        .any(|finding| finding.status == Status::Fail);
    if failed {
        Err(Failure {
            code,
            ..Failure::silent()
        })
    } else {
        Ok(())
    }
}

fn examine(settings: &Settings) -> Vec<Finding> {
    let now = Utc::now();
    let running = running::find(settings);
    let mut findings = vec![Finding::ok("settings", "every value is allowed")];
    findings.push(folder::examine("data folder", &settings.data_dir));
    findings.push(folder::examine(
        "recordings",
        &settings.recordings.directory,
    ));
    findings.extend(needs::examine(settings));
    findings.extend(running::examine(&running));
    findings.extend(ports::examine(settings, &running));
    findings.extend(certificates::examine(settings, now));
    findings.push(machine::open_files(settings, crate::limits::open_files()));
    findings.push(machine::clock(settings, now));
    findings.push(machine::cores(settings));
    findings
}

fn settings_at_fault(faults: &Faults) -> Vec<Finding> {
    let fault = |fault| {
        Finding::fail(
            "settings",
            format!("{fault}"),
            "correct it; the rest is looked at then",
        )
    };
    faults.0.iter().map(fault).collect()
}

fn lines(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(Finding::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, load};

    #[test]
    fn a_sound_machine_with_free_ports_has_nothing_failing() {
        let folder = tempfile::tempdir().unwrap();
        let flags = vec![
            format!("data_dir={}", folder.path().display()),
            "stream.listen=127.0.0.1:0".to_owned(),
            "api.listen=127.0.0.1:0".to_owned(),
            "admin.listen=127.0.0.1:0".to_owned(),
        ];
        let settings = load(&Sources {
            flags,
            ..Sources::default()
        })
        .unwrap()
        .settings;
        let findings = examine(&settings);
        assert!(
            findings
                .iter()
                .all(|finding| finding.status != Status::Fail),
            "{}",
            lines(&findings)
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "it left something behind"
        );
    }

    #[test]
    fn each_faulty_setting_is_a_failing_line() {
        let flags = vec!["stream.threads=many".to_owned(), "api.treads=1".to_owned()];
        let findings = settings_at_fault(
            &load(&Sources {
                flags,
                ..Sources::default()
            })
            .unwrap_err(),
        );
        assert_eq!(findings.len(), 2);
        assert!(
            lines(&findings)
                .lines()
                .filter(|line| line.starts_with("fail"))
                .count()
                == 2
        );
    }
}
