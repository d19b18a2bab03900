//! Tables of pairs and of grids, for people.

use std::fmt::{Result, Write};

use files::text::shortened;
use serde::Serialize;

use super::grid::{Point, Spread};

/// Characters of a name that are shown in a table.
const NAME: usize = 20;

/// A pair as it is shown.
#[derive(Serialize)]
pub struct Pair {
    pub a: String,
    pub b: String,
    pub lengths: [usize; 2],
    pub edit_distance: f64,
    pub sketch_distance: f64,
    /// None without windows.
    pub slide_distance: Option<f64>,
}

/// Writes the first pairs, in columns.
pub fn write_pairs(text: &mut String, pairs: &[Pair], count: usize) -> Result {
    let name = |name: &str| shortened(name, NAME);
    let widths = pairs
        .iter()
        .map(|pair| [&pair.a, &pair.b].map(|text| name(text).chars().count()));
    let [a, b] = widths.fold([1, 1], |[a, b], width| [a.max(width[0]), b.max(width[1])]);
    writeln!(
        text,
        "{:a$}  {:b$} {:>10} {:>10} {:>14} {:>12} {:>12}",
        "a", "b", "length a", "length b", "edit distance", "sketches", "windows"
    )?;
    for pair in pairs {
        let [length_a, length_b] = pair.lengths;
        let slide = pair.slide_distance;
        let slide = slide.map_or("-".into(), |distance| format!("{distance:.4e}"));
        writeln!(
            text,
            "{:a$}  {:b$} {length_a:>10} {length_b:>10} {:>14} {:>12.4e} {slide:>12}",
            name(&pair.a),
            name(&pair.b),
            pair.edit_distance,
            pair.sketch_distance,
        )?;
    }
    match count - pairs.len() {
        0 => Ok(()),
        more => writeln!(text, "... and {more} more"),
    }
}

/// Writes a line for each combination, with the range of the seeds if there are several.
pub fn write_grid(text: &mut String, points: &[Point]) -> Result {
    writeln!(
        text,
        "{:>5} {:>5}  {:24} {:>8}",
        "tuple", "dim", "sketched", "spearman"
    )?;
    let mut best: Option<(f64, &Point)> = None;
    for seeds in points.chunk_by(|a, b| a.is_same_but_for_seed(b)) {
        let Point { tuple, dim, .. } = seeds[0];
        write!(text, "{tuple:>5} {dim:>5}  {:24} ", seeds[0].sketched())?;
        let Some(spread) = Spread::of(seeds) else {
            writeln!(text, "{:>8}", "-")?;
            continue;
        };
        write!(text, "{:>8.3}", spread.mean)?;
        if seeds.len() > 1 {
            write!(text, " ({:.3} to {:.3})", spread.least, spread.most)?;
        }
        writeln!(text)?;
        if best.is_none_or(|(mean, _)| spread.mean > mean) {
            best = Some((spread.mean, &seeds[0]));
        }
    }
    match best {
        Some((mean, point)) => writeln!(
            text,
            "best: {mean:.3} with --tuple {} --dim {}, {}",
            point.tuple,
            point.dim,
            point.sketched()
        ),
        None => Ok(()),
    }
}
