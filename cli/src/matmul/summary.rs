//! The printed summary.

use std::fmt::{Result, Write};
use std::time::Duration;

use checks::matmul::{Checked, Real};
use gridstride::device::DeviceKind;
use gridstride::{Choice, Device, Number};
use program::report::{self, PeakMemory, milliseconds, per_second};
use serde::Serialize;

use super::args::Args;
use super::factors::{Factor, Factors};
use super::multiplying::{TimedProduct, operations};
use crate::common::device_summary::DeviceSummary;
use crate::common::number_type::NumberType;

/// The parts of a run besides the product.
#[derive(Default)]
pub struct Times {
    /// Reading or making the matrices.
    pub reading: Duration,
    /// Opening the device, during that.
    pub opening: Duration,
    pub checking: Duration,
    pub writing: Duration,
}

/// A finished run.
pub struct Run<'a, T: Real> {
    pub args: &'a Args,
    pub factors: &'a Factors<T>,
    pub devices: &'a [Device],
    pub product: &'a TimedProduct<T>,
    pub checked: &'a Checked,
    pub times: Times,
}

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary {
    a: FactorSummary,
    b: FactorSummary,
    rows: usize,
    columns: usize,
    #[serde(rename = "type")]
    number: &'static str,
    sum_type: &'static str,
    devices: Vec<DeviceSummary>,
    /// Calls between matrices in the device's memory; none on the CPU and on several devices.
    device_calls: Option<Calls>,
    /// Calls from and to the host's memory.
    host_calls: Calls,
    check: Checked,
    out: Option<String>,
    #[serde(skip)]
    is_read: bool,
    #[serde(skip)]
    is_on_host: bool,
    reading_ms: f64,
    opening_ms: f64,
    checking_ms: f64,
    writing_ms: f64,
    peak_memory_bytes: PeakMemory,
}

#[derive(Serialize)]
struct FactorSummary {
    rows: usize,
    columns: usize,
    origin: String,
}

/// The times of calls, and how much is computed in them.
#[derive(Serialize)]
struct Calls {
    calls: usize,
    median_ms: f64,
    least_ms: f64,
    most_ms: f64,
    operations_per_second: Option<f64>,
}

impl Summary {
    pub fn new<T: Real>(run: &Run<T>) -> Summary {
        let sizes = run.factors.sizes();
        let [rows, _, columns] = sizes;
        let (product, times) = (run.product, &run.times);
        let is_cpu = |device: &Device| device.kind() == DeviceKind::Cpu;
        let resident = product.resident.as_ref();
        Summary {
            a: FactorSummary::new(&run.factors.a),
            b: FactorSummary::new(&run.factors.b),
            rows,
            columns,
            number: match run.args.number {
                Some(number @ (NumberType::Tf32 | NumberType::F32ByBf16x6)) => number.name(),
                _ => T::NAME,
            },
            sum_type: T::Sum::NAME,
            devices: DeviceSummary::all(run.devices),
            is_on_host: run.devices.iter().all(is_cpu),
            device_calls: resident.map(|resident| Calls::new(&resident.times, sizes)),
            host_calls: Calls::new(&product.times, sizes),
            check: *run.checked,
            out: run.args.out.as_ref().map(|path| path.display().to_string()),
            is_read: run.args.a.is_some(),
            reading_ms: milliseconds(times.reading),
            opening_ms: milliseconds(times.opening),
            checking_ms: milliseconds(times.checking),
            writing_ms: milliseconds(times.writing),
            peak_memory_bytes: PeakMemory::now(),
        }
    }
}

impl FactorSummary {
    fn new<T: Real>(factor: &Factor<T>) -> FactorSummary {
        let (rows, columns) = factor.view().dim();
        FactorSummary {
            rows,
            columns,
            origin: factor.origin.clone(),
        }
    }
}

impl Calls {
    /// Summarises the times of at least one call.
    fn new(times: &[Duration], sizes: [usize; 3]) -> Calls {
        let mut times: Vec<f64> = times.iter().copied().map(milliseconds).collect();
        times.sort_by(f64::total_cmp);
        let median_ms = times[times.len() / 2];
        Calls {
            calls: times.len(),
            median_ms,
            least_ms: times[0],
            most_ms: times[times.len() - 1],
            operations_per_second: per_second(operations(sizes), median_ms),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{:.4} ms", self.median_ms);
        if self.calls > 1 {
            let Calls {
                calls,
                least_ms,
                most_ms,
                ..
            } = self;
            text += &format!(" ({least_ms:.4}–{most_ms:.4} in {calls} calls)");
        }
        match self.operations_per_second {
            None => text,
            Some(rate) if rate < 1e12 => text + &format!(", {:.2} GFLOP/s", rate * 1e-9),
            Some(rate) => text + &format!(", {:.2} TFLOP/s", rate * 1e-12),
        }
    }
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> Result {
        for (name, factor) in [("A", &self.a), ("B", &self.b)] {
            let FactorSummary {
                rows,
                columns,
                origin,
            } = factor;
            writeln!(text, "{name}: {rows}×{columns}, {origin}")?;
        }
        let numbers = match self.number {
            "tf32" => "f32, products of tf32 where the device has them",
            "f32-by-bf16x6" => "f32, six products of bf16 where the device has them",
            name => name,
        };
        let devices = self.devices.iter().map(|device| &*device.description);
        let devices: Vec<_> = devices.collect();
        let devices = devices.join(" and ");
        let (rows, columns, sums) = (self.rows, self.columns, self.sum_type);
        writeln!(
            text,
            "C = A·B: {rows}×{columns}, {numbers}, sums in {sums}, on {devices}"
        )?;
        let calls = self.host_calls.text();
        if let Some(there) = &self.device_calls {
            let there = there.text();
            writeln!(text, "between matrices in the device's memory: {there}")?;
        }
        match self.is_on_host {
            false => writeln!(text, "from and to the host's memory: {calls}")?,
            true => writeln!(text, "in the host's memory: {calls}")?,
        }
        writeln!(text, "{}", check_text(&self.check, rows))?;
        report::add_files(text, &[("product", &self.out)]);
        let matrices = match self.is_read {
            true => "reading the matrices",
            false => "making the matrices",
        };
        writeln!(
            text,
            "{matrices} {:.3} ms, meanwhile opening the device {:.3} ms, checking {:.3} ms, writing {:.3} ms{}",
            self.reading_ms,
            self.opening_ms,
            self.checking_ms,
            self.writing_ms,
            self.peak_memory_bytes,
        )
    }
}

/// Returns the result of the check as text.
fn check_text(checked: &Checked, m: usize) -> String {
    let Checked {
        rows,
        share,
        error,
        numbers,
        unbounded,
    } = *checked;
    if numbers == 0 {
        return "checked: there are no numbers in C".into();
    }
    let mut text = format!("checked: {rows} of {m} rows against f64: ");
    if unbounded < numbers {
        text += &format!(
            "the largest error is {error:.1e}, and none is above {share:.1e} of its bound: the product is within \
             the bound"
        );
    }
    match unbounded {
        0 => {}
        _ if unbounded == numbers => {
            text += "no number has a bound (NaN, infinities or too large sums)"
        }
        _ => {
            text += &format!(
                "; {unbounded} of {numbers} numbers have none (NaN, infinities or too large sums)"
            )
        }
    }
    text
}
