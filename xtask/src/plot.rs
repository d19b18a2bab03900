//! Plots of measured times, from the CSV files beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

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

/// A line of a plot.
struct Line {
    name: String,
    color: RGBColor,
    is_dashed: bool,
    points: Vec<(f64, f64)>,
}

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
        base: 10.0,
        legend: SeriesLabelPosition::UpperLeft,
    };
    draw_lines(&out, &labels, &colored(series))?;
    println!("{}", out.display());

    let series = read_searches(&folder)?;
    let out = folder.join("box_overlap.svg");
    let labels = Labels {
        title: "All overlaps of N welds and N segments of pipes",
        x: "N, boxes of each set",
        y: "time with building the index (ms)",
        base: 10.0,
        legend: SeriesLabelPosition::UpperLeft,
    };
    draw_lines(&out, &labels, &colored(series))?;
    println!("{}", out.display());

    let products = read_products(&folder)?;
    let out = folder.join("matmul.svg");
    let labels = Labels {
        title: "Products of N×N matrices, H100",
        x: "N",
        y: "TFLOP/s",
        base: 2.0,
        legend: SeriesLabelPosition::LowerRight,
    };
    draw_lines(&out, &labels, &products)?;
    println!("{}", out.display());

    let mut series = Series::new();
    for line in records::<Aggregated>(&folder.join("time_series.csv"))? {
        let point = (line.points_per_bucket, line.gigabytes_per_second);
        let name = match line.method.as_str() {
            "eight" => "eight methods".to_owned(),
            name => name.to_owned(),
        };
        series.entry(name).or_default().push(point);
    }
    let out = folder.join("time_series.svg");
    let labels = Labels {
        title: "Statistics of 10⁸ points in buckets of time, H100",
        x: "points of a bucket",
        y: "points and results, GB/s",
        base: 10.0,
        legend: SeriesLabelPosition::LowerRight,
    };
    draw_lines(&out, &labels, &colored(series))?;
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
        for Searched { method, boxes, ms } in records(&folder.join(file))? {
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

/// The rates of square products by size: a line for each type and program, those of a type in one colour.
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

fn read(files: &[PathBuf], point: impl Fn(&Measured) -> (f64, f64)) -> Result<Series> {
    let mut series = Series::new();
    for file in files {
        for line in records::<Measured>(file)? {
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

/// The lines of a CSV file.
fn records<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let cannot_read = |error| format!("cannot read {}: {error}", path.display());
    let reader = csv::Reader::from_path(path).map_err(cannot_read)?;
    let lines: csv::Result<_> = reader.into_deserialize().collect();
    Ok(lines.map_err(cannot_read)?)
}

/// Each series in a colour of its own.
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

struct Labels {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    /// The axis of x has its numbers at powers of this, and begins and ends at such.
    base: f64,
    legend: SeriesLabelPosition,
}

/// A plot with both axes logarithmic.
fn draw_lines(path: &Path, labels: &Labels, lines: &[Line]) -> Result<()> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |values: &mut dyn Iterator<Item = f64>, base: f64| {
        let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), value| {
            (value.min(low), value.max(high))
        });
        // Logarithms of powers may be next to whole numbers.
        let (low, high) = (low.log(base) + 1e-9, high.log(base) - 1e-9);
        base.powf(low.floor())..base.powf(high.ceil())
    };
    let (xs, ys) = (
        range(&mut points().map(|point| point.0), labels.base),
        range(&mut points().map(|point| point.1), 10.0),
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
            .build_cartesian_2d(xs.log_scale().base(labels.base), ys.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(labels.x)
            .y_desc(labels.y)
            .label_style(("sans-serif", 14))
            .light_line_style(BLACK.mix(0.05))
            .x_label_formatter(&|value| value.to_string())
            .y_label_formatter(&|value| value.to_string())
            .draw()?;
        for line in lines {
            let style = line.color.stroke_width(2);
            let points = || line.points.iter().copied();
            let of_legend = |(x, y)| [(x, y), (x + 20, y)];
            // A dashed line has rings for marks.
            let mark = match line.is_dashed {
                false => {
                    let drawn = chart.draw_series(LineSeries::new(points(), style))?;
                    let drawn = drawn.label(line.name.as_str());
                    drawn.legend(move |place| PathElement::new(of_legend(place), style));
                    style.filled()
                }
                true => {
                    let (dash, gap) = (6, 4);
                    let drawn = DashedLineSeries::new(points(), dash, gap, style);
                    let drawn = chart.draw_series(drawn)?.label(line.name.as_str());
                    drawn.legend(move |place| {
                        DashedPathElement::new(of_legend(place), dash, gap, style)
                    });
                    line.color.stroke_width(1)
                }
            };
            chart.draw_series(points().map(|point| Circle::new(point, 3, mark)))?;
        }
        chart
            .configure_series_labels()
            .position(labels.legend.clone())
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.2))
            .label_font(("sans-serif", 14))
            .draw()?;
        area.present()?;
    }
    fs::write(path, text)?;
    Ok(())
}
