//! Plots of measured times, from the CSV files beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plotters::prelude::*;
use serde::Deserialize;

use crate::{Result, workspace};

/// A line of a CSV file that the benchmarks write.
#[derive(Deserialize)]
struct Measured {
    form: String,
    letters: f64,
    longest: f64,
    device_ms: f64,
}

/// Of Okabe and Ito: they differ for the colour-blind too.
const COLORS: [RGBColor; 5] = [
    RGBColor(0, 158, 115),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
];

/// Lines by the name of what was measured.
type Series = BTreeMap<String, Vec<(f64, f64)>>;

/// A line of the CSV files of the box overlap.
#[derive(Deserialize)]
struct Searched {
    method: String,
    boxes: f64,
    ms: f64,
}

/// Draws every plot of docs/benchmarks anew.
pub fn draw() -> Result<()> {
    let folder = workspace().join("docs/benchmarks");
    let sweep = [
        "tensor_sketch_longest.csv",
        "tensor_sketch_longest_numba.csv",
    ];
    let files = sweep.map(|file| folder.join(file));
    let series = read(&files, |line| {
        (100.0 * line.longest / line.letters, line.device_ms)
    })?;
    let out = folder.join("tensor_sketch_longest.svg");
    let labels = Labels {
        title: "Tensor sketch of 20 M letters in 1410 sequences, H100",
        x: "share of the longest sequence in all letters (%)",
        y: "time on the device (ms)",
    };
    lines(&out, &labels, &series)?;
    println!("{}", out.display());

    let series = read_searches(&folder)?;
    let out = folder.join("box_overlap.svg");
    let labels = Labels {
        title: "All overlaps of N welds and N segments of pipes",
        x: "N, boxes of each set",
        y: "time with building the index (ms)",
    };
    lines(&out, &labels, &series)?;
    println!("{}", out.display());
    Ok(())
}

/// The times of the box overlap by size, from one file for each machine or program.
fn read_searches(folder: &Path) -> Result<Series> {
    let mut series = Series::new();
    for (file, machine) in [
        ("box_overlap_cuda.csv", "H100"),
        ("box_overlap_cpu.csv", "2 CPU cores"),
        ("box_overlap_strtree.csv", "1 CPU core"),
    ] {
        let path = folder.join(file);
        let lines = csv::Reader::from_path(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?
            .into_deserialize();
        for line in lines {
            let Searched { method, boxes, ms } = line?;
            let program = match method.as_str() {
                "auto" => "gridstride",
                "brute" => "gridstride, every pair",
                "strtree" => "Shapely's STRtree",
                other => return Err(format!("{file}: unknown method {other}").into()),
            };
            let name = format!("{program}, {machine}");
            series.entry(name).or_default().push((boxes, ms));
        }
    }
    Ok(series)
}

fn read(files: &[PathBuf], point: impl Fn(&Measured) -> (f64, f64)) -> Result<Series> {
    let mut series = Series::new();
    for file in files {
        let lines = csv::Reader::from_path(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?
            .into_deserialize();
        for line in lines {
            let line: Measured = line?;
            // Our own benchmark names the form alone.
            let name = match line.form.starts_with("numba") {
                true => line.form.clone(),
                false => format!("gridstride, {} form", line.form),
            };
            series.entry(name).or_default().push(point(&line));
        }
    }
    Ok(series)
}

struct Labels {
    title: &'static str,
    x: &'static str,
    y: &'static str,
}

/// A plot with both axes logarithmic.
fn lines(path: &Path, labels: &Labels, series: &Series) -> Result<()> {
    let points = || series.values().flatten();
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), value| {
            (value.min(low), value.max(high))
        });
        10f64.powf(low.log10().floor())..10f64.powf(high.log10().ceil())
    };
    let (xs, ys) = (
        range(&mut points().map(|point| point.0)),
        range(&mut points().map(|point| point.1)),
    );
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (800, 480)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(labels.title, ("sans-serif", 20))
            .margin(16)
            .margin_right(40)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(xs.log_scale(), ys.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(labels.x)
            .y_desc(labels.y)
            .label_style(("sans-serif", 14))
            .light_line_style(BLACK.mix(0.05))
            .x_label_formatter(&|value| value.to_string())
            .y_label_formatter(&|value| value.to_string())
            .draw()?;
        for (number, (name, points)) in series.iter().enumerate() {
            let style = COLORS[number % COLORS.len()].stroke_width(2);
            let marks = points
                .iter()
                .map(|&point| Circle::new(point, 3, style.filled()));
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style))?
                .label(name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
            chart.draw_series(marks)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.2))
            .label_font(("sans-serif", 14))
            .draw()?;
        area.present()?;
    }
    fs::write(path, text)?;
    Ok(())
}
