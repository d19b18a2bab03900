//! Ladders as pictures.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::climb::{Ladder, Sweep};
use super::table::time;
use crate::common::colors::{BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Of lines.
const COLORS: [RGBColor; 7] = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK];

/// Sizes in pixels: all, the title, a bar with the space around it, the times on the right, the
/// axis below, and the legend of lines.
const WIDTH: u32 = 900;
const HEIGHT: u32 = 480;
const TITLE: u32 = 60;
const BAR: u32 = 30;
const RIGHT: u32 = 100;
const BELOW: u32 = 56;
const LEGEND: u32 = 150;

/// The width of a character of a name, and the bounds of the space for names on the left.
const CHARACTER: u32 = 8;
const LEFT: [u32; 2] = [90, 320];

/// Times that differ by a larger factor have a logarithmic axis.
const LINEAR: f64 = 10.0;

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

/// A bar for each version.
fn bars(ladder: &Ladder) -> Result<String> {
    let rows = &ladder.rows;
    let bottom = TITLE + BAR * rows.len() as u32;
    let names = rows.iter().map(|row| row.version.chars().count() as u32);
    let left = (names.max().unwrap_or(0) * CHARACTER + 16).clamp(LEFT[0], LEFT[1]) as i32;
    let axis = TimeAxis::new(rows.iter().map(|row| milliseconds(row.time)));
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
            let label = at(HPos::Center, VPos::Top);
            area.draw_text(&tick.to_string(), &label, (x, bottom + 8))?;
        }
        let middle = (left + (WIDTH - RIGHT) as i32) / 2;
        let below = (middle, bottom as i32 + 30);
        area.draw_text(axis.title(), &at(HPos::Center, VPos::Top), below)?;
        for (i, row) in rows.iter().enumerate() {
            let top = (TITLE + BAR * i as u32) as i32;
            let center = top + BAR as i32 / 2;
            let end = place(milliseconds(row.time));
            let corners = [(left, top + 4), (end, top + BAR as i32 - 4)];
            let color = match i + 1 == rows.len() || row.version.starts_with("gridstride") {
                true => VERMILION,
                false => BLUE,
            };
            area.draw(&Rectangle::new(corners, color.filled()))?;
            let name = (left - 8, center);
            area.draw_text(&row.version, &at(HPos::Right, VPos::Center), name)?;
            let label = at(HPos::Left, VPos::Center);
            area.draw_text(&time(row.time), &label, (end + 6, center))?;
        }
        area.present()?;
    }
    Ok(text)
}

/// What was computed, and where.
fn draw_title(area: &Area, ladder: &Ladder) -> Result<()> {
    let font = ("sans-serif", 17).into_text_style(area);
    area.draw_text(&ladder.title, &font, (16, 10))?;
    let font = ("sans-serif", 14).into_text_style(area);
    let remark = match ladder.device.starts_with("simulator") {
        true => ", whose times say nothing about a GPU",
        false => "",
    };
    let place = format!("On {}{remark}", ladder.device);
    Ok(area.draw_text(&place, &font, (16, 32))?)
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
        draw_title(&area, ladder)?;
        let (_, below) = area.split_vertically(TITLE);
        let (body, legend) = below.split_horizontally(WIDTH - LEGEND);
        let mut chart = ChartBuilder::on(&body)
            .margin_right(16)
            .margin_bottom(8)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(0..most, decades.log_scale())?;
        chart
            .configure_mesh()
            .x_desc("threads of a block")
            .y_desc("time (ms)")
            .label_style(("sans-serif", 14))
            .light_line_style(BLACK.mix(0.05))
            .y_label_formatter(&|value| value.to_string())
            .draw()?;
        let font = ("sans-serif", 14).into_text_style(&area);
        let font = font.pos(Pos::new(HPos::Left, VPos::Center));
        for ((line, color), y) in sweep
            .lines
            .iter()
            .zip(COLORS.iter().cycle())
            .zip((10..).step_by(22))
        {
            let style = color.stroke_width(2);
            let points = sweep.threads.iter().zip(&line.times);
            let points =
                points.filter_map(|(&threads, time)| Some((threads, milliseconds((*time)?))));
            chart.draw_series(LineSeries::new(points, style))?;
            legend.draw(&PathElement::new([(0, y), (20, y)], style))?;
            legend.draw_text(&line.name, &font, (28, y))?;
        }
        area.present()?;
    }
    Ok(text)
}

/// The axis of the bars.
enum TimeAxis {
    /// From 0 to a time, with a tick for each step.
    Linear { end: f64, step: f64 },
    /// Whole decades.
    Logarithmic(Range<f64>),
}

impl TimeAxis {
    fn new(times: impl Iterator<Item = f64> + Clone) -> TimeAxis {
        let (least, most) = times
            .clone()
            .fold((f64::INFINITY, 0.0f64), |(least, most), time| {
                (least.min(time), most.max(time))
            });
        if most == 0.0 || most / least > LINEAR {
            return TimeAxis::Logarithmic(decades(times));
        }
        // The longest step with five ticks.
        let power = 10f64.powf((most / 5.0).log10().floor());
        let step = [5.0, 2.0, 1.0].map(|factor| factor * power);
        let step = step
            .into_iter()
            .find(|step| most / step >= 5.0)
            .unwrap_or(power);
        TimeAxis::Linear { end: most, step }
    }

    /// How far a time is along the axis.
    fn share(&self, time: f64) -> f64 {
        match self {
            TimeAxis::Linear { end, .. } => time / end,
            TimeAxis::Logarithmic(decades) => {
                (time / decades.start).log10() / (decades.end / decades.start).log10()
            }
        }
    }

    fn ticks(&self) -> Vec<f64> {
        match self {
            TimeAxis::Linear { end, step } => {
                let count = (end / step).floor() as i32;
                (0..=count).map(|i| rounded(f64::from(i) * step)).collect()
            }
            TimeAxis::Logarithmic(decades) => {
                let [first, last] =
                    [decades.start, decades.end].map(|time| time.log10().round() as i32);
                (first..=last)
                    .map(|power| rounded(10f64.powi(power)))
                    .collect()
            }
        }
    }

    fn title(&self) -> &'static str {
        match self {
            TimeAxis::Linear { .. } => "time (ms)",
            TimeAxis::Logarithmic(_) => "time (ms), logarithmic",
        }
    }
}

/// A number without the errors of its last digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.6e}").parse().unwrap_or(number)
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
