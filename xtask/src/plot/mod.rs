//! Plots of measured times, from the CSV files beside them.

mod lines;
mod overview;

use std::collections::BTreeMap;
use std::path::Path;

use plotters::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::machines::Machines;
use colors::{BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION};
use lines::{Labels, Legend, Line};

/// A line of a CSV file that the benchmarks write.
#[derive(Deserialize)]
struct Measured {
    form: String,
    letters: f64,
    longest: f64,
    device_ms: f64,
}

/// Of lines.
const COLORS: [RGBColor; 6] = [GREEN, BLUE, VERMILION, PURPLE, ORANGE, SKY];

/// Lines by the name of what was measured.
type Series = BTreeMap<String, Vec<(f64, f64)>>;

/// A line of the CSV files of the box overlap.
#[derive(Deserialize)]
struct Searched {
    method: String,
    boxes: f64,
    ms: f64,
}

/// A line of the CSV files of the matrix multiplication.
#[derive(Deserialize)]
struct Multiplied {
    #[serde(rename = "type")]
    number: String,
    size: String,
    tflops: f64,
}

/// A line of the CSV files of the time series.
#[derive(Deserialize)]
struct Aggregated {
    method: String,
    points_per_bucket: f64,
    gigabytes_per_second: f64,
}

/// Draws the plots of a folder from our CSV files and, if there are any, the peers'.
pub fn draw(folder: &Path) -> Result<()> {
    let machines = Machines::read(folder)?;
    for (name, (labels, lines)) in [
        (
            "tensor_sketch_longest",
            longest_sequences(folder, &machines)?,
        ),
        ("box_overlap", searches(folder, &machines)?),
        ("matmul", products(folder, &machines)?),
        ("time_series", buckets(folder, &machines)?),
        ("crossover", crossovers(folder, &machines)?),
    ] {
        let out = folder.join(name).with_extension("svg");
        if lines.is_empty() {
            eprintln!("{} is not drawn: there are no measurements", out.display());
        } else {
            lines::draw(&out, &labels, &lines)?;
            eprintln!("{}", out.display());
        }
    }
    let bars: Vec<overview::Bar> = records(&folder.join("overview.csv"))?;
    if !bars.is_empty() {
        let out = folder.join("overview.svg");
        overview::draw(&out, &bars, machines.of("overview.csv"))?;
        eprintln!("{}", out.display());
    }
    Ok(())
}

/// A line of the CSV file of the sizes from which a GPU is faster.
#[derive(Deserialize)]
struct Compared {
    kernel: String,
    size: f64,
    cpu_ms: f64,
    gpu_ms: f64,
}

/// The labels of a plot, and its lines.
type Plot = (Labels, Vec<Line>);

fn longest_sequences(folder: &Path, machines: &Machines) -> Result<Plot> {
    const OURS: &str = "tensor_sketch_longest.csv";
    let mut series = Series::new();
    for file in [OURS, "tensor_sketch_longest_numba.csv"] {
        for line in records::<Measured>(&folder.join(file))? {
            // Our own benchmark names the form alone.
            let name = match line.form.starts_with("numba") {
                true => line.form,
                false => format!("gridstride, {} form", line.form),
            };
            let point = (100.0 * line.longest / line.letters, line.device_ms);
            series.entry(name).or_default().push(point);
        }
    }
    let machine = machines.of(OURS);
    let labels = Labels {
        title: format!("Tensor sketch of 20 M letters in 1410 sequences, {machine}"),
        x: "share of the longest sequence in all letters (%)",
        y: "time on the device (ms)",
        base: 10.0,
        legend: Legend::Within(SeriesLabelPosition::UpperLeft),
    };
    Ok((labels, colored(series)))
}

/// A line for each machine and program.
fn searches(folder: &Path, machines: &Machines) -> Result<Plot> {
    let mut series = Series::new();
    for file in [
        "box_overlap_cuda.csv",
        "box_overlap_cpu.csv",
        "box_overlap_strtree.csv",
    ] {
        for Searched { method, boxes, ms } in records(&folder.join(file))? {
            let program = match method.as_str() {
                "auto" => "gridstride",
                "brute" => "gridstride, every pair",
                "strtree" => "Shapely's STRtree",
                other => return Err(format!("{file}: unknown method {other}").into()),
            };
            let name = format!("{program}, {}", machines.of(file));
            series.entry(name).or_default().push((boxes, ms));
        }
    }
    let labels = Labels {
        title: "All overlaps of N welds and N segments of pipes".to_owned(),
        x: "N, boxes of each set",
        y: "time with building the index (ms)",
        base: 10.0,
        legend: Legend::Within(SeriesLabelPosition::UpperLeft),
    };
    Ok((labels, colored(series)))
}

fn products(folder: &Path, machines: &Machines) -> Result<Plot> {
    let labels = Labels {
        title: format!("Products of N×N matrices, {}", machines.of("matmul.csv")),
        x: "N",
        y: "TFLOP/s",
        base: 2.0,
        legend: Legend::Within(SeriesLabelPosition::LowerRight),
    };
    Ok((labels, read_products(folder)?))
}

fn buckets(folder: &Path, machines: &Machines) -> Result<Plot> {
    const OURS: &str = "time_series.csv";
    let mut series = Series::new();
    for line in records::<Aggregated>(&folder.join(OURS))? {
        let point = (line.points_per_bucket, line.gigabytes_per_second);
        let name = match line.method.as_str() {
            "eight" => "eight methods".to_owned(),
            name => name.to_owned(),
        };
        series.entry(name).or_default().push(point);
    }
    let machine = machines.of(OURS);
    let labels = Labels {
        title: format!("Statistics of 10⁸ points in buckets of time, {machine}"),
        x: "points of a bucket",
        y: "points and results, GB/s",
        base: 10.0,
        legend: Legend::Within(SeriesLabelPosition::LowerRight),
    };
    Ok((labels, colored(series)))
}

/// Returns the speed of the GPU relative to the CPU, and a line where both take the same time.
fn crossovers(folder: &Path, machines: &Machines) -> Result<Plot> {
    const FILE: &str = "crossover.csv";
    let mut series = Series::new();
    for line in records::<Compared>(&folder.join(FILE))? {
        let point = (line.size, line.cpu_ms / line.gpu_ms);
        series.entry(line.kernel).or_default().push(point);
    }
    let sizes = series.values().flatten().map(|point| point.0);
    let (least, most) = sizes.fold((f64::INFINITY, 0.0f64), |(least, most), size| {
        (least.min(size), most.max(size))
    });
    let mut lines = colored(series);
    if !lines.is_empty() {
        lines.push(Line {
            name: "as fast as the CPU".to_owned(),
            color: BLACK,
            is_dashed: true,
            points: vec![(least, 1.0), (most, 1.0)],
        });
    }
    let labels = Labels {
        title: format!("Whole calls with all copies, {}", machines.of(FILE)),
        x: "size",
        y: "the CPU's time / the GPU's",
        base: 16.0,
        legend: Legend::Beside,
    };
    Ok((labels, lines))
}

/// The rates of square products by size: a line for each type and program, a colour for each type.
fn read_products(folder: &Path) -> Result<Vec<Line>> {
    const TYPES: [&str; 5] = ["f32", "f64", "tf32", "bf16", "f16"];
    let mut lines: Vec<_> = TYPES
        .iter()
        .zip(COLORS)
        .flat_map(|(&number, color)| {
            let line = |name, is_dashed| Line {
                name,
                color,
                is_dashed,
                points: Vec::new(),
            };
            [
                line(number.to_owned(), false),
                line(format!("{number}, PyTorch"), true),
            ]
        })
        .collect();
    for (file, is_dashed) in [("matmul.csv", false), ("matmul_torch.csv", true)] {
        for line in records(&folder.join(file))? {
            let Multiplied {
                number,
                size,
                tflops,
            } = line;
            let place = TYPES.iter().position(|known| *known == number);
            let place = place.ok_or_else(|| format!("{file}: unknown type {number}"))?;
            // Other shapes have a name in place of a number.
            if let Ok(size) = size.parse() {
                lines[2 * place + usize::from(is_dashed)]
                    .points
                    .push((size, tflops));
            }
        }
    }
    lines.retain(|line| !line.points.is_empty());
    Ok(lines)
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

/// Gives each series a colour.
fn colored(series: Series) -> Vec<Line> {
    let lines = series.into_iter().zip(COLORS.iter().cycle());
    let lines = lines.map(|((name, points), &color)| Line {
        name,
        color,
        is_dashed: false,
        points,
    });
    lines.collect()
}
