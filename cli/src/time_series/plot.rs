//! A plot of points, and of their buckets over them.
//!
//! Each series has a panel of its own, and below it strips for methods whose numbers are no values:
//! deviations, sums, counts, rates.

use std::ops::Range;

use anyhow::Result;
use colors::{BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION};
use files::points::Points;
use files::text::shortened;
use files::time::{Every, timestamp};
use gridstride::time_series::{Aggregates, Method, Unit};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::number::rounded;
use super::series::Series;
use super::thinned::{self, Place};
use super::time_axis::TimeAxis;

/// Series that are drawn.
const SERIES: usize = 4;

/// Sizes in pixels: all, the title, the name of a series, a panel, a strip, the labels below each
/// series and on the left, and what is written on the right.
const WIDTH: u32 = 1000;
const TITLE: u32 = 52;
const NAME: u32 = 22;
const PANEL: u32 = 240;
const STRIP: u32 = 104;
const BELOW: u32 = 40;
const LEFT: u32 = 84;
const RIGHT: u32 = 120;

/// Characters of a file's name and of a series' that are shown.
const SOURCE: usize = 80;
const SERIES_NAME: usize = 100;

/// The radius of points, and of those of a series that has few: lines do not hide them.
const RADIUS: i32 = 2;
const LARGE_RADIUS: i32 = 4;
const FEW: usize = 50;

/// The drawing of a series.
const COLUMNS: usize = (WIDTH - LEFT - RIGHT) as usize;

/// Labels of the time axis.
const TICKS: u64 = 9;

/// The colors of columns.
const COLORS: [RGBColor; 7] = [VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, BLACK];
const POINTS: RGBColor = RGBColor(165, 165, 165);
const MANY_POINTS: RGBColor = RGBColor(205, 205, 205);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Methods with numbers of the same unit, by their places among the columns.
struct Strip {
    /// Values, and what they are below in a rate: of it.
    axis: Axis,
    columns: Vec<usize>,
}

/// The kind of a method's numbers.
#[derive(Clone, Copy, PartialEq)]
struct Axis {
    is_rate: bool,
    unit: Unit,
}

const VALUES: Axis = Axis {
    is_rate: false,
    unit: Unit::Value,
};

impl Axis {
    fn of(method: Method) -> Axis {
        Axis {
            is_rate: method.is_rate(),
            unit: method.unit(),
        }
    }
}

/// One series of a result.
struct Drawn<'a> {
    points: &'a Points,
    aggregates: &'a Aggregates,
    every: &'a Every,
    times: &'a Range<i64>,
    series: usize,
}

/// Draws the series, of more than [`SERIES`] the first ones, as SVG.
pub fn draw(source: &str, every: &Every, all: &Series, aggregates: &Aggregates) -> Result<String> {
    let points = &all.points;
    let strips = strips(aggregates.methods());
    let count = points.series_count().min(SERIES);
    let name = points.names.as_ref().map_or(0, |_| NAME);
    let of_series = name + PANEL + STRIP * (strips.len() as u32 - 1) + BELOW;
    let height = TITLE + of_series * count.max(1) as u32;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let (head, mut rest) = area.split_vertically(TITLE);
        let times = times(every, points, aggregates, count);
        draw_title(&head, source, every, points, times.as_ref())?;
        for series in 0..times.as_ref().map_or(0, |_| count) {
            let drawn = Drawn {
                points,
                aggregates,
                every,
                times: times.as_ref().expect("there are points"),
                series,
            };
            let (area, below) = rest.split_vertically(of_series);
            let (head, area) = area.split_vertically(name);
            if let Some(title) = all.title(series) {
                let font = ("sans-serif", 15).into_font().style(FontStyle::Bold);
                head.draw_text(
                    &shortened(&title, SERIES_NAME),
                    &font.color(&BLACK),
                    (LEFT as i32, 6),
                )?;
            }
            drawn.draw(&area, &strips)?;
            rest = below;
        }
        area.present()?;
    }
    Ok(text)
}

/// Methods by unit, values first.
fn strips(methods: &[Method]) -> Vec<Strip> {
    let mut strips = vec![Strip {
        axis: VALUES,
        columns: Vec::new(),
    }];
    for (column, &method) in methods.iter().enumerate() {
        let axis = Axis::of(method);
        match strips.iter_mut().find(|strip| strip.axis == axis) {
            Some(strip) => strip.columns.push(column),
            None => strips.push(Strip {
                axis,
                columns: vec![column],
            }),
        }
    }
    strips
}

/// From the first to the last time that is drawn, if there is one.
fn times(
    every: &Every,
    points: &Points,
    aggregates: &Aggregates,
    count: usize,
) -> Option<Range<i64>> {
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for &time in &points.timestamps[..points.offsets[count]] {
        (first, last) = (first.min(time), last.max(time));
    }
    let starts = aggregates.starts();
    for bucket in 0..aggregates.offsets()[count] {
        let start = starts[bucket];
        let end = start.saturating_add(every.nanoseconds);
        (first, last) = (first.min(start), last.max(end));
    }
    // A bucket's end is behind its start, but not if that is the last time that there is.
    (first <= last).then(|| first.min(i64::MAX - 1)..last.max(first.saturating_add(1)))
}

fn draw_title(
    area: &Area,
    source: &str,
    every: &Every,
    points: &Points,
    times: Option<&Range<i64>>,
) -> Result<()> {
    let font = ("sans-serif", 18).into_font().color(&BLACK);
    let title = format!("{}, every {}", shortened(source, SOURCE), every.text);
    area.draw_text(&title, &font, (LEFT as i32, 8))?;
    let times = times.map_or("no points".into(), |times| {
        format!("{} to {}", timestamp(times.start), timestamp(times.end))
    });
    let series = match points.series_count() {
        count if count > SERIES => format!(", the first {SERIES} of {count} series"),
        _ => String::new(),
    };
    let font = ("sans-serif", 13).into_font().color(&BLACK.mix(0.7));
    Ok(area.draw_text(&(times + &series), &font, (LEFT as i32, 32))?)
}

impl Drawn<'_> {
    fn draw(&self, area: &Area, strips: &[Strip]) -> Result<()> {
        let mut rest = area.clone();
        for (i, strip) in strips.iter().enumerate() {
            let is_last = i + 1 == strips.len();
            let height = if i == 0 { PANEL } else { STRIP } + if is_last { BELOW } else { 0 };
            let (of_strip, below) = rest.split_vertically(height);
            self.draw_strip(&of_strip, strip, is_last)?;
            rest = below;
        }
        Ok(())
    }

    /// One panel or strip, the time below the last one of a series.
    fn draw_strip(&self, area: &Area, strip: &Strip, is_last: bool) -> Result<()> {
        let points = self.points(strip);
        let lines: Vec<_> = strip.columns.iter().map(|&i| self.lines(i)).collect();
        let shown = points
            .iter()
            .flat_map(|column| [column.lowest, column.highest]);
        let shown = shown.chain(lines.iter().flatten().flatten().copied());
        let numbers = range(
            shown.map(|(_, number)| number),
            strip.axis.unit.is_from_zero(),
        );

        let (area, legend) = area.split_horizontally(WIDTH - RIGHT);
        let axis = TimeAxis::new(self.times.clone(), TICKS);
        let labels = TimeAxis::new(self.times.clone(), TICKS);
        let mut chart = ChartBuilder::on(&area)
            .margin_top(10)
            .x_label_area_size(if is_last { BELOW } else { 0 })
            .y_label_area_size(LEFT)
            .build_cartesian_2d(axis, numbers)?;
        let is_panel = strip.axis == VALUES;
        chart
            .configure_mesh()
            .y_labels(if is_panel { 6 } else { 3 })
            .label_style(("sans-serif", 13))
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.1))
            .axis_style(BLACK.mix(0.4))
            .x_label_formatter(&|time| labels.label(*time))
            .y_label_formatter(&|number| label(*number))
            .draw()?;
        let radius = match self.point_count() {
            0..FEW => LARGE_RADIUS,
            _ => RADIUS,
        };
        for column in &points {
            let thinned::Column {
                lowest, highest, ..
            } = *column;
            let mark = |place| Circle::new(place, radius, POINTS.filled());
            match column.count {
                1 | 2 => {
                    let places = [lowest, highest].into_iter().take(column.count as usize);
                    chart.draw_series(places.map(mark))?;
                }
                // Two wide, so that there are no gaps where columns and pixels differ.
                _ => {
                    let ends = [lowest, (lowest.0, highest.1)];
                    chart.draw_series([PathElement::new(ends, MANY_POINTS.stroke_width(2))])?;
                }
            }
        }
        if points.is_empty() && lines.iter().all(Vec::is_empty) {
            let place = |(start, end): (i32, i32)| start.midpoint(end);
            let (x, y) = chart.plotting_area().get_pixel_range();
            let font = ("sans-serif", 13).into_font().color(&BLACK.mix(0.5));
            let font = font.pos(Pos::new(HPos::Center, VPos::Center));
            let (left, top) = area.get_base_pixel();
            let middle = (
                place((x.start, x.end)) - left,
                place((y.start, y.end)) - top,
            );
            area.draw_text("no numbers", &font, middle)?;
        }
        for (&i, lines) in strip.columns.iter().zip(lines) {
            let style = color(i).stroke_width(2);
            chart.draw_series(lines.into_iter().map(|line| PathElement::new(line, style)))?;
        }
        self.draw_legend(&legend, strip)
    }

    /// The label of a panel or strip, on its right.
    fn draw_legend(&self, area: &Area, strip: &Strip) -> Result<()> {
        let font = |size| ("sans-serif", size).into_font().color(&BLACK);
        let mut y = 20;
        let mut entry = |name: &str, color: RGBColor, is_line: bool| {
            match is_line {
                true => area.draw(&PathElement::new([(10, y), (26, y)], color.stroke_width(2)))?,
                false => area.draw(&Circle::new((18, y), 2, color.filled()))?,
            }
            let font = font(13).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(name, &font, (32, y))?;
            y += 18;
            anyhow::Ok(())
        };
        if strip.axis == VALUES {
            entry("points", POINTS, false)?;
        }
        for &i in &strip.columns {
            entry(&self.aggregates.methods()[i].to_string(), color(i), true)?;
        }
        Ok(())
    }

    fn point_count(&self) -> usize {
        self.points.offsets[self.series + 1] - self.points.offsets[self.series]
    }

    /// The points, in a panel of values.
    fn points(&self, strip: &Strip) -> Vec<thinned::Column> {
        if strip.axis != VALUES {
            return Vec::new();
        }
        let Points {
            timestamps,
            values,
            offsets,
            ..
        } = self.points;
        let range = offsets[self.series]..offsets[self.series + 1];
        let points = timestamps[range.clone()].iter().zip(&values[0][range]);
        let points = points.map(|(&time, &value)| (time, value));
        let columns = thinned::columns(self.times, COLUMNS, points);
        columns.into_iter().flatten().collect()
    }

    /// A column of the result.
    fn lines(&self, column: usize) -> Vec<Vec<Place>> {
        let (starts, numbers) = (self.aggregates.starts(), self.aggregates.column(column));
        let buckets = self.aggregates.series(self.series);
        let places = buckets.map(|bucket| (starts[bucket], numbers[bucket]));
        thinned::lines(self.times, COLUMNS, self.every.nanoseconds, places)
    }
}

/// A number for an axis, as short as 7 digits can be.
fn label(number: f64) -> String {
    const LENGTH: usize = 8;
    let text = rounded(number);
    let exponential = text.parse::<f64>().map(|number| format!("{number:e}"));
    match exponential {
        Ok(short) if text.len() > LENGTH && short.len() < text.len() => short,
        _ => text,
    }
}

fn color(column: usize) -> RGBColor {
    COLORS[column % COLORS.len()]
}

/// From the least number to the greatest, with some room.
fn range(numbers: impl Iterator<Item = f64>, is_from_zero: bool) -> Range<f64> {
    let start = match is_from_zero {
        true => (0.0, 0.0),
        false => (f64::INFINITY, f64::NEG_INFINITY),
    };
    let (low, high) = numbers.fold(start, |(low, high), number| {
        (low.min(number), high.max(number))
    });
    if low > high {
        return 0.0..1.0;
    }
    let room = match (high - low) * 0.06 {
        // Next to a number there has to be another.
        room if room > high.abs().max(low.abs()) * 1e-12 => room,
        _ => (high.abs() * 1e-3).max(0.5),
    };
    match is_from_zero {
        true => low..high + room,
        false => low - room..high + room,
    }
}
