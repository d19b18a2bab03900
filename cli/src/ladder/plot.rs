//! Ladders as pictures.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::climb::{Ladder, Sweep};
use super::table::time;
use crate::common::colors::{BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION};

/// Of lines.
const COLORS: [RGBColor; 7] = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK];

/// Sizes in pixels: all, the title, a bar with the space around it, the names on the left, the
/// times on the right.
const WIDTH: u32 = 900;
const HEIGHT: u32 = 480;
const TITLE: u32 = 60;
const BAR: u32 = 30;
const LEFT: u32 = 190;
const RIGHT: u32 = 100;
const BELOW: u32 = 16;

/// The sweep, if there is one, else a bar for each version: as SVG.
///
/// # Errors
/// Those of the drawing library.
pub fn svg(ladder: &Ladder) -> Result<String> {
    match &ladder.sweep {
        Some(sweep) => lines(ladder, sweep),
        None => bars(ladder),
    }
}

/// Bars whose lengths are the logarithms of times.
fn bars(ladder: &Ladder) -> Result<String> {
    let rows = &ladder.rows;
    let height = TITLE + BAR * rows.len() as u32 + BELOW;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let title = ("sans-serif", 17).into_text_style(&area);
        area.draw_text(&ladder.title, &title, (16, 10))?;
        let below = ("sans-serif", 14).into_text_style(&area);
        let where_and_how = format!("On {}; bars are logarithmic", ladder.device);
        area.draw_text(&where_and_how, &below, (16, 32))?;
        let decades = decades(rows.iter().map(|row| milliseconds(row.time)));
        let middle = |horizontal| below.pos(Pos::new(horizontal, VPos::Center));
        for (i, row) in rows.iter().enumerate() {
            let top = (TITLE + BAR * i as u32) as i32;
            let center = top + BAR as i32 / 2;
            let share = (milliseconds(row.time) / decades.start).log10()
                / (decades.end / decades.start).log10();
            let end = LEFT as i32 + (share * f64::from(WIDTH - LEFT - RIGHT)) as i32;
            let corners = [(LEFT as i32, top + 4), (end, top + BAR as i32 - 4)];
            let color = match i + 1 == rows.len() {
                true => VERMILION,
                false => BLUE,
            };
            area.draw(&Rectangle::new(corners, color.filled()))?;
            let name = (LEFT as i32 - 8, center);
            area.draw_text(&row.version, &middle(HPos::Right), name)?;
            area.draw_text(&time(row.time), &middle(HPos::Left), (end + 6, center))?;
        }
        area.present()?;
    }
    Ok(text)
}

/// Times by threads of a block.
fn lines(ladder: &Ladder, sweep: &Sweep) -> Result<String> {
    let times = sweep.lines.iter().flat_map(|line| &line.times).flatten();
    let decades = decades(times.map(|time| milliseconds(*time)));
    let most = sweep.threads.iter().copied().max().unwrap_or(1);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&ladder.title, ("sans-serif", 17))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0..most, decades.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(format!("threads of a block, on {}", ladder.device))
            .y_desc("time (ms)")
            .label_style(("sans-serif", 14))
            .light_line_style(BLACK.mix(0.05))
            .y_label_formatter(&|value| value.to_string())
            .draw()?;
        for (line, color) in sweep.lines.iter().zip(COLORS.iter().cycle()) {
            let style = color.stroke_width(2);
            let points = sweep.threads.iter().zip(&line.times);
            let points =
                points.filter_map(|(&threads, time)| Some((threads, milliseconds((*time)?))));
            chart
                .draw_series(LineSeries::new(points, style))?
                .label(line.name.as_str())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.2))
            .label_font(("sans-serif", 14))
            .draw()?;
        area.present()?;
    }
    Ok(text)
}

fn milliseconds(time: Duration) -> f64 {
    // A logarithm needs some time.
    time.as_secs_f64().max(1e-9) * 1e3
}

/// The powers of ten around some numbers, at least a decade.
fn decades(numbers: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0f64), |(low, high), number| {
        (low.min(number), high.max(number))
    });
    if high == 0.0 {
        return 1.0..10.0;
    }
    // Below the least, so that it has a bar too.
    let low = (low * 0.999).log10().floor();
    10f64.powf(low)..10f64.powf(high.log10().ceil().max(low + 1.0))
}
