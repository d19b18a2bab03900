//! Distances as a picture: a heat map, and beside it a tree.

mod paint;

use anyhow::Result;
use files::text::shortened;
use ndarray::{Array2, ArrayView2};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::tree::{Area, Branches, GREY, Tree};
pub use paint::unit;
use paint::{draw_cells, draw_legend};

/// The most cells in a row. Of more sequences, neighbours in the order share a cell.
const MOST_CELLS: usize = 250;

/// Pixels of the heat map, unless it has few or many rows.
const SIDE: usize = 760;

/// The largest and the smallest cell, in pixels.
const LARGEST_CELL: usize = 44;
const SMALLEST_CELL: usize = 3;

/// Cells that are large enough for a name beside them.
const NAMED_CELL: usize = 8;

/// The most characters of a name.
const NAME: usize = 40;

/// Pixels: the margin, the title, the tree and its distance from the heat map, the legend below, and
/// the least width of all.
const MARGIN: i32 = 20;
const TITLE: i32 = 56;
const TREE: i32 = 260;
const GAP: i32 = 8;
const LEGEND: i32 = 64;
const WIDTH: i32 = 560;

/// Pixels of the legend's bar.
const BAR: (i32, i32) = (256, 14);

/// Pixels from the bar to its title, and of the title.
const LEGEND_GAP: i32 = 12;
const LEGEND_TITLE: i32 = 130;

/// The contents of the picture.
pub struct HeatMap<'a> {
    pub names: &'a [String],
    pub distances: ArrayView2<'a, f64>,
    /// The rows of the distances from top to bottom: the leaves of the tree, if there is one.
    pub order: &'a [usize],
    pub tree: Option<&'a Tree>,
}

/// Cells and the places around them, in pixels.
struct Frame {
    /// Sequences that share a cell.
    group: usize,
    cells: usize,
    cell: i32,
    left: i32,
    /// The size of all.
    size: (i32, i32),
    /// Whether names stand beside the cells.
    has_names: bool,
}

impl HeatMap<'_> {
    /// Draws the picture, as SVG.
    pub fn draw(&self) -> Result<String> {
        let frame = self.frame();
        let mut text = String::new();
        {
            let size = (frame.size.0 as u32, frame.size.1 as u32);
            let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
            area.fill(&WHITE)?;
            self.draw_title(&area, &frame)?;
            let cells = self.cells(&frame);
            let largest = cells.iter().copied().fold(0.0, f64::max);
            draw_cells(&area, &frame, &cells, largest)?;
            self.draw_names(&area, &frame)?;
            if let Some(tree) = self.tree {
                self.draw_tree(&area, &frame, tree)?;
            }
            draw_legend(&area, &frame, largest)?;
            area.present()?;
        }
        // Or else viewers show a seam between neighbouring cells.
        Ok(text.replacen("<svg ", "<svg shape-rendering=\"crispEdges\" ", 1))
    }

    fn frame(&self) -> Frame {
        let group = self.order.len().div_ceil(MOST_CELLS).max(1);
        let cells = self.order.len().div_ceil(group);
        let cell = (SIDE / cells.max(1)).clamp(SMALLEST_CELL, LARGEST_CELL);
        let has_names = group == 1 && cell >= NAMED_CELL;
        let longest = self
            .names
            .iter()
            .map(|name| name.chars().count().min(NAME))
            .max();
        let names = match has_names {
            true => longest.unwrap_or(0) as i32 * font_size(cell) * 3 / 5 + GAP,
            false => 0,
        };
        let tree = if self.tree.is_some() { TREE + GAP } else { 0 };
        let left = MARGIN + tree;
        let side = (cells * cell) as i32;
        Frame {
            group,
            cells,
            cell: cell as i32,
            left,
            size: (
                (left + side + names + MARGIN)
                    .max(left + BAR.0 + LEGEND_GAP + LEGEND_TITLE + MARGIN)
                    .max(WIDTH),
                TITLE + side + names + LEGEND + MARGIN,
            ),
            has_names,
        }
    }

    /// The means of the distances that share a cell.
    fn cells(&self, frame: &Frame) -> Array2<f64> {
        let groups: Vec<&[usize]> = self.order.chunks(frame.group).collect();
        Array2::from_shape_fn((frame.cells, frame.cells), |(row, column)| {
            let (rows, columns) = (groups[row], groups[column]);
            let distances = rows
                .iter()
                .flat_map(|&i| columns.iter().map(move |&j| (i, j)));
            let sum: f64 = distances.map(|place| self.distances[place]).sum();
            sum / (rows.len() * columns.len()) as f64
        })
    }

    fn draw_title(&self, area: &Area, frame: &Frame) -> Result<()> {
        let title = match self.order.len() {
            1 => "L2 distances of 1 sketch".into(),
            count => format!("L2 distances of {count} sketches"),
        };
        let place = (MARGIN, 14);
        area.draw_text(&title, &("sans-serif", 18).into_font().color(&BLACK), place)?;
        let order = match self.tree {
            Some(_) => "in the order of the tree: neighbour joining, rooted at its midpoint",
            None => "in the order of a clustering with average linkage",
        };
        let shared = match frame.group {
            1 => String::new(),
            group => format!("; each cell is the mean of {group} × {group} distances"),
        };
        let font = ("sans-serif", 12).into_font().color(&GREY);
        Ok(area.draw_text(&format!("{order}{shared}"), &font, (MARGIN, 36))?)
    }

    fn draw_names(&self, area: &Area, frame: &Frame) -> Result<()> {
        if !frame.has_names {
            return Ok(());
        }
        let font = ("sans-serif", font_size(frame.cell as usize)).into_font();
        let beside = font.color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        let below = font.transform(FontTransform::Rotate90).color(&BLACK);
        let below = below.pos(Pos::new(HPos::Left, VPos::Center));
        let side = frame.cells as i32 * frame.cell;
        for (i, &row) in self.order.iter().enumerate() {
            let name = shortened(&self.names[row], NAME);
            let middle = i as i32 * frame.cell + frame.cell / 2;
            area.draw_text(&name, &beside, (frame.left + side + GAP, TITLE + middle))?;
            area.draw_text(&name, &below, (frame.left + middle, TITLE + side + GAP))?;
        }
        Ok(())
    }

    /// Draws the tree on the left, its leaves beside the rows.
    fn draw_tree(&self, area: &Area, frame: &Frame, tree: &Tree) -> Result<()> {
        let y = |row: f64| {
            let row = (row + 0.5) / frame.group as f64;
            TITLE + (row * f64::from(frame.cell)).round() as i32
        };
        let branches = Branches::new(tree, MARGIN, TREE, y);
        branches.draw(area)?;
        if frame.has_names {
            branches.draw_leaders(area, frame.left - GAP / 2)?;
        }
        branches.draw_scale(area, TITLE + frame.cells as i32 * frame.cell + 16)
    }
}

/// The size of the letters beside cells.
fn font_size(cell: usize) -> i32 {
    cell.clamp(NAMED_CELL, 13) as i32
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Layout, neighbor_joining, rooted_at_midpoint};
    use super::*;

    fn map(sequences: usize) -> String {
        map_of(Array2::from_shape_fn((sequences, sequences), |(i, j)| {
            i.abs_diff(j) as f64
        }))
    }

    fn map_of(distances: Array2<f64>) -> String {
        let sequences = distances.nrows();
        let names: Vec<String> = (0..sequences).map(|i| format!("name <{i}>")).collect();
        let order: Vec<usize> = (0..sequences).collect();
        let map = HeatMap {
            names: &names,
            distances: distances.view(),
            order: &order,
            tree: None,
        };
        map.draw().unwrap()
    }

    #[test]
    fn names_are_escaped_and_numbers_written() {
        let svg = map(3);
        assert!(svg.contains("name &lt;2&gt;"), "{svg}");
        assert!(svg.contains("2.00"), "{svg}");
    }

    /// Returns the right end of a text of the picture, with wide characters.
    fn right_end(text: &str) -> f64 {
        let (tag, content) = text.split_once('>').unwrap();
        let attribute = |name: &str| {
            let (_, behind) = tag.split_once(&format!(" {name}=\"")).unwrap();
            behind.split('"').next().unwrap()
        };
        let number = |name: &str| attribute(name).parse::<f64>().unwrap();
        let content = content.split('<').next().unwrap().trim();
        let width = content.chars().count() as f64 * number("font-size") * 0.6;
        let share = match attribute("text-anchor") {
            "start" => 1.0,
            "middle" => 0.5,
            _ => 0.0,
        };
        number("x") + share * width
    }

    #[test]
    fn texts_end_inside_of_small_pictures() {
        for sequences in [2, 3, 9] {
            let names: Vec<String> = (0..sequences).map(|i| i.to_string()).collect();
            let distances = Array2::from_shape_fn((sequences, sequences), |(i, j)| {
                i.abs_diff(j) as f64 * 1e-11
            });
            let tree = neighbor_joining(distances.view()).unwrap();
            let tree = rooted_at_midpoint(&tree);
            let order = Layout::new(&tree).leaves;
            let map = HeatMap {
                names: &names,
                distances: distances.view(),
                order: &order,
                tree: Some(&tree),
            };
            let svg = map.draw().unwrap();
            assert!(svg.contains("L2 distance / 1e-1"), "{svg}");
            let width = f64::from(map.frame().size.0);
            for text in svg.split("<text ").skip(1) {
                let text = format!(" {text}");
                let is_rotated = text.contains("rotate(");
                assert!(is_rotated || right_end(&text) <= width, "{width}: {text}");
            }
        }
    }

    #[test]
    fn maps_of_one_and_of_identical_sequences_are_drawn() {
        assert!(map(1).contains("distances of 1 sketch\n"));
        let svg = map_of(Array2::zeros((3, 3)));
        assert!(svg.contains("distances of 3 sketches\n"), "{svg}");
        assert!(
            svg.contains("name &lt;2&gt;") && !svg.contains("NaN"),
            "{svg}"
        );
    }

    #[test]
    fn many_sequences_share_cells() {
        let svg = map(1100);
        assert!(svg.contains("the mean of 5 × 5 distances"));
        assert!(!svg.contains("name &lt;"));
        assert!(svg.matches("<rect").count() <= MOST_CELLS * MOST_CELLS + BAR.0 as usize + 1);
    }

    #[test]
    fn means_of_groups() {
        let distances = Array2::from_shape_fn((3, 3), |(i, j)| i.abs_diff(j) as f64);
        let map = HeatMap {
            names: &[],
            distances: distances.view(),
            order: &[0, 1, 2],
            tree: None,
        };
        let frame = Frame {
            group: 2,
            cells: 2,
            cell: 1,
            left: 0,
            size: (0, 0),
            has_names: false,
        };
        assert_eq!(map.cells(&frame), ndarray::arr2(&[[0.5, 1.5], [1.5, 0.0]]));
    }
}
