//! Combinations of parameters, and how well the sketches of each estimate edit distances.

use std::fmt::Write;

use anyhow::Result;
use gridstride::Device;
use gridstride::tensor_sketch::{Alphabet, Tables};
use program::output::OutputFile;
use program::progress;
use serde::Serialize;

use super::args::Args;
use super::estimates::Estimates;
use super::records::Pairs;
use crate::common::spearman::spearman;
use crate::tensor_sketch::args::Windows;

/// A combination, with one seed.
#[derive(Clone, Serialize)]
pub struct Point {
    pub tuple: usize,
    pub dim: usize,
    /// Letters of windows, and between the beginnings of neighbours; null for whole sequences.
    pub width: Option<usize>,
    pub stride: Option<usize>,
    pub seed: u64,
    /// The correlation with the edit distances; null if it is undefined.
    pub spearman: Option<f64>,
}

impl Point {
    /// Returns whether two points differ by their seed alone.
    pub fn is_same_but_for_seed(&self, other: &Point) -> bool {
        let key = |point: &Point| (point.tuple, point.dim, point.width, point.stride);
        key(self) == key(other)
    }

    /// Returns what is sketched, for people.
    pub fn sketched(&self) -> String {
        match (self.width, self.stride) {
            (Some(width), Some(stride)) => format!("windows {width}:{stride}"),
            _ => "whole sequences".into(),
        }
    }
}

/// Compares all combinations: for each length of tuples and each dimension whole sequences, then
/// windows, each with all seeds.
pub fn search(args: &Args, devices: &[Device], pairs: &Pairs, edit: &[f64]) -> Result<Vec<Point>> {
    let windows = args.windows.iter().copied().map(Some);
    let kinds: Vec<Option<Windows>> = std::iter::once(None).chain(windows).collect();
    let count = args.tuple.len() * args.dim.len() * kinds.len() * args.seeds as usize;
    let bar = progress::count("comparing", count as u64, "combinations");
    let mut points = Vec::with_capacity(count);
    for &tuple in &args.tuple {
        for &dim in &args.dim {
            for &windows in &kinds {
                for seed in (0..args.seeds).map(|i| args.seed.wrapping_add(i)) {
                    let alphabet = Alphabet::from(args.alphabet).size();
                    let tables = Tables::from_seed(alphabet, tuple, dim, seed)?;
                    let estimates = Estimates::new(devices, pairs, tables);
                    let distances = match windows {
                        None => estimates.plain()?,
                        Some(windows) => estimates.slide(windows)?,
                    };
                    points.push(Point {
                        tuple,
                        dim,
                        width: windows.map(|windows| windows.width.get()),
                        stride: windows.map(|windows| windows.stride.get()),
                        seed,
                        spearman: spearman(edit, &distances),
                    });
                    bar.inc(1);
                }
            }
        }
    }
    bar.finish_and_clear();
    Ok(points)
}

/// Writes a line for each point, with empty cells for what it does not have.
pub fn write(file: &mut OutputFile, points: &[Point]) -> Result<()> {
    let mut text = "tuple\tdim\twidth\tstride\tseed\tspearman\n".to_owned();
    for point in points {
        let number = |number: Option<usize>| number.map_or(String::new(), |n| n.to_string());
        let (width, stride) = (number(point.width), number(point.stride));
        let spearman = point
            .spearman
            .map_or(String::new(), |value| value.to_string());
        let Point {
            tuple, dim, seed, ..
        } = point;
        writeln!(
            text,
            "{tuple}\t{dim}\t{width}\t{stride}\t{seed}\t{spearman}"
        )?;
    }
    file.write_all(text.as_bytes())
}

/// The correlations of a combination over all seeds.
pub struct Spread {
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Returns `None` if a correlation is undefined.
    pub fn of(points: &[Point]) -> Option<Spread> {
        let values: Option<Vec<f64>> = points.iter().map(|point| point.spearman).collect();
        let values = values?;
        Some(Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}
