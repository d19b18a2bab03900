//! A measured time: the line that benchmarks append to a file, from which `cargo xtask bench` makes the rows of
//! `docs/benchmarks/results.json` and the tables of all pages.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The variable that names the file to which programs append their [`Measured`], one JSON object a line.
pub const FILE: &str = "GRIDSTRIDE_BENCH_ROWS";

/// What was measured once: of several programs, the same case has the same name.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Measured {
    /// What was computed, with sizes and types as far as the step does not say them.
    pub case: String,
    /// Who computed it: `gridstride`, or a peer, with the way that it took if there are several.
    pub program: String,
    /// The peer's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the times include.
    pub clock: Clock,
    /// The median of the runs in milliseconds.
    pub median_ms: f64,
    /// The least of the runs.
    pub least_ms: f64,
    /// The most of the runs.
    pub most_ms: f64,
    /// Timed runs, after a first one that is not counted.
    pub runs: usize,
    /// Bytes that have to be moved at least: of arrays in the device's memory if the clock is the device's, of copies between
    /// the host and the device otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Operations that have to be done at least, a multiply-add counted as two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// The unit that does the operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The largest error that the check of the results found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The part of the work that was done, where all of it would take too long: the times are divided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// What a time includes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Calls on data in the device's memory, between two events.
    Device,
    /// Whole calls by the host's clock, with the copies from and to the host's memory.
    Call,
    /// Whole programs.
    Process,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::Device => "by events",
            Clock::Call => "whole call",
            Clock::Process => "whole program",
        })
    }
}

/// What does the operations, each with a ceiling of its own on a GPU.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Multiply-adds in `f32`, outside of tensor cores.
    F32,
    /// The same in `f64`.
    F64,
    /// Integer instructions of 32 bits, one operation each.
    I32,
    /// Tensor cores in `f64`.
    TensorF64,
    /// Tensor cores in tf32.
    TensorTf32,
    /// Tensor cores in `bf16` or `f16`.
    TensorHalf,
}

impl Measured {
    /// A row of gridstride, from the times of its runs in milliseconds.
    ///
    /// # Panics
    /// Without times.
    pub fn new(case: impl Into<String>, clock: Clock, mut times_ms: Vec<f64>) -> Measured {
        assert!(!times_ms.is_empty(), "nothing was measured");
        times_ms.sort_by(f64::total_cmp);
        Measured {
            case: case.into(),
            program: "gridstride".to_owned(),
            version: None,
            clock,
            median_ms: times_ms[times_ms.len() / 2],
            least_ms: times_ms[0],
            most_ms: times_ms[times_ms.len() - 1],
            runs: times_ms.len(),
            bytes: None,
            operations: None,
            unit: None,
            error: None,
            share: None,
        }
    }

    /// A row of gridstride that is a point of a plot: its line, and its place on the axis.
    ///
    /// # Panics
    /// Without times.
    pub fn at(line: &str, x: u64, clock: Clock, times_ms: Vec<f64>) -> Measured {
        Measured::new(format!("{line}: {x}"), clock, times_ms)
    }

    /// The line and the place on the axis, if the row is a point of a plot.
    pub fn point(&self) -> Option<(&str, u64)> {
        let (line, x) = self.case.rsplit_once(": ")?;
        Some((line, x.parse().ok()?))
    }

    /// With another program than gridstride.
    pub fn program(self, program: impl Into<String>) -> Measured {
        Measured {
            program: program.into(),
            ..self
        }
    }

    /// With the bytes that have to be moved.
    pub fn bytes(self, bytes: usize) -> Measured {
        Measured {
            bytes: Some(bytes as u64),
            ..self
        }
    }

    /// With the operations that have to be done.
    pub fn operations(self, operations: u64, unit: Unit) -> Measured {
        Measured {
            operations: Some(operations),
            unit: Some(unit),
            ..self
        }
    }

    /// With the largest error of the results.
    pub fn error(self, error: f64) -> Measured {
        Measured {
            error: Some(error),
            ..self
        }
    }

    /// With times of a part of the work, divided by this share of it.
    pub fn share(self, share: f64) -> Measured {
        Measured {
            share: Some(share),
            median_ms: self.median_ms / share,
            least_ms: self.least_ms / share,
            most_ms: self.most_ms / share,
            ..self
        }
    }

    /// Appends it to a file as a line of JSON.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let line = serde_json::to_string(self)?;
        writeln!(file, "{line}")
    }
}

/// The time with its spread, and the rates: `0.500 ms (0.490 to 0.520)  3657 GB/s`.
impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<52} {:>34}", self.case, spread(self))?;
        let per_second = |count: u64| count as f64 / self.median_ms * 1e3;
        if let Some(bytes) = self.bytes {
            write!(f, "  {:>7.1} GB/s", per_second(bytes) / 1e9)?;
        }
        if let Some(operations) = self.operations {
            write!(f, "  {:>7.2} T/s", per_second(operations) / 1e12)?;
        }
        if let Some(error) = self.error {
            write!(f, "  error {error:.1e}")?;
        }
        if self.program != "gridstride" {
            write!(f, "  {}", self.program)?;
        }
        Ok(())
    }
}

/// The median with its unit, and the least and the most in brackets, if there was more than one run.
pub fn spread(row: &Measured) -> String {
    let (unit, factor) = unit_of(row.median_ms);
    let digits = |ms: f64| three_digits(ms * factor);
    let median = digits(row.median_ms);
    match row.runs {
        1 => format!("{median} {unit}"),
        _ => format!(
            "{median} {unit} ({} to {})",
            digits(row.least_ms),
            digits(row.most_ms)
        ),
    }
}

/// The median with its unit.
pub fn median(row: &Measured) -> String {
    time(row.median_ms)
}

/// A time of milliseconds in three digits, with its unit.
pub fn time(ms: f64) -> String {
    let (unit, factor) = unit_of(ms);
    format!("{} {unit}", three_digits(ms * factor))
}

/// The unit in which a time is shown, and how many of it are a millisecond.
fn unit_of(ms: f64) -> (&'static str, f64) {
    match ms {
        _ if ms < 0.0995 => ("µs", 1e3),
        _ if ms < 9_995.0 => ("ms", 1.0),
        _ => ("s", 1e-3),
    }
}

/// A ratio in two digits or three.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        _ if ratio < 2.0 => format!("{ratio:.2}"),
        _ if ratio < 10.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A number in three digits, or all digits before the point.
pub fn three_digits(number: f64) -> String {
    match number.abs() {
        size if size < 0.9995 => format!("{number:.3}"),
        size if size < 9.995 => format!("{number:.2}"),
        size if size < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_three_digits() {
        let texts = [0.00512, 0.0996, 0.5004, 1.0, 20.66, 270.4, 12_345.6].map(time);
        let expected = [
            "5.12 µs", "0.100 ms", "0.500 ms", "1.00 ms", "20.7 ms", "270 ms", "12.3 s",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn ratios_have_few_digits() {
        assert_eq!([0.95, 5.61, 273.1].map(ratio), ["0.95", "5.6", "273"]);
        assert_eq!(percent(0.845), "84%");
    }

    #[test]
    fn rows_say_their_spread_and_rates() {
        let row = Measured::new("mean", Clock::Device, vec![0.52, 0.5, 0.49]);
        assert_eq!(
            (row.median_ms, row.least_ms, row.most_ms),
            (0.5, 0.49, 0.52)
        );
        let row = row.bytes(1 << 30).operations(4_000_000_000, Unit::F64);
        let text = row.to_string();
        let expected = "0.500 ms (0.490 to 0.520)   2147.5 GB/s     8.00 T/s";
        assert!(text.ends_with(expected), "{text}");
        let one = Measured::new("mean", Clock::Call, vec![2.0]);
        assert_eq!(spread(&one), "2.00 ms");
        assert_eq!(spread(&one.share(0.25)), "8.00 ms");
    }

    #[test]
    fn points_are_cases() {
        let row = Measured::at("mean, points of a bucket", 1000, Clock::Device, vec![2.0]);
        assert_eq!(row.case, "mean, points of a bucket: 1000");
        assert_eq!(row.point(), Some(("mean, points of a bucket", 1000)));
        assert_eq!(
            Measured::new("mean", Clock::Device, vec![2.0]).point(),
            None
        );
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let folder = std::env::temp_dir().join(format!("figures-{}", std::process::id()));
        let row = Measured::new("mean", Clock::Device, vec![0.5]).program("CUB");
        for _ in 0..2 {
            row.append(&folder).unwrap();
        }
        let text = std::fs::read_to_string(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        for line in text.lines() {
            assert_eq!(serde_json::from_str::<Measured>(line).unwrap(), row);
        }
        assert_eq!(text.lines().count(), 2);
    }
}
