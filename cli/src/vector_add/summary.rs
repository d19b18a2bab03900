//! The printed summary.

use std::fmt::{Result, Write};
use std::time::Duration;

use gridstride::Device;
use program::report::{self, milliseconds, per_second};
use serde::Serialize;

use crate::common::device_summary::DeviceSummary;

/// Bytes that are copied for a sum: two i32 and an f64.
const BYTES: usize = 16;

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary {
    pub elements: usize,
    pub devices: Vec<DeviceSummary>,
    pub rows: Vec<Row>,
}

/// A number of streams. Times are medians.
#[derive(Serialize)]
pub struct Row {
    pub streams: u16,
    pub ordinary_ms: f64,
    pub ordinary_bytes_per_second: Option<f64>,
    pub page_locked_ms: f64,
    pub page_locked_bytes_per_second: Option<f64>,
}

impl Summary {
    pub fn new(elements: usize, devices: &[Device]) -> Summary {
        Summary {
            elements,
            devices: DeviceSummary::all(devices),
            rows: Vec::new(),
        }
    }

    /// Adds the times from ordinary and from page-locked memory.
    pub fn add(&mut self, streams: u16, ordinary: Duration, page_locked: Duration) {
        let rate = |time| per_second((BYTES * self.elements) as f64, milliseconds(time));
        self.rows.push(Row {
            streams,
            ordinary_ms: milliseconds(ordinary),
            ordinary_bytes_per_second: rate(ordinary),
            page_locked_ms: milliseconds(page_locked),
            page_locked_bytes_per_second: rate(page_locked),
        });
    }
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> Result {
        let devices = self.devices.iter().map(|device| &*device.description);
        let devices: Vec<_> = devices.collect();
        let (elements, devices) = (self.elements, devices.join(" and "));
        writeln!(text, "{elements} sums of i32 as f64, on {devices}")?;
        let heads = ["ordinary memory", "page-locked memory"];
        writeln!(text, "{:>7}  {:>24}  {:>24}", "streams", heads[0], heads[1])?;
        let cell = |time: f64, rate: Option<f64>| {
            format!("{time:.3} ms, {:.1} GB/s", rate.unwrap_or(0.0) * 1e-9)
        };
        for row in &self.rows {
            let ordinary = cell(row.ordinary_ms, row.ordinary_bytes_per_second);
            let locked = cell(row.page_locked_ms, row.page_locked_bytes_per_second);
            writeln!(text, "{:>7}  {ordinary:>24}  {locked:>24}", row.streams)?;
        }
        writeln!(text, "every sum is right")
    }
}
