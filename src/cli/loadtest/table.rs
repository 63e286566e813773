//! The report of a load test as a table for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::client::load::{Distribution, Report};

/// The report as lines of a name and what was found.
pub(super) fn of(report: &Report) -> String {
    let mut table = String::new();
    let mut row = |name: &str, text: String| {
        // Writing into a string cannot fail.
        let _ = writeln!(table, "{name:<14}{text}");
    };
    row("calls", calls(report));
    row("refused", by_reason(&report.refused));
    row("failed", by_reason(&report.failed));
    row("ended early", by_reason(&report.ended_early));
    row("ended", ended(report));
    row("chunks", chunks(report));
    row("lateness", times(&report.lateness));
    row(
        "events",
        format!("{} due, {} lost", report.events_due, report.events_lost),
    );
    row("round trip", times(&report.round_trip));
    row("others", format!("{} messages", report.other_messages));
    table.trim_end().to_owned()
}

/// Why calls were not opened.
pub(super) fn reasons(report: &Report) -> String {
    let all: BTreeMap<_, _> = report
        .refused
        .iter()
        .chain(&report.failed)
        .map(|(k, n)| (k.clone(), *n))
        .collect();
    by_reason(&all)
}

fn calls(report: &Report) -> String {
    format!(
        "{} of {} open on {} connection{}, measured {:.1} s",
        report.opened,
        report.streams,
        report.connections,
        if report.connections == 1 { "" } else { "s" },
        report.measured_secs
    )
}

fn ended(report: &Report) -> String {
    let ended = by_reason(&report.ended);
    match report.never_ended {
        0 => ended,
        count => format!("{ended}, {count} not in time"),
    }
}

fn chunks(report: &Report) -> String {
    format!(
        "{} sent of {} due, {:.1} of {:.1} a second, {} bytes each",
        report.chunks_sent,
        report.chunks_due,
        report.sent_rate,
        report.due_rate,
        report.chunk_bytes
    )
}

fn times(times: &Distribution) -> String {
    if times.count == 0 {
        return "none measured".to_owned();
    }
    format!(
        "p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, max {:.2} ms",
        times.p50_msec, times.p90_msec, times.p99_msec, times.max_msec
    )
}

fn by_reason(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "0".to_owned();
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let times = Distribution {
            count: 7,
            p50_msec: 0.5,
            p90_msec: 0.9,
            p99_msec: 1.25,
            max_msec: 12.0,
        };
        Report {
            streams: 400,
            connections: 1,
            chunk_bytes: 160,
            measured_secs: 10.0,
            opened: 398,
            refused: BTreeMap::from([("capacity-exceeded".to_owned(), 2)]),
            failed: BTreeMap::new(),
            ended_early: BTreeMap::new(),
            ended: BTreeMap::from([("OK".to_owned(), 397)]),
            never_ended: 1,
            chunks_due: 200_000,
            chunks_sent: 199_000,
            due_rate: 20_000.0,
            sent_rate: 19_900.0,
            lateness: times.clone(),
            events_due: 4_000,
            events_lost: 3,
            round_trip: Distribution { count: 0, ..times },
            other_messages: 398,
        }
    }

    #[test]
    fn the_table_has_a_row_for_everything_that_can_go_wrong() {
        insta::assert_snapshot!(of(&report()), @"
        calls         398 of 400 open on 1 connection, measured 10.0 s
        refused       2 capacity-exceeded
        failed        0
        ended early   0
        ended         397 OK, 1 not in time
        chunks        199000 sent of 200000 due, 19900.0 of 20000.0 a second, 160 bytes each
        lateness      p50 0.50 ms, p90 0.90 ms, p99 1.25 ms, max 12.00 ms
        events        4000 due, 3 lost
        round trip    none measured
        others        398 messages
        ");
    }

    #[test]
    fn the_json_names_stay_what_programs_read() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&report()).unwrap(), @r#"
        {
          "streams": 400,
          "connections": 1,
          "chunk_bytes": 160,
          "measured_secs": 10.0,
          "opened": 398,
          "refused": {
            "capacity-exceeded": 2
          },
          "failed": {},
          "ended_early": {},
          "ended": {
            "OK": 397
          },
          "never_ended": 1,
          "chunks_due": 200000,
          "chunks_sent": 199000,
          "due_rate": 20000.0,
          "sent_rate": 19900.0,
          "lateness": {
            "count": 7,
            "p50_msec": 0.5,
            "p90_msec": 0.9,
            "p99_msec": 1.25,
            "max_msec": 12.0
          },
          "events_due": 4000,
          "events_lost": 3,
          "round_trip": {
            "count": 0,
            "p50_msec": 0.5,
            "p90_msec": 0.9,
            "p99_msec": 1.25,
            "max_msec": 12.0
          },
          "other_messages": 398
        }
        "#);
    }
}
