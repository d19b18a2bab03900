//! Ladders as pictures.

use std::time::Duration;

use anyhow::Result;
use colors::{BLUE, LINES, ORANGE, SKY, VERMILION};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use program::axis::{Scale, label};

use super::rows::{Axis, Clock, Ladder, Row, Sweep};
use super::table::row_time;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Sizes in pixels: all, a sweep and its title, the title, a bar with the space around it, the
/// times on the right, the axis below, and the legend of lines.
const WIDTH: u32 = 900;
const SWEEP: u32 = 420;
const SWEEP_TITLE: u32 = 28;
const TITLE: u32 = 60;
const BAR: u32 = 30;
const RIGHT: u32 = 100;
const BELOW: u32 = 80;
const LEGEND: u32 = 190;

/// The width of a character of a name, and the bounds of the space for names on the left.
const CHARACTER: u32 = 8;
const LEFT: [u32; 2] = [90, 320];

/// The sweeps, one below the other, or else a bar for each version: as SVG.
///
/// # Errors
/// The errors of the drawing library.
pub fn svg(ladder: &Ladder) -> Result<String> {
    match ladder.sweeps.is_empty() {
        false => sweeps(ladder),
        true => bars(ladder),
    }
}

fn milliseconds(time: Duration) -> f64 {
    // A logarithm needs some time.
    time.as_secs_f64().max(1e-9) * 1e3
}

/// Returns the color of a version's bar, and its text in the legend.
fn color(row: &Row) -> (RGBColor, &'static str) {
    match (row.version.starts_with("gridstride"), row.clock) {
        (true, Clock::Kernel) => (VERMILION, "gridstride, the kernels alone"),
        (true, Clock::WholeCall) => (ORANGE, "gridstride, whole call"),
        (false, Clock::Kernel) => (BLUE, "the kernels alone"),
        (false, Clock::WholeCall) => (SKY, "whole call"),
    }
}

/// A bar for each version.
fn bars(ladder: &Ladder) -> Result<String> {
    let rows = &ladder.rows;
    let bottom = TITLE + BAR * rows.len() as u32;
    let names = rows.iter().map(|row| row.version.chars().count() as u32);
    let left = (names.max().unwrap_or(0) * CHARACTER + 16).clamp(LEFT[0], LEFT[1]) as i32;
    let axis = Scale::new(rows.iter().map(|row| milliseconds(row.time)));
    let place =
        |time: f64| left + (axis.share(time) * (f64::from(WIDTH - RIGHT) - f64::from(left))) as i32;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, bottom + BELOW)).into_drawing_area();
        area.fill(&WHITE)?;
        draw_title(&area, ladder)?;
        let font = ("sans-serif", 14).into_text_style(&area);
        let at = |horizontal, vertical| font.pos(Pos::new(horizontal, vertical));
        for tick in axis.ticks() {
            let (x, top, bottom) = (place(tick), TITLE as i32, bottom as i32);
            let style = BLACK.mix(0.15).stroke_width(1);
            area.draw(&PathElement::new([(x, top), (x, bottom + 4)], style))?;
            area.draw_text(&label(tick), &at(HPos::Center, VPos::Top), (x, bottom + 8))?;
        }
        let title = match axis {
            Scale::Linear { .. } => "time (ms)",
            Scale::Logarithmic(_) => "time (ms), logarithmic",
        };
        let middle = (left + (WIDTH - RIGHT) as i32) / 2;
        let below = (middle, bottom as i32 + 30);
        area.draw_text(title, &at(HPos::Center, VPos::Top), below)?;
        for (i, row) in rows.iter().enumerate() {
            let top = (TITLE + BAR * i as u32) as i32;
            let center = top + BAR as i32 / 2;
            let end = place(milliseconds(row.time));
            let corners = [(left, top + 4), (end, top + BAR as i32 - 4)];
            area.draw(&Rectangle::new(corners, color(row).0.filled()))?;
            let name = (left - 8, center);
            area.draw_text(&row.version, &at(HPos::Right, VPos::Center), name)?;
            let beside = at(HPos::Left, VPos::Center);
            area.draw_text(&row_time(row), &beside, (end + 6, center))?;
        }
        let mut kinds: Vec<_> = Vec::new();
        for kind in rows.iter().map(color) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let y = bottom as i32 + 62;
        for ((color, name), x) in kinds.into_iter().zip((16..).step_by(220)) {
            area.draw(&Rectangle::new(
                [(x, y - 6), (x + 12, y + 6)],
                color.filled(),
            ))?;
            area.draw_text(name, &at(HPos::Left, VPos::Center), (x + 18, y))?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Draws the title: the computation and the device.
fn draw_title(area: &Area, ladder: &Ladder) -> Result<()> {
    let font = ("sans-serif", 17).into_text_style(area);
    area.draw_text(&ladder.title, &font, (16, 10))?;
    let font = ("sans-serif", 14).into_text_style(area);
    let place = format!("On {}", ladder.place());
    Ok(area.draw_text(&place, &font, (16, 32))?)
}

/// The sweeps, one below the other.
fn sweeps(ladder: &Ladder) -> Result<String> {
    let height = TITLE + SWEEP * ladder.sweeps.len() as u32;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        draw_title(&area, ladder)?;
        let (_, below) = area.split_vertically(TITLE);
        let panels = below.split_evenly((ladder.sweeps.len(), 1));
        for (sweep, panel) in ladder.sweeps.iter().zip(panels) {
            draw_sweep(&panel, sweep)?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Times by the parameter of a sweep, with a line for each kernel.
fn draw_sweep(panel: &Area, sweep: &Sweep) -> Result<()> {
    let times = sweep.lines.iter().flat_map(|line| &line.times).flatten();
    let title = ("sans-serif", 15).into_text_style(panel);
    let heading = format!("{} ({})", sweep.title, sweep.clock.name());
    panel.draw_text(&heading, &title, (16, 6))?;
    let (_, below) = panel.split_vertically(SWEEP_TITLE);
    match Scale::new(times.map(|time| milliseconds(*time))) {
        Scale::Linear { end, .. } => draw_lines(&below, sweep, 0.0..end * 1.05),
        Scale::Logarithmic(decades) => draw_lines(&below, sweep, decades.log_scale()),
    }
}

fn draw_lines<Y>(area: &Area, sweep: &Sweep, axis: Y) -> Result<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let (body, legend) = area.split_horizontally(WIDTH - LEGEND);
    let place = |value: u32| match sweep.axis {
        Axis::Linear => f64::from(value),
        Axis::Doubling => f64::from(value.max(1)).log2(),
    };
    let most = sweep.values.iter().copied().map(place).fold(1.0, f64::max);
    // Points at the ends are not cut.
    let ends = match sweep.axis {
        Axis::Linear => 0.0..most * 1.02,
        Axis::Doubling => -0.2..most + 0.2,
    };
    let mut chart = ChartBuilder::on(&body)
        .margin_left(16)
        .margin_right(16)
        .margin_bottom(8)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(ends, axis)?;
    let of_place = |place: &f64| match sweep.axis {
        Axis::Linear => place.round().to_string(),
        Axis::Doubling => place.exp2().round().to_string(),
    };
    let labels = match sweep.axis {
        Axis::Linear => 10,
        // One for each power of two.
        Axis::Doubling => most as usize + 2,
    };
    chart
        .configure_mesh()
        .x_desc(sweep.parameter)
        .y_desc("time (ms)")
        .x_labels(labels)
        .label_style(("sans-serif", 14))
        .light_line_style(BLACK.mix(0.05))
        .x_label_formatter(&of_place)
        .y_label_formatter(&|value| label(*value))
        .draw()?;
    let font = ("sans-serif", 14).into_text_style(area);
    let font = font.pos(Pos::new(HPos::Left, VPos::Center));
    let colored = sweep.lines.iter().zip(LINES.iter().cycle());
    for ((line, color), y) in colored.zip((10..).step_by(22)) {
        let style = color.stroke_width(2);
        let points = sweep.values.iter().zip(&line.times);
        let points: Vec<(f64, f64)> = points
            .filter_map(|(&value, time)| Some((place(value), milliseconds((*time)?))))
            .collect();
        // Of many points the line shows where they are.
        if sweep.axis == Axis::Doubling {
            let dots = points.iter().map(|&at| Circle::new(at, 3, color.filled()));
            chart.draw_series(dots)?;
        }
        chart.draw_series(LineSeries::new(points, style))?;
        legend.draw(&PathElement::new([(0, y), (20, y)], style))?;
        legend.draw_text(&line.name, &font, (28, y))?;
    }
    Ok(())
}
