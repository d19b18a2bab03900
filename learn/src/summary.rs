//! Ladders as JSON.

use std::time::Duration;

use program::report::milliseconds;
use serde::Serialize;

use super::rows::{Clock, Ladder, Line, Row, Sweep};

/// A ladder on each of some devices.
#[derive(Serialize)]
pub struct Summary {
    ladders: Vec<LadderSummary>,
}

impl Summary {
    pub fn new(ladders: Vec<Ladder>) -> Summary {
        Summary {
            ladders: ladders.into_iter().map(LadderSummary::from).collect(),
        }
    }
}

/// A ladder as JSON has it.
#[derive(Serialize)]
struct LadderSummary {
    title: String,
    device: String,
    rows: Vec<RowSummary>,
    sweeps: Vec<SweepSummary>,
}

#[derive(Serialize)]
struct RowSummary {
    version: String,
    clock: Clock,
    runs: usize,
    median_ms: f64,
    least_ms: f64,
    most_ms: f64,
    /// Speed relative to the first version with the same clock.
    speed_up: f64,
    computed_share: f64,
    changed: String,
    remark: Option<String>,
    registers: Option<u32>,
    occupancy: Option<f64>,
}

#[derive(Serialize)]
struct SweepSummary {
    title: String,
    clock: Clock,
    parameter: &'static str,
    values: Vec<u32>,
    lines: Vec<LineSummary>,
}

#[derive(Serialize)]
struct LineSummary {
    name: String,
    /// By the values of the parameter.
    times_ms: Vec<Option<f64>>,
}

impl From<Ladder> for LadderSummary {
    fn from(ladder: Ladder) -> LadderSummary {
        let speed_ups = ladder.speed_ups();
        let row = |(row, speed_up): (Row, f64)| RowSummary {
            speed_up,
            version: row.version,
            clock: row.clock,
            runs: row.runs,
            median_ms: milliseconds(row.time),
            least_ms: milliseconds(row.range[0]),
            most_ms: milliseconds(row.range[1]),
            computed_share: row.share,
            changed: row.changed,
            remark: Some(row.remark).filter(|remark| !remark.is_empty()),
            registers: row.occupancy.and_then(|found| found.registers_per_thread),
            occupancy: row.occupancy.map(|found| found.share()),
        };
        LadderSummary {
            title: ladder.title,
            device: ladder.device,
            rows: ladder.rows.into_iter().zip(speed_ups).map(row).collect(),
            sweeps: ladder.sweeps.into_iter().map(SweepSummary::from).collect(),
        }
    }
}

impl From<Sweep> for SweepSummary {
    fn from(sweep: Sweep) -> SweepSummary {
        let in_milliseconds = |time: &Option<Duration>| time.map(milliseconds);
        let line = |line: Line| LineSummary {
            times_ms: line.times.iter().map(in_milliseconds).collect(),
            name: line.name,
        };
        SweepSummary {
            title: sweep.title,
            clock: sweep.clock,
            parameter: sweep.parameter,
            values: sweep.values,
            lines: sweep.lines.into_iter().map(line).collect(),
        }
    }
}
