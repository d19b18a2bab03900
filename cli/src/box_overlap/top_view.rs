//! Boxes from above, as a picture.

use std::collections::BTreeSet;

use anyhow::Result;
use checks::random::mixed;
use colors::{BLUE, GREEN, VERMILION};
use files::boxes::Number;
use files::text::shortened;
use gridstride::box_overlap::OverlapSlice;
use ndarray::Array2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::rectangle::{Rectangle2, View};

/// The approximate limits on the boxes of a set and on the pairs that are drawn.
const BOXES: usize = 2000;
const PAIRS: u64 = 4000;

/// Sizes in pixels: all, the title with the legend, the labels on the left and below, the margin,
/// the bounds of the drawing's height, the least size of a box, and that of an overlap, which is the
/// radius of a circle around smaller ones.
const WIDTH: u32 = 1100;
const TITLE: u32 = 96;
const LEFT: u32 = 84;
const BELOW: u32 = 48;
const MARGIN: u32 = 16;
const HEIGHTS: [f64; 2] = [240.0, 1100.0];
const BOX: i32 = 3;
const MARK: i32 = 5;

/// Characters of a file's name that are shown.
const NAME: usize = 70;

const COLORS: [RGBColor; 2] = [BLUE, GREEN];
const OVERLAPS: RGBColor = VERMILION;

/// The boxes and pairs that are drawn: all, or a random sample.
pub struct Sample {
    /// The set whose rows come in slices: 0 or 1.
    first: usize,
    /// The set of the columns.
    second: usize,
    /// The rows of each set that are drawn, and how many there are.
    drawn: Vec<BTreeSet<usize>>,
    rows: Vec<usize>,
    /// The pairs that are drawn, with a row of set `first` before one of set `second`.
    pairs: Vec<(usize, usize)>,
    /// Number of pairs.
    count: u64,
    /// The pairs of the rows that are drawn, and how many of them have come.
    expected: u64,
    seen: u64,
}

impl Sample {
    /// Chooses boxes. `is_swapped` tells whether slices have the rows of the second set.
    pub fn new(rows: Vec<usize>, is_swapped: bool, counts: &[u32]) -> Sample {
        let (first, second) = match (rows.len(), is_swapped) {
            (1, _) => (0, 0),
            (_, false) => (0, 1),
            (_, true) => (1, 0),
        };
        let chosen = |&count: &usize| (0..count).filter(|&row| is_chosen(row, count)).collect();
        let drawn: Vec<BTreeSet<usize>> = rows.iter().map(chosen).collect();
        let pairs_of = |&row: &usize| u64::from(counts[row]);
        Sample {
            first,
            second,
            expected: drawn[first].iter().map(pairs_of).sum(),
            count: counts.iter().map(|&count| u64::from(count)).sum(),
            seen: 0,
            pairs: Vec::new(),
            drawn,
            rows,
        }
    }

    /// Takes the pairs of the boxes that are drawn, with the boxes that overlap those.
    pub fn add(&mut self, slice: &OverlapSlice) {
        let rows: Vec<usize> = self.drawn[self.first]
            .range(slice.rows.clone())
            .copied()
            .collect();
        for row in rows {
            // Boxes that are drawn for the sake of their overlaps come without their own.
            if !is_chosen(row, self.rows[self.first]) {
                continue;
            }
            for &other in slice.overlaps.row(row - slice.rows.start) {
                self.seen += 1;
                if self.expected <= PAIRS || mixed(self.seen) % self.expected < PAIRS {
                    self.pairs.push((row, other as usize));
                    self.drawn[self.second].insert(other as usize);
                }
            }
        }
    }

    /// Draws the sets, as SVG.
    pub fn svg<T: Number>(&self, names: &[String], sets: &[Array2<T>]) -> Result<String> {
        let all = sets.iter().flat_map(|set| set.outer_iter());
        let view = View::of(
            all.map(Rectangle2::of),
            f64::from(WIDTH - LEFT - 2 * MARGIN),
            HEIGHTS,
        );
        let height = TITLE + view.height as u32 + BELOW + MARGIN;
        let mut text = String::new();
        {
            let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
            area.fill(&WHITE)?;
            let (head, body) = area.split_vertically(TITLE);
            self.draw_legend(&head, names)?;
            let mut chart = ChartBuilder::on(&body)
                .margin_left(MARGIN)
                .margin_right(MARGIN)
                .margin_bottom(MARGIN)
                .x_label_area_size(BELOW)
                .y_label_area_size(LEFT)
                .build_cartesian_2d(view.x.clone(), view.y.clone())?;
            chart
                .configure_mesh()
                .x_desc("x")
                .y_desc("y")
                .x_labels(8)
                .y_labels((view.height / 90.0) as usize + 2)
                .label_style(("sans-serif", 13))
                .light_line_style(TRANSPARENT)
                .bold_line_style(BLACK.mix(0.1))
                .axis_style(BLACK.mix(0.4))
                .draw()?;
            let place = |rectangle: Rectangle2, least: i32| {
                let inside = rectangle.within(&view);
                let corner = |[x, y]: [f64; 2]| chart.backend_coord(&(x, y));
                let ((left, bottom), (right, top)) = (corner(inside.min), corner(inside.max));
                let ([left, right], [top, bottom]) =
                    (widened([left, right], least), widened([top, bottom], least));
                [(left, top), (right, bottom)]
            };
            let rectangle = |set: usize, row: usize| Rectangle2::of(sets[set].row(row));
            for set in (0..sets.len()).rev() {
                let color = COLORS[set];
                for &row in &self.drawn[set] {
                    let corners = place(rectangle(set, row), BOX);
                    area.draw(&Rectangle::new(corners, color.mix(0.25).filled()))?;
                    area.draw(&Rectangle::new(corners, color.mix(0.8).stroke_width(1)))?;
                }
            }
            for &(row, other) in &self.pairs {
                let common = rectangle(self.first, row).and(rectangle(self.second, other));
                let [(left, top), (right, bottom)] = place(common, 0);
                let style = OVERLAPS.stroke_width(1);
                if (right - left).min(bottom - top) >= MARK {
                    let corners = [(left, top), (right, bottom)];
                    area.draw(&Rectangle::new(corners, OVERLAPS.mix(0.3).filled()))?;
                    area.draw(&Rectangle::new(corners, style))?;
                } else {
                    let middle = (left.midpoint(right), top.midpoint(bottom));
                    area.draw(&Circle::new(middle, MARK, style))?;
                }
            }
            area.present()?;
        }
        Ok(text)
    }

    fn draw_legend(
        &self,
        area: &DrawingArea<SVGBackend, plotters::coord::Shift>,
        names: &[String],
    ) -> Result<()> {
        let font = ("sans-serif", 15).into_font().color(&BLACK);
        let font = font.pos(Pos::new(HPos::Left, VPos::Center));
        let mut y = 20;
        let mut entry = |color: RGBColor, text: &str| {
            let corners = [(LEFT as i32, y - 6), (LEFT as i32 + 20, y + 6)];
            area.draw(&Rectangle::new(corners, color.mix(0.25).filled()))?;
            area.draw(&Rectangle::new(corners, color.stroke_width(1)))?;
            area.draw_text(text, &font, (LEFT as i32 + 30, y))?;
            y += 24;
            anyhow::Ok(())
        };
        for ((name, drawn), (&count, color)) in names
            .iter()
            .zip(&self.drawn)
            .zip(self.rows.iter().zip(COLORS))
        {
            let drawn = of_all(drawn.len() as u64, count as u64, "boxes");
            entry(color, &format!("{}: {drawn}", shortened(name, NAME)))?;
        }
        entry(
            OVERLAPS,
            &of_all(self.pairs.len() as u64, self.count, "overlaps"),
        )
    }
}

/// Whether a row is part of a random sample of so many.
fn is_chosen(row: usize, count: usize) -> bool {
    count <= BOXES || mixed(row as u64) % (count as u64) < BOXES as u64
}

/// A range of pixels with at least so many of them.
fn widened([low, high]: [i32; 2], least: i32) -> [i32; 2] {
    let missing = (least - (high - low)).max(0);
    [low - missing / 2, high + missing - missing / 2]
}

fn of_all(drawn: u64, count: u64, what: &str) -> String {
    match drawn == count {
        true => format!("{count} {what}"),
        false => format!("{drawn} of {count} {what} are drawn"),
    }
}
