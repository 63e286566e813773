//! The bars themselves: what is measured, against what, and how far it may go.

use crate::load::{Door, Finding, put};
use crate::process;
use crate::raw::RawServer;
use crate::serve::{Home, PASS_PROJECT, VOICE_PROJECT};
use crate::shape::{Effort, Shape};
use crate::table::{Bar, Row, Table};
use crate::{Fault, earshot, median};

/// Most CPU for a chunk, as a multiple of what it is measured against.
const CPU_BAR: f64 = 1.25;
/// Most resident memory of a session, in KiB.
const MEMORY_BAR_KIB: f64 = 128.0;
/// Longest 99th percentile of a round trip, as a multiple of the raw handler's.
const ROUND_TRIP_BAR: f64 = 1.5;
/// Longest start of the service on a folder it has used before, in seconds.
const START_BAR_SECS: f64 = 1.0;
/// Starts of which the middle one counts.
const STARTS: usize = 5;

/// Measures everything and prints it; with `raw_alone` only what the raw handler costs.
pub(crate) fn run(quick: bool, raw_alone: bool) -> Result<(), Fault> {
    let effort = Effort::new(quick);
    let home = if raw_alone { None } else { Some(Home::new()?) };
    let mut table = Table::new(quick);
    // Both cores are used whole: whatever else runs here shows in every number.
    let busy = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    table.remark(format!(
        "load average before the first measurement: {}",
        busy.split(' ').next().unwrap_or("unknown")
    ));
    for (name, shape) in [
        ("400 calls on 1 connection", Shape::shared(effort)),
        ("400 calls on 400", Shape::separate(effort)),
    ] {
        chunk_rows(&mut table, name, shape, effort, home.as_ref())?;
    }
    crowd_rows(&mut table, effort, home.as_ref())?;
    if let Some(home) = &home {
        table.add(start_row(home)?);
    }
    table.print();
    table.write()
}

/// The findings of several rounds of one server.
#[derive(Default)]
struct Findings {
    found: Vec<Finding>,
    idle_kib: Vec<f64>,
}

impl Findings {
    fn take(&mut self, shape: Shape, door: &Door, pid: u32) -> Result<(), Fault> {
        self.idle_kib.push(process::resident_kib(pid)?);
        self.found.push(put(shape, door, pid)?);
        Ok(())
    }

    fn median(&self, of: impl Fn(&Finding) -> f64) -> Option<f64> {
        median(self.found.iter().map(of).collect())
    }

    fn session_kib(&self) -> Option<f64> {
        let grown = self.found.iter().zip(&self.idle_kib);
        median(
            grown
                .map(|(found, idle)| (found.resident_kib - idle) / found.number("/opened").max(1.0))
                .collect(),
        )
    }

    fn blemishes(&self) -> Vec<String> {
        self.found.iter().flat_map(Finding::blemishes).collect()
    }
}

fn measure_raw(shape: Shape, into: &mut Findings) -> Result<(), Fault> {
    let raw = RawServer::start()?;
    into.take(shape, &raw.door, raw.process.pid())
}

fn measure_service(
    shape: Shape,
    home: Option<&Home>,
    project: &'static str,
    into: &mut Findings,
) -> Result<(), Fault> {
    let Some(home) = home else { return Ok(()) };
    let service = home.start()?;
    into.take(shape, &home.door(project), service.server.pid())?;
    service.server.stop()
}

fn chunk_rows(
    table: &mut Table,
    name: &str,
    shape: Shape,
    effort: Effort,
    home: Option<&Home>,
) -> Result<(), Fault> {
    let (mut raw, mut pass, mut voice) = (
        Findings::default(),
        Findings::default(),
        Findings::default(),
    );
    let mut earshot_usec = Vec::new();
    for round in 1..=effort.rounds {
        table.progress(&format!(
            "CPU of a chunk, {name}, round {round} of {}",
            effort.rounds
        ));
        measure_raw(shape, &mut raw)?;
        measure_service(shape, home, PASS_PROJECT, &mut pass)?;
        measure_service(shape, home, VOICE_PROJECT, &mut voice)?;
        earshot_usec.push(earshot::cost()?);
    }
    let cpu = |findings: &Findings| findings.median(|found| found.cpu_usec);
    let earshot_usec = median(earshot_usec);
    let row = |what: &str, findings: &Findings, against| Row {
        name: format!("CPU of a chunk, {what}, {name}"),
        unit: "µs",
        measured: cpu(findings),
        against,
        bar: Bar::Ratio(CPU_BAR),
        notes: [raw.blemishes(), findings.blemishes()].concat(),
    };
    table.add(row("entry → publisher", &pass, cpu(&raw)));
    table.add(row(
        "voice activity",
        &voice,
        cpu(&raw)
            .zip(earshot_usec)
            .map(|(raw, earshot)| raw + earshot),
    ));
    if let Some(usec) = earshot_usec {
        table.remark(format!(
            "earshot alone: {usec:.2} µs for 20 ms of one channel"
        ));
    }
    Ok(())
}

fn crowd_rows(table: &mut Table, effort: Effort, home: Option<&Home>) -> Result<(), Fault> {
    let shape = Shape::crowd(effort);
    let (mut raw, mut pass) = (Findings::default(), Findings::default());
    for round in 1..=effort.rounds {
        table.progress(&format!(
            "1,000 TLS connections, round {round} of {}",
            effort.rounds
        ));
        measure_raw(shape, &mut raw)?;
        measure_service(shape, home, PASS_PROJECT, &mut pass)?;
    }
    let p99 = |findings: &Findings| findings.median(|found| found.number("/round_trip/p99_msec"));
    let notes = [raw.blemishes(), pass.blemishes()].concat();
    table.add(Row {
        name: "resident memory of a TLS session, of 1,000".to_owned(),
        unit: "KiB",
        measured: pass.session_kib(),
        against: raw.session_kib(),
        bar: Bar::AtMost(MEMORY_BAR_KIB),
        notes: notes.clone(),
    });
    table.add(Row {
        name: "event round trip p99, 1,000 TLS connections".to_owned(),
        unit: "ms",
        measured: p99(&pass),
        against: p99(&raw),
        bar: Bar::Ratio(ROUND_TRIP_BAR),
        notes,
    });
    for (who, findings) in [("raw", &raw), ("service", &pass)] {
        let of = |path: &'static str| findings.median(|found| found.number(path));
        if let (Some(rate), Some(late)) = (of("/sent_rate"), of("/lateness/p99_msec")) {
            let cpu = findings.median(|found| found.cpu_usec).unwrap_or(f64::NAN);
            table.remark(format!("crowd, {who}: {rate:.0} chunks/s, sent {late:.2} ms late (p99), {cpu:.2} µs CPU each"));
        }
    }
    Ok(())
}

fn start_row(home: &Home) -> Result<Row, Fault> {
    let mut seconds = Vec::new();
    for _ in 0..STARTS {
        let service = home.start()?;
        seconds.push(service.ready_after.as_secs_f64());
        service.server.stop()?;
    }
    Ok(Row {
        name: "start to ready, warm data folder".to_owned(),
        unit: "s",
        measured: median(seconds),
        against: None,
        bar: Bar::AtMost(START_BAR_SECS),
        notes: Vec::new(),
    })
}
