//! What the benchmarks share. Each program uses a part of it.
#![allow(dead_code, unused_imports)]

pub mod boxes;

use std::path::Path;
use std::time::Instant;

pub use figures::{Clock, Measured, Unit};
pub use gridstride::device::DeviceName;

use gridstride::device::DeviceKind;
use gridstride::tensor_sketch::{Entry, Form, Tables};
use gridstride::time_series::Method;
use gridstride::{Device, Real};
use ndarray::Array2;
use rayon::prelude::*;

/// What rows of time series call eight methods.
pub const EIGHT: [Method; 8] = [
    Method::COUNT,
    Method::SUM,
    Method::MEAN,
    Method::MIN,
    Method::MAX,
    Method::FIRST,
    Method::LAST,
    Method::STD,
];

/// Parses a number of runs or calls: the median of none does not exist.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one has to be timed".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

/// Prints a row, and appends it to the file that `cargo xtask bench` names.
pub fn show(row: &Measured) -> std::io::Result<()> {
    println!("{row}");
    match std::env::var_os(figures::FILE) {
        Some(path) => row.append(Path::new(&path)),
        None => Ok(()),
    }
}

/// A count as rows say it: `10⁸`, `200 000` or `1000`.
pub fn grouped(count: usize) -> String {
    const POWERS: [&str; 5] = ["10⁶", "10⁷", "10⁸", "10⁹", "10¹⁰"];
    let power = (6..).zip(POWERS);
    if let Some((_, text)) = power.into_iter().find(|&(i, _)| 10usize.pow(i) == count) {
        return text.to_owned();
    }
    match (count / 1000, count % 1000) {
        (0..10, _) => count.to_string(),
        (thousands @ 10..1000, rest) => format!("{thousands} {rest:03}"),
        (thousands, rest) => format!("{} {:03} {rest:03}", thousands / 1000, thousands % 1000),
    }
}

/// What does the operations on a type of numbers, outside of tensor cores: sums of types that are narrower are of `f32`.
pub fn unit(type_name: &str) -> Unit {
    match type_name {
        "f64" => Unit::F64,
        _ => Unit::F32,
    }
}

/// The largest error, or NaN if one is: `f64::max` would drop it.
pub fn largest(errors: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |worst: f64, error: f64| match error.is_nan() || error > worst {
        true => error,
        false => worst,
    };
    errors.into_iter().fold(0.0, larger)
}

/// The times of calls in milliseconds by the device's events (by the clock on the CPU), and the last result. Results are
/// freed outside of the timed parts.
pub fn time<T>(
    device: &Device,
    runs: usize,
    call: &dyn Fn() -> gridstride::Result<T>,
) -> gridstride::Result<(Vec<f64>, T)> {
    let (start, end) = (device.event()?, device.event()?);
    let mut times = Vec::new();
    let mut result = call()?;
    for _ in 0..runs {
        drop(result);
        let begin = Instant::now();
        device.record(&start)?;
        result = call()?;
        device.record(&end)?;
        let elapsed = match device.kind() {
            DeviceKind::Cpu => begin.elapsed(),
            _ => end.elapsed_since(&start)?,
        };
        times.push(elapsed.as_secs_f64() * 1e3);
    }
    Ok((times, result))
}

/// The times of whole calls in milliseconds by the host's clock, after a first one, and the last result. Results are freed
/// outside of the timed parts.
pub fn time_whole<T, E>(
    runs: usize,
    mut call: impl FnMut() -> Result<T, E>,
) -> Result<(Vec<f64>, T), E> {
    let mut times = Vec::new();
    let mut result = call()?;
    for _ in 0..runs {
        drop(result);
        let start = Instant::now();
        result = call()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok((times, result))
}

/// Panics if an entry of normalized sketches of up to `longest` letters is farther from the `exact` one, of the direct
/// form in `f64` on the CPU, than roundings explain.
pub fn check_sketches<T: Entry>(
    form: Form,
    tables: &Tables,
    longest: usize,
    sketches: &Array2<T>,
    exact: &Array2<f64>,
) {
    assert_eq!(sketches.dim(), exact.dim());
    let [n, t, dim] = [longest, tables.tuple_length(), tables.dim()].map(|number| number as f64);
    let bound = match (form, T::NAME) {
        // The documented γ_n allows long sequences anything. Independent roundings stay below this but with a probability
        // of 2·exp(−50) (Higham and Mary, doi 10.1137/18M1226312). These are not independent, but errors of up to 10⁶
        // letters are far below too.
        (Form::Direct, _) => 10.0 * n.sqrt() * T::UNIT_ROUNDOFF,
        (_, "f32") => 1500.0 * t * T::UNIT_ROUNDOFF,
        _ => (3200.0 * t + 2.0 * dim + 26.0 * t * n / (8 << 20) as f64) * T::UNIT_ROUNDOFF,
    };
    // Three roundings for normalized entries, and the roundings of the exact ones.
    let bound = bound + 3.0 * T::UNIT_ROUNDOFF + (n + 3.0) * f64::UNIT_ROUNDOFF;
    let errors = sketches.iter().zip(exact);
    let error = largest(errors.map(|(entry, exact)| (entry.to_f64() - exact).abs()));
    assert!(
        error <= bound,
        "an entry is {error:.1e} off, by more than {bound:.1e}"
    );
}

/// Random elements, each made of one number of the same sequence that one generator gives one after the other.
pub fn random<T: Send>(
    seed: u64,
    count: usize,
    element: impl Fn(&mut Random) -> T + Sync,
) -> Vec<T> {
    let at = |i: usize| {
        element(&mut Random(
            seed.wrapping_add(Random::STEP.wrapping_mul(i as u64)),
        ))
    };
    (0..count).into_par_iter().map(at).collect()
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Random::STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In (0, 1].
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// By the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let angle = std::f64::consts::TAU * self.uniform();
        (-2.0 * self.uniform().ln()).sqrt() * angle.cos()
    }

    /// Below `bound`, to about its share of 2⁶⁴.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
