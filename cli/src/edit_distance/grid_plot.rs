//! The correlations of a grid, as a picture.

use anyhow::Result;
use colors::LINES;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use program::axis::{decimals, whole_label};

use super::grid::{Point, Spread};

/// Sizes in pixels: all, the title, the legend on the right and a line of it. The height grows with
/// the legend.
const WIDTH: u32 = 900;
const HEIGHT: u32 = 480;
const TITLE: u32 = 44;
const LEGEND: u32 = 270;
const LINE: u32 = 22;

/// The length of dashes where colours repeat for the first time, how much longer they are each time
/// after that, and the gap between dashes.
const DASH: u32 = 5;
const GAP: u32 = 4;

/// Draws a line for each dimension and each kind of windows over the lengths of tuples, through the
/// means over the seeds, with the range of the seeds: as SVG. Where colours repeat, lines are dashed.
///
/// # Errors
/// The errors of the drawing library.
pub fn svg(points: &[Point], pairs: usize) -> Result<String> {
    let mut lines: Vec<(String, Vec<(usize, Spread)>)> = Vec::new();
    for seeds in points.chunk_by(|a, b| a.is_same_but_for_seed(b)) {
        let name = format!("dim {}, {}", seeds[0].dim, seeds[0].sketched());
        let Some(spread) = Spread::of(seeds) else {
            continue;
        };
        let place = (seeds[0].tuple, spread);
        match lines.iter_mut().find(|(other, _)| *other == name) {
            Some((_, places)) => places.push(place),
            None => lines.push((name, vec![place])),
        }
    }
    let tuples = points.iter().map(|point| point.tuple);
    let (first, last) = (tuples.clone().min().unwrap_or(0), tuples.max().unwrap_or(1));
    let values = lines.iter().flat_map(|(_, places)| places);
    let least = values.map(|(_, spread)| spread.least).fold(1.0, f64::min);
    let least = (least * 20.0 - 0.2).floor() / 20.0;
    let axis = least..1.0;
    let places = decimals(&axis);
    let height = HEIGHT.max(TITLE + LINE * (lines.len() as u32 + 1));
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let font = ("sans-serif", 17).into_text_style(&area);
        let title = format!("Rank correlation of sketches and edit distances of {pairs} pairs");
        area.draw_text(&title, &font, (16, 12))?;
        let (_, below) = area.split_vertically(TITLE);
        let (body, legend) = below.split_horizontally(WIDTH - LEGEND);
        let mut chart = ChartBuilder::on(&body)
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(first as f64 - 0.5..last as f64 + 0.5, axis)?;
        chart
            .configure_mesh()
            .x_desc("letters of a tuple")
            .y_desc("Spearman's rank correlation")
            .x_labels(last - first + 2)
            .label_style(("sans-serif", 13))
            .light_line_style(BLACK.mix(0.05))
            .x_label_formatter(&|value| whole_label(*value))
            .y_label_formatter(&|value| format!("{value:.places$}"))
            .draw()?;
        let font = ("sans-serif", 14).into_text_style(&area);
        let font = font.pos(Pos::new(HPos::Left, VPos::Center));
        for (i, (name, places)) in lines.iter().enumerate() {
            let (cycle, color) = (i / LINES.len(), LINES[i % LINES.len()]);
            let y = 14 + (LINE as usize * i) as i32;
            let style = color.stroke_width(2);
            let means = places
                .iter()
                .map(|(tuple, spread)| (*tuple as f64, spread.mean));
            let key = [(0, y), (24, y)];
            if cycle == 0 {
                chart.draw_series(LineSeries::new(means.clone(), style))?;
                legend.draw(&PathElement::new(key, style))?;
            } else {
                let dash = DASH * cycle as u32;
                chart.draw_series(DashedLineSeries::new(means.clone(), dash, GAP, style))?;
                legend.draw(&plotters::element::DashedPathElement::new(
                    key, dash, GAP, style,
                ))?;
            }
            chart.draw_series(means.map(|mean| Circle::new(mean, 3, style)))?;
            let ranges = places.iter().map(|(tuple, spread)| {
                let ends = [spread.least, spread.most].map(|value| (*tuple as f64, value));
                PathElement::new(ends, color.stroke_width(1))
            });
            chart.draw_series(ranges)?;
            legend.draw_text(name, &font, (32, y))?;
        }
        area.present()?;
    }
    Ok(text)
}
