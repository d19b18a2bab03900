//! Lines with marks, on logarithmic axes.

use std::fs;
use std::path::Path;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::Result;

/// A line of a plot.
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// Its colour.
    pub color: RGBColor,
    /// Whether it has dashes, and rings for marks.
    pub is_dashed: bool,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// The texts around the lines.
pub struct Labels {
    /// Above them.
    pub title: String,
    /// At the axis of x.
    pub x: &'static str,
    /// At the axis of y.
    pub y: &'static str,
    /// The axis of x has its numbers at powers of this, and begins and ends at such.
    pub base: f64,
    /// Where the names of the lines are.
    pub legend: Legend,
}

/// Where the names of lines are.
pub enum Legend {
    /// Over the plot, where no line is.
    Within(SeriesLabelPosition),
    /// At the right of the plot, which lines fill.
    Beside,
}

/// Sizes in pixels: the plot, the width of the legend at its right, the height of the first name,
/// and the distance of names.
const PLOT: (u32, u32) = (800, 480);
const LEGEND: u32 = 280;
const FIRST: i32 = 60;
const LINE: usize = 22;

/// The length of dashes, and of the gaps between them.
const DASH: (i32, i32) = (6, 4);

/// A plot with both axes logarithmic.
pub fn draw(path: &Path, labels: &Labels, lines: &[Line]) -> Result<()> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |values: &mut dyn Iterator<Item = f64>, base: f64| {
        let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), value| {
            (value.min(low), value.max(high))
        });
        // Logarithms of powers may be next to whole numbers.
        let (low, high) = (low.log(base) + 1e-9, high.log(base) - 1e-9);
        base.powf(low.floor())..base.powf(high.ceil())
    };
    let (xs, ys) = (
        range(&mut points().map(|point| point.0), labels.base),
        range(&mut points().map(|point| point.1), 10.0),
    );
    let mut text = String::new();
    {
        let width = match labels.legend {
            Legend::Within(_) => PLOT.0,
            Legend::Beside => PLOT.0 + LEGEND,
        };
        let area = SVGBackend::with_string(&mut text, (width, PLOT.1)).into_drawing_area();
        area.fill(&WHITE)?;
        let (body, beside) = area.split_horizontally(PLOT.0);
        let mut chart = ChartBuilder::on(&body)
            .caption(&labels.title, ("sans-serif", 20))
            .margin(16)
            .margin_right(40)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(xs.log_scale().base(labels.base), ys.log_scale())?;
        chart
            .configure_mesh()
            .x_desc(labels.x)
            .y_desc(labels.y)
            .label_style(("sans-serif", 14))
            .light_line_style(BLACK.mix(0.05))
            .x_label_formatter(&|value| value.to_string())
            .y_label_formatter(&|value| value.to_string())
            .draw()?;
        for line in lines {
            let style = line.color.stroke_width(2);
            let points = || line.points.iter().copied();
            let of_legend = |(x, y)| [(x, y), (x + 20, y)];
            // A dashed line has rings for marks.
            let mark = match line.is_dashed {
                false => {
                    let drawn = chart.draw_series(LineSeries::new(points(), style))?;
                    let drawn = drawn.label(line.name.as_str());
                    drawn.legend(move |place| PathElement::new(of_legend(place), style));
                    style.filled()
                }
                true => {
                    let (dash, gap) = DASH;
                    let drawn = DashedLineSeries::new(points(), dash, gap, style);
                    let drawn = chart.draw_series(drawn)?.label(line.name.as_str());
                    drawn.legend(move |place| {
                        DashedPathElement::new(of_legend(place), dash, gap, style)
                    });
                    line.color.stroke_width(1)
                }
            };
            chart.draw_series(points().map(|point| Circle::new(point, 3, mark)))?;
        }
        match &labels.legend {
            Legend::Within(position) => chart
                .configure_series_labels()
                .position(position.clone())
                .background_style(WHITE.mix(0.9))
                .border_style(BLACK.mix(0.2))
                .label_font(("sans-serif", 14))
                .draw()?,
            Legend::Beside => draw_names(&beside, lines)?,
        }
        area.present()?;
    }
    fs::write(path, text)?;
    Ok(())
}

/// Draws the name of each line, one below the other, beside a piece of the line.
fn draw_names(area: &DrawingArea<SVGBackend, Shift>, lines: &[Line]) -> Result<()> {
    let font = ("sans-serif", 14).into_text_style(area);
    let font = font.pos(Pos::new(HPos::Left, VPos::Center));
    for (line, y) in lines.iter().zip((FIRST..).step_by(LINE)) {
        let (style, ends) = (line.color.stroke_width(2), [(0, y), (20, y)]);
        match line.is_dashed {
            false => area.draw(&PathElement::new(ends, style))?,
            true => area.draw(&DashedPathElement::new(ends, DASH.0, DASH.1, style))?,
        }
        area.draw_text(&line.name, &font, (28, y))?;
    }
    Ok(())
}
