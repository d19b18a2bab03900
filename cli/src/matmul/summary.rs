//! What is printed.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use gridstride::Device;
use gridstride::Number;
use gridstride::device::DeviceKind;

use super::args::{Args, TypeName};
use super::check::Checked;
use super::factors::Factors;
use super::multiplying::{Product, operations};
use super::number::Real;
use crate::common::report::{self, milliseconds, peak_memory};

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
    pub product: &'a Product<T>,
    pub checked: &'a Checked,
    pub times: Times,
}

/// Prints the summary of a run on stdout.
pub fn print<T: Real>(run: &Run<T>) -> Result<()> {
    let mut text = String::new();
    write_summary(&mut text, run)?;
    report::print(&text)
}

fn write_summary<T: Real>(text: &mut String, run: &Run<T>) -> Result<()> {
    let Factors { a, b } = run.factors;
    for (name, factor) in [("A", a), ("B", b)] {
        let (rows, columns) = factor.view().dim();
        writeln!(text, "{name}: {rows}×{columns}, {}", factor.origin)?;
    }
    let sizes = run.factors.sizes();
    let [m, _, n] = sizes;
    let numbers = match run.args.number {
        TypeName::Tf32 => "f32, products of tf32 where the device has them",
        _ => T::NAME,
    };
    let devices: Vec<_> = run
        .devices
        .iter()
        .map(|device| device.info().to_string())
        .collect();
    let (sums, devices) = (T::Sum::NAME, devices.join(" and "));
    writeln!(
        text,
        "C = A·B: {m}×{n}, {numbers}, sums in {sums}, on {devices}"
    )?;
    let Product {
        times, resident, ..
    } = run.product;
    if let Some(resident) = resident {
        let calls = calls(&resident.times, sizes);
        writeln!(text, "between matrices in the device's memory: {calls}")?;
    }
    let calls = calls(times, sizes);
    let is_cpu = |device: &Device| device.kind() == DeviceKind::Cpu;
    match run.devices.iter().all(is_cpu) {
        false => writeln!(text, "from and to the host's memory: {calls}")?,
        true => writeln!(text, "in the host's memory: {calls}")?,
    }
    writeln!(text, "{}", found(run.checked, m))?;
    let Times {
        reading,
        opening,
        checking,
        writing,
    } = run.times;
    let matrices = match run.args.a {
        Some(_) => "reading the matrices",
        None => "making the matrices",
    };
    writeln!(
        text,
        "{matrices} {:.3} ms, meanwhile opening the device {:.3} ms, checking {:.3} ms, writing {:.3} ms{}",
        milliseconds(reading),
        milliseconds(opening),
        milliseconds(checking),
        milliseconds(writing),
        peak_memory(),
    )?;
    Ok(())
}

/// The times of calls, and how much is computed in them.
fn calls(times: &[Duration], sizes: [usize; 3]) -> String {
    let mut times = times.to_vec();
    times.sort();
    let median = times[times.len() / 2];
    let mut text = format!("{:.4} ms", milliseconds(median));
    if let [least, .., most] = &times[..] {
        let (least, most) = (milliseconds(*least), milliseconds(*most));
        text += &format!(" ({least:.4}–{most:.4} in {} calls)", times.len());
    }
    let per_second = operations(sizes) / median.as_secs_f64();
    match per_second {
        // Nothing to compute, or a clock that is too coarse.
        _ if !per_second.is_finite() || per_second == 0.0 => text,
        _ if per_second < 1e12 => text + &format!(", {:.2} GFLOP/s", per_second * 1e-9),
        _ => text + &format!(", {:.2} TFLOP/s", per_second * 1e-12),
    }
}

/// What the check has found.
fn found(checked: &Checked, m: usize) -> String {
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
