//! The result of a ladder: its rows and its sweeps.

use std::time::Duration;

use figures::Measured;
use gridstride::device::Occupancy;
use serde::Serialize;

/// The result of a ladder.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The computation.
    pub title: String,
    /// What is not as by default, to tell rows of two ladders apart; may be empty.
    pub variant: String,
    /// The device.
    pub device: String,
    /// The versions, in order.
    pub rows: Vec<Row>,
    /// Times by a parameter of a kernel, if they were asked for.
    pub sweeps: Vec<Sweep>,
}

impl Ladder {
    /// Returns the device, with a remark about times of the simulator.
    pub fn place(&self) -> String {
        let remark = match self.device.starts_with("simulator") {
            true => ", whose times say nothing about a GPU",
            false => "",
        };
        format!("{}{remark}", self.device)
    }

    /// Returns the rows as those of a benchmark.
    pub fn measured(&self) -> impl Iterator<Item = Measured> {
        self.rows.iter().map(|row| {
            let clock = match row.clock {
                Clock::WholeCall => figures::Clock::Call,
                Clock::Kernel => figures::Clock::Device,
            };
            let case = match self.variant.as_str() {
                "" => row.version.clone(),
                variant => format!("{}, {variant}", row.version),
            };
            let times = [row.range[0], row.time, row.range[1]];
            let times = times.map(|time| time.as_secs_f64() * 1e3);
            Measured {
                runs: row.runs,
                share: (row.share < 1.0).then_some(row.share),
                ..Measured::new(case, clock, times.into())
            }
        })
    }

    /// Returns the speed of each version relative to the first one with the same clock; not finite if
    /// the clock is too coarse.
    pub fn speed_ups(&self) -> Vec<f64> {
        let speed_up = |row: &Row| {
            let mut rows = self.rows.iter();
            let first = rows.find(|first| first.clock == row.clock).unwrap_or(row);
            first.time.as_secs_f64() / row.time.as_secs_f64()
        };
        self.rows.iter().map(speed_up).collect()
    }
}

/// The work that a time includes. Only times of the same clock can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// From arrays in the host's memory to arrays in the host's memory, by the host's clock: on a
    /// GPU with the copies, on the CPU without any.
    WholeCall,
    /// Kernels on data in the device's memory, by events before the first and after the last.
    Kernel,
}

impl Clock {
    pub fn name(self) -> &'static str {
        match self {
            Clock::WholeCall => "whole call",
            Clock::Kernel => "kernel",
        }
    }
}

/// A version that ran and was right.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub version: String,
    /// The work that its times include.
    pub clock: Clock,
    /// The number of timed runs, which is 1 for work that takes long.
    pub runs: usize,
    /// The median of its runs.
    pub time: Duration,
    /// The least and the most of them.
    pub range: [Duration; 2],
    /// The share of the work that was computed; below 1 the times are extrapolated.
    pub share: f64,
    /// The difference from the version before.
    pub changed: String,
    /// A remark of the check; may be empty.
    pub remark: String,
    /// Blocks of its kernel on a multiprocessor, if it has a single kernel.
    pub occupancy: Option<Occupancy>,
}

/// Times of kernels by a parameter.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The computation.
    pub title: String,
    /// The work that the times include.
    pub clock: Clock,
    /// The parameter.
    pub parameter: &'static str,
    /// The axis of its values.
    pub axis: Axis,
    /// Its values.
    pub values: Vec<u32>,
    /// A line for each kernel, or for each value of another parameter.
    pub lines: Vec<Line>,
}

/// The axis of a sweep's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From 0.
    Linear,
    /// Each power of two as far as the one before.
    Doubling,
}

/// The times of a kernel.
#[derive(Clone, Debug)]
pub struct Line {
    /// The kernel, or what it was launched with.
    pub name: String,
    /// A time for each value of the parameter that is possible.
    pub times: Vec<Option<Duration>>,
}
