//! Estimates over exact distances, as a picture.

use std::ops::Range;

use anyhow::Result;
use colors::{BLUE, VERMILION};
use plotters::coord::Shift;
use plotters::prelude::*;
use program::axis::{short_label, whole_label};

use super::comparison::Comparison;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Sizes in pixels: a panel's width and height, and the title above the panels.
const PANEL: (u32, u32) = (520, 460);
const TITLE: u32 = 40;

/// Points that are drawn; of more pairs, each n-th.
const POINTS: usize = 500;

/// Draws a panel for whole sequences, and one for windows if there are any: as SVG. `sketches`
/// says of what kind they are.
///
/// # Errors
/// The errors of the drawing library.
pub fn svg(comparison: &Comparison, sketches: &str, windows: Option<&str>) -> Result<String> {
    let slide = comparison.slide.as_deref().zip(windows);
    let width = PANEL.0 * (1 + slide.is_some() as u32);
    let step = comparison.edit.len().div_ceil(POINTS).max(1);
    let mut text = String::new();
    {
        let size = (width, TITLE + PANEL.1);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let font = ("sans-serif", 17).into_text_style(&area);
        let shown = match step {
            1 => String::new(),
            _ => format!(", of which one in {step} is drawn"),
        };
        let title = format!("{} pairs{shown}: {sketches}", comparison.edit.len());
        area.draw_text(&title, &font, (16, 12))?;
        let (_, panels) = area.split_vertically(TITLE);
        let (left, right) = panels.split_horizontally(PANEL.0);
        let draw = |area: &Area, kind: Kind, distances: &[f64], spearman: Option<f64>| {
            let correlation = spearman.map_or("undefined".into(), |value| format!("{value:.3}"));
            let caption = format!("{}, rank correlation {correlation}", kind.name);
            let points = comparison.edit.iter().zip(distances).step_by(step);
            let points = points.map(|(&x, &y)| (x, y)).filter(|(_, y)| y.is_finite());
            panel(area, &caption, &kind, &points.collect::<Vec<_>>())
        };
        let sequences = Kind {
            name: "whole sequences".into(),
            distance: "distance of the sketches",
            color: BLUE,
        };
        draw(&left, sequences, &comparison.sketch, comparison.spearman())?;
        if let Some((slide, windows)) = slide {
            let windows = Kind {
                name: format!("windows {windows}"),
                distance: "slide distance",
                color: VERMILION,
            };
            draw(&right, windows, slide, comparison.spearman_slide())?;
        }
        area.present()?;
    }
    Ok(text)
}

/// The contents of a panel.
struct Kind {
    name: String,
    /// The name of its distances.
    distance: &'static str,
    color: RGBColor,
}

fn panel(area: &Area, caption: &str, kind: &Kind, points: &[(f64, f64)]) -> Result<()> {
    let extent = |number: fn(&(f64, f64)) -> f64| -> Range<f64> {
        let most = points.iter().map(number).fold(0.0, f64::max);
        0.0..if most > 0.0 { most * 1.05 } else { 1.0 }
    };
    let (x, y) = (extent(|point| point.0), extent(|point| point.1));
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 15))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc("edit distance")
        .y_desc(kind.distance)
        .label_style(("sans-serif", 13))
        .light_line_style(BLACK.mix(0.05))
        .x_label_formatter(&|value| whole_label(*value))
        .y_label_formatter(&|value| short_label(*value))
        .draw()?;
    let point = |&place: &(f64, f64)| Circle::new(place, 2, kind.color.mix(0.5).filled());
    chart.draw_series(points.iter().map(point))?;
    Ok(())
}
