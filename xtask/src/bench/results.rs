//! The file of results: a row for everything that was measured, with the machine and the sources.

use std::fs;
use std::path::Path;

use figures::{Clock, Measured, Unit};
use serde::{Deserialize, Serialize};

use super::origin::Origin;
use super::steps::STEPS;
use crate::Result;

/// The file of the rows that the pages show.
pub const RESULTS: &str = "docs/benchmarks/results.json";

/// How the programs of ours begin: on other devices, or from Python, there is more.
pub const OURS: &str = "gridstride";

/// The program of the rows that say what the machine can do.
const CEILING: &str = "ceiling";

/// A row.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// The step that measured it.
    pub step: String,
    /// What it measured.
    #[serde(flatten)]
    pub measured: Measured,
    /// The GPU, or the CPU and its threads.
    pub device: String,
    /// The GPU's driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The CPU and its threads.
    pub host: String,
    /// The day, in UTC.
    pub date: String,
    /// The commit, with a `+` if files of it were changed.
    pub commit: String,
    /// A hash: of the kernels' PTX on GPUs, of their sources on the CPU, and of a peer's program with its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Row {
    /// What a row is recognised by.
    fn key(&self) -> (&str, &str, &str, Clock) {
        let Measured {
            case,
            program,
            clock,
            ..
        } = &self.measured;
        (&self.step, case, program, *clock)
    }

    /// Whether it is of the library, on whatever devices.
    pub fn is_ours(&self) -> bool {
        self.measured.program.starts_with(OURS)
    }

    /// Whether its kernels or sources are others today.
    pub fn is_older_than(&self, today: &Origin) -> bool {
        self.is_ours()
            && self.source.is_some()
            && self.source != today.source(&self.step, self.driver.is_some())
    }
}

/// All rows, in the order of the steps.
#[derive(Debug, Default)]
pub struct Results {
    rows: Vec<Row>,
}

impl Results {
    /// Reads a file; without it there are no rows.
    ///
    /// # Errors
    /// If it cannot be read, or has something else.
    pub fn read(path: &Path) -> Result<Results> {
        if !path.exists() {
            return Ok(Results::default());
        }
        let text = fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let rows = serde_json::from_str(&text)
            .map_err(|error| format!("{} has no rows: {error}", path.display()))?;
        Ok(Results { rows })
    }

    /// Writes a file, a row in each line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let rows: serde_json::Result<Vec<_>> =
            self.rows.iter().map(serde_json::to_string).collect();
        let text = format!("[\n{}\n]\n", rows?.join(",\n"));
        Ok(fs::write(path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?)
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of a step.
    pub fn of_step<'a, 'b>(&'a self, step: &'b str) -> impl Iterator<Item = &'a Row> + use<'a, 'b> {
        self.rows.iter().filter(move |row| row.step == step)
    }

    /// Adds a row.
    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Replaces all rows of the steps and programs that others have, and removes those of steps that are no more.
    pub fn take(&mut self, others: Results) {
        let is_replaced = |row: &Row| {
            let mut others = others.rows.iter();
            others.any(|new| new.step == row.step && new.measured.program == row.measured.program)
        };
        self.rows.retain(|row| !is_replaced(row));
        self.rows.extend(others.rows);
        let place = |row: &Row| STEPS.iter().position(|step| step.name == row.step);
        self.rows.retain(|row| place(row).is_some());
        self.rows.sort_by_key(place);
    }

    /// The row that measured the same as another.
    pub fn same(&self, other: &Row) -> Option<&Row> {
        self.rows.iter().find(|row| row.key() == other.key())
    }

    /// The least time of a row by what the machine can do, as measured on the same device, divided
    /// by its time: nothing if it is not by events, or if nothing of it is counted.
    pub fn share_of_ceiling(&self, row: &Row) -> Option<f64> {
        let Measured {
            clock: Clock::Device,
            bytes,
            operations,
            unit,
            median_ms,
            ..
        } = row.measured
        else {
            return None;
        };
        let copying = bytes.and_then(|bytes| Some(bytes as f64 / self.ceiling(row, None)?));
        let computing = operations
            .zip(unit)
            .and_then(|(count, unit)| Some(count as f64 / self.ceiling(row, Some(unit))?));
        let least = [copying, computing].into_iter().flatten().reduce(f64::max);
        Some(least? / median_ms)
    }

    /// Operations a millisecond, or bytes.
    fn ceiling(&self, row: &Row, unit: Option<Unit>) -> Option<f64> {
        let mut ceilings = self.rows.iter().filter(|ceiling| {
            ceiling.measured.program == CEILING
                && ceiling.device == row.device
                && ceiling.measured.unit == unit
        });
        let Measured {
            bytes,
            operations,
            median_ms,
            ..
        } = ceilings.next()?.measured;
        Some(operations.or(bytes)? as f64 / median_ms)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A row of a mean.
    pub fn row(step: &str, case: &str, program: &str, times: Vec<f64>) -> Row {
        Row {
            step: step.to_owned(),
            measured: Measured::new(case, Clock::Device, times).program(program),
            device: "NVIDIA H200".to_owned(),
            driver: Some("580".to_owned()),
            host: "Xeon, 16 threads".to_owned(),
            date: "2026-11-30".to_owned(),
            commit: "88b441a3".to_owned(),
            source: None,
        }
    }

    /// Results with these rows.
    pub fn results(rows: &[Row]) -> Results {
        Results {
            rows: rows.to_vec(),
        }
    }

    #[test]
    fn files_have_a_row_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        assert!(Results::read(&path).unwrap().rows().is_empty());
        let rows = [
            row("matmul", "a", "gridstride", vec![1.0]),
            row("matmul", "a", "PyTorch", vec![2.0]),
        ];
        results(&rows).write(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
        assert_eq!(Results::read(&path).unwrap().rows(), rows);
        fs::write(&path, "{}").unwrap();
        let error = Results::read(&path).unwrap_err().to_string();
        assert!(error.contains("has no rows"), "{error}");
    }

    #[test]
    fn new_rows_replace_those_of_their_step_and_program() {
        let mut old = results(&[
            row("time_series", "mean", "gridstride", vec![1.0]),
            row("matmul", "a", "gridstride", vec![1.0]),
            row("matmul", "b", "gridstride", vec![1.0]),
            row("matmul", "a", "PyTorch", vec![1.0]),
            row("a step that was removed", "a", "gridstride", vec![1.0]),
        ]);
        old.take(results(&[row("matmul", "a", "gridstride", vec![2.0])]));
        let cases: Vec<_> = old
            .rows()
            .iter()
            .map(|row| (row.key(), row.measured.median_ms))
            .collect();
        let device = Clock::Device;
        let expected = [
            (("matmul", "a", "PyTorch", device), 1.0),
            (("matmul", "a", "gridstride", device), 2.0),
            (("time_series", "mean", "gridstride", device), 1.0),
        ];
        assert_eq!(cases, expected);
    }

    #[test]
    fn shares_are_of_the_slower_of_copying_and_computing() {
        let mut copy = row("ceilings", "copy", CEILING, vec![1.0]);
        copy.measured.bytes = Some(4000);
        let mut adds = row("ceilings", "f32", CEILING, vec![1.0]);
        (adds.measured.operations, adds.measured.unit) = (Some(100), Some(Unit::F32));
        let mut mean = row("time_series", "mean", "gridstride", vec![2.0]);
        mean.measured.bytes = Some(2000);
        let mut product = row("matmul", "a", "gridstride", vec![4.0]);
        product.measured = product.measured.bytes(400).operations(300, Unit::F32);
        let all = results(&[copy, adds, mean.clone(), product.clone()]);
        assert_eq!(all.share_of_ceiling(&mean), Some(0.25));
        assert_eq!(all.share_of_ceiling(&product), Some(0.75));
        mean.device = "another GPU".to_owned();
        assert_eq!(all.share_of_ceiling(&mean), None);
        product.measured.clock = Clock::Call;
        assert_eq!(all.share_of_ceiling(&product), None);
    }
}
