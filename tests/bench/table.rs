//! The bars as a table for people and as JSON for programs.

use std::path::Path;

use serde_json::{Value, json};

use crate::Fault;

/// Where the JSON goes.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/bench/bars.json");

/// How far something may go.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    /// So many times what it is measured against.
    Ratio(f64),
    /// So much.
    AtMost(f64),
}

/// One bar and what was found.
#[derive(Debug)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// In what.
    pub(crate) unit: &'static str,
    /// What the service took; none where only the raw handler was measured.
    pub(crate) measured: Option<f64>,
    /// What it is compared with, or shown beside.
    pub(crate) against: Option<f64>,
    /// How far it may go.
    pub(crate) bar: Bar,
    /// Signs that the load was not the one asked for.
    pub(crate) notes: Vec<String>,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        Some(self.measured? / self.against?)
    }

    fn met(&self) -> Option<bool> {
        match self.bar {
            Bar::Ratio(most) => self.ratio().map(|ratio| ratio <= most),
            Bar::AtMost(most) => self.measured.map(|measured| measured <= most),
        }
    }

    fn bar_text(&self) -> String {
        match self.bar {
            Bar::Ratio(most) => format!("{most} ×"),
            Bar::AtMost(most) => format!("{most} {}", self.unit),
        }
    }

    fn line(&self) -> String {
        let amount = |value: Option<f64>| {
            value.map_or("-".to_owned(), |value| format!("{value:.2} {}", self.unit))
        };
        let met = match self.met() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        format!(
            "{:<58}{:>12}{:>12}{:>8}{:>10}  {met}",
            self.name,
            amount(self.measured),
            amount(self.against),
            self.ratio()
                .map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            self.bar_text(),
        )
    }

    fn json(&self) -> Value {
        let (kind, most) = match self.bar {
            Bar::Ratio(most) => ("ratio", most),
            Bar::AtMost(most) => ("at-most", most),
        };
        json!({
            "name": self.name, "unit": self.unit, "measured": self.measured, "against": self.against,
            "ratio": self.ratio(), "bar": {"kind": kind, "value": most}, "met": self.met(), "notes": self.notes,
        })
    }
}

/// All bars.
pub(crate) struct Table {
    quick: bool,
    rows: Vec<Row>,
    remarks: Vec<String>,
}

impl Table {
    pub(crate) const fn new(quick: bool) -> Self {
        Self {
            quick,
            rows: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Says on stderr what is being measured now.
    #[expect(
        clippy::unused_self,
        reason = "reads as a part of the table being made"
    )]
    pub(crate) fn progress(&self, what: &str) {
        eprintln!("{what} …");
    }

    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// A number that belongs to no bar.
    pub(crate) fn remark(&mut self, text: String) {
        self.remarks.push(text);
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<58}{:>12}{:>12}{:>8}{:>10}  met",
            "", "measured", "against", "ratio", "at most"
        );
        for row in &self.rows {
            println!("{}", row.line());
            for note in &row.notes {
                println!("    doubtful: {note}");
            }
        }
        for remark in &self.remarks {
            println!("{remark}");
        }
    }

    pub(crate) fn write(&self) -> Result<(), Fault> {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let all = json!({"quick": self.quick, "rows": rows, "remarks": self.remarks});
        if let Some(folder) = Path::new(FILE).parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(FILE, serde_json::to_string_pretty(&all)?)?;
        println!("written to {FILE}");
        Ok(())
    }
}
