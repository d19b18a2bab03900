//! Ladders as JSON.

use std::time::Duration;

use serde::Serialize;

use super::climb::{Ladder, Row, Sweep, SweepLine};
use crate::common::report::milliseconds;

/// A ladder on each of some devices.
#[derive(Serialize)]
pub struct Summary<'a> {
    pub ladders: &'a [Ladder],
}

/// A ladder as JSON has it.
#[derive(Serialize)]
pub struct LadderSummary {
    title: String,
    device: String,
    rows: Vec<RowSummary>,
    sweep: Option<SweepSummary>,
}

#[derive(Serialize)]
struct RowSummary {
    version: String,
    median_ms: f64,
    least_ms: f64,
    most_ms: f64,
    /// How many times as fast the version is as the first.
    speed_up: f64,
    changed: String,
    remark: Option<String>,
}

#[derive(Serialize)]
struct SweepSummary {
    threads: Vec<u32>,
    lines: Vec<LineSummary>,
}

#[derive(Serialize)]
struct LineSummary {
    name: String,
    /// By the number of threads.
    times_ms: Vec<Option<f64>>,
}

impl From<Ladder> for LadderSummary {
    fn from(ladder: Ladder) -> LadderSummary {
        let first = ladder.rows.first().map_or(Duration::ZERO, |row| row.time);
        let row = |row: Row| RowSummary {
            speed_up: row.speed_up(first),
            version: row.version,
            median_ms: milliseconds(row.time),
            least_ms: milliseconds(row.range[0]),
            most_ms: milliseconds(row.range[1]),
            changed: row.changed,
            remark: Some(row.remark).filter(|remark| !remark.is_empty()),
        };
        LadderSummary {
            title: ladder.title,
            device: ladder.device,
            rows: ladder.rows.into_iter().map(row).collect(),
            sweep: ladder.sweep.map(SweepSummary::from),
        }
    }
}

impl From<Sweep> for SweepSummary {
    fn from(sweep: Sweep) -> SweepSummary {
        let line = |line: SweepLine| LineSummary {
            name: line.name,
            times_ms: line
                .times
                .iter()
                .map(|time| time.map(milliseconds))
                .collect(),
        };
        SweepSummary {
            threads: sweep.threads,
            lines: sweep.lines.into_iter().map(line).collect(),
        }
    }
}
