//! A load test while it runs: a bar on a terminal, or lines of JSON.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::client::load::{Plan, Snapshot};

/// Shows the counts so far.
pub(super) struct Watch {
    bar: ProgressBar,
    lines: bool,
}

impl Watch {
    pub(super) fn new(plan: &Plan, lines: bool) -> Self {
        let target = if std::io::stderr().is_terminal() && !lines {
            ProgressDrawTarget::stderr_with_hz(4)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(msec(plan.ramp + plan.duration)), target);
        let style = ProgressStyle::with_template("{bar:30} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, lines }
    }

    pub(super) fn show(&mut self, snapshot: &Snapshot) {
        if self.lines {
            let line = serde_json::to_string(snapshot).unwrap_or_default();
            let mut out = std::io::stdout().lock();
            // A reader that has gone does not end the test.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            return;
        }
        self.bar.set_position(snapshot.elapsed_msec);
        self.bar.set_message(format!(
            "{} open, {} chunks sent, {} refused, {} failed, {} ended early",
            snapshot.live, snapshot.sent, snapshot.refused, snapshot.failed, snapshot.ended_early
        ));
    }

    pub(super) fn over(&self) {
        self.bar.finish_and_clear();
    }
}

fn msec(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
