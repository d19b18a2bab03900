//! Plots of the file of results.

mod bars;
mod lines;
mod overview;

use std::collections::BTreeMap;
use std::path::Path;

use figures::Clock;
use plotters::prelude::*;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::bench::results::{Results, Row};
use colors::{BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION};
use lines::{Labels, Legend, Line};

/// Of lines.
const COLORS: [RGBColor; 6] = [GREEN, BLUE, VERMILION, PURPLE, ORANGE, SKY];

/// A plot of the rows that are points: the name of its file, its steps, and what stands at its axes.
struct Plot {
    name: &'static str,
    steps: &'static [&'static str],
    title: &'static str,
    x: &'static str,
    y: &'static str,
    base: f64,
    legend: Legend,
    /// The number of a row.
    number: fn(&Results, &Row) -> Option<f64>,
}

const PLOTS: [Plot; 5] = [
    Plot {
        name: "tensor_sketch_longest",
        steps: &["tensor_sketch_longest"],
        title: "Tensor sketch of 20 M letters in 1410 sequences",
        x: "letters of the longest sequence",
        y: "time on the device (ms)",
        base: 10.0,
        legend: Legend::Within(SeriesLabelPosition::UpperLeft),
        number: milliseconds,
    },
    Plot {
        name: "box_overlap",
        steps: &["box_overlap_sizes", "box_overlap_cpu_sizes"],
        title: "All overlaps of N welds and N segments of pipes",
        x: "N, boxes of each set",
        y: "time with building the index (ms)",
        base: 10.0,
        legend: Legend::Within(SeriesLabelPosition::UpperLeft),
        number: milliseconds,
    },
    Plot {
        name: "matmul",
        steps: &["matmul"],
        title: "Products of N×N matrices",
        x: "N",
        y: "TFLOP/s",
        base: 2.0,
        legend: Legend::Beside,
        // Of the product, whatever it is made of.
        number: |_, row| Some(2.0 * (point(row)?.1 as f64).powi(3) / row.measured.median_ms / 1e9),
    },
    Plot {
        name: "time_series",
        steps: &["time_series_buckets"],
        title: "Statistics of 10⁸ points in buckets of time",
        x: "points of a bucket",
        y: "points and results, GB/s",
        base: 10.0,
        legend: Legend::Within(SeriesLabelPosition::LowerRight),
        number: |_, row| Some(row.measured.bytes? as f64 / row.measured.median_ms / 1e6),
    },
    Plot {
        name: "crossover",
        steps: &["crossover"],
        title: "Whole calls with all copies",
        x: "size, in the unit that the legend says",
        y: "the CPU's time / the GPU's",
        base: 16.0,
        legend: Legend::Beside,
        number: |results, row| {
            let mut on_cpu = row.clone();
            "gridstride (CPU)".clone_into(&mut on_cpu.measured.program);
            let is_on_cpu = row.measured.program == on_cpu.measured.program;
            let on_cpu = results.same(&on_cpu).filter(|_| !is_on_cpu)?;
            Some(on_cpu.measured.median_ms / row.measured.median_ms)
        },
    },
];

/// The line and the place on the axis: of a point, or of a product of square matrices by events, `4096³, f32`.
fn point(row: &Row) -> Option<(&str, u64)> {
    let of_product = || {
        let (size, line) = row.measured.case.split_once("³, ")?;
        let is_plain = row.measured.clock == Clock::Device && line != "f16";
        Some((line, size.parse().ok().filter(|_| is_plain)?))
    };
    row.measured.point().or_else(of_product)
}

fn milliseconds(_: &Results, row: &Row) -> Option<f64> {
    Some(row.measured.median_ms)
}

/// Draws all plots into a folder; those without rows are left out.
///
/// # Errors
/// If a file cannot be written.
pub fn draw(results: &Results, folder: &Path) -> Result<()> {
    for plot in PLOTS {
        let path = folder.join(plot.name).with_extension("svg");
        plot.draw(results, &path)?;
    }
    overview::draw(results, folder)
}

impl Plot {
    fn draw(self, results: &Results, path: &Path) -> Result<()> {
        let rows = || self.steps.iter().flat_map(|step| results.of_step(step));
        let rows: Vec<_> = rows().filter(|row| point(row).is_some()).collect();
        let Some(first) = rows.first() else {
            return Ok(());
        };
        let has_devices = rows.iter().any(|row| row.device != first.device);
        // By device, line and program, so that a peer follows the line that it belongs to.
        let mut lines: BTreeMap<_, Vec<(f64, f64)>> = BTreeMap::new();
        for row in &rows {
            let (Some((line, x)), Some(y)) = (point(row), (self.number)(results, row)) else {
                continue;
            };
            let device = if has_devices { short(&row.device) } else { "" };
            let key = (device, line, row.measured.program.as_str());
            lines.entry(key).or_default().push((x as f64, y));
        }
        let mut colors: Vec<(&str, &str)> = Vec::new();
        let mut drawn = Vec::new();
        for ((device, line, program), points) in lines {
            let place = colors.iter().position(|known| *known == (device, line));
            let place = place.unwrap_or_else(|| {
                colors.push((device, line));
                colors.len() - 1
            });
            let is_ours = program == "gridstride";
            // A program may have the line's name in its own.
            let line = if program.contains(line) && !is_ours {
                ""
            } else {
                line
            };
            let names = [line, if is_ours { "" } else { program }, device];
            let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
            drawn.push(Line {
                name: names.join(", "),
                color: COLORS[place % COLORS.len()],
                is_dashed: !is_ours,
                points,
            });
        }
        if self.name == "crossover" {
            drawn.push(even(&drawn));
        }
        let title = match has_devices {
            true => self.title.to_owned(),
            false => format!("{}, {}", self.title, short(&first.device)),
        };
        let labels = Labels {
            title,
            x: self.x,
            y: self.y,
            base: self.base,
            legend: self.legend,
        };
        lines::draw(path, &labels, &drawn)
    }
}

/// A line where both devices take the same time.
fn even(lines: &[Line]) -> Line {
    let sizes = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.0);
    let (least, most) = sizes.fold((f64::INFINITY, 0.0f64), |(least, most), size| {
        (least.min(size), most.max(size))
    });
    Line {
        name: "as fast as the CPU".to_owned(),
        color: BLACK,
        is_dashed: true,
        points: vec![(least, 1.0), (most, 1.0)],
    }
}

/// The name of a device in a plot: without its maker, and of a host the threads alone.
fn short(device: &str) -> &str {
    let threads = device.rsplit_once(", ").map(|(_, threads)| threads);
    threads.unwrap_or(device).trim_start_matches("NVIDIA ")
}

/// Reads a CSV file without lines that begin with `#`; nothing if there is no such file.
pub fn records<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    separated(path, b',')
}

/// Likewise with tabs in place of commas.
pub fn tab_separated<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    separated(path, b'\t')
}

fn separated<T: DeserializeOwned>(path: &Path, delimiter: u8) -> Result<Vec<T>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let cannot_read = |error| format!("cannot read {}: {error}", path.display());
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader
        .comment(Some(b'#'))
        .delimiter(delimiter)
        .from_path(path)
        .map_err(cannot_read)?;
    let lines: csv::Result<_> = reader.into_deserialize().collect();
    Ok(lines.map_err(cannot_read)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::RESULTS;

    /// A plot without rows would keep the lines of an earlier run.
    #[test]
    fn plots_have_rows() {
        let results = Results::read(&crate::workspace().join(RESULTS)).unwrap();
        for plot in PLOTS {
            let mut rows = results.of_step(plot.steps[0]);
            assert!(rows.any(|row| point(row).is_some()), "{}", plot.name);
        }
    }
}
