//! Bars with names before them and texts behind them.

use std::fs;
use std::path::Path;

use crate::Result;
use colors::{BLUE, ORANGE};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A bar, with the text behind it.
pub struct Bar {
    /// What stands before it.
    pub name: String,
    /// Its end.
    pub value: f64,
    /// What stands behind it.
    pub label: String,
}

/// The axis of the values.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// Ratios on a logarithmic axis, whose bars begin at one and have another colour below.
    Ratios,
    /// Shares of one, whose bars begin at nothing.
    Shares,
}

/// Sizes in pixels: all, the title, a bar with the space around it, the axis below, the names on
/// the left, and what the times on the right may take.
const WIDTH: u32 = 1100;
const TITLE: u32 = 64;
const BAR: u32 = 30;
const AXIS: u32 = 44;
const LEFT: u32 = 340;
const RIGHT: u32 = 270;

static GREY: RGBColor = RGBColor(90, 90, 90);

/// Draws the bars, the largest first.
pub fn draw(path: &Path, title: &str, below: &str, scale: Scale, bars: &[Bar]) -> Result<()> {
    let mut bars: Vec<&Bar> = bars.iter().collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value));
    let bottom = (TITLE + BAR * bars.len() as u32) as i32;
    let values = || bars.iter().map(|bar| bar.value);
    let (least, most, start) = match scale {
        Scale::Ratios => (
            values().fold(0.7, f64::min),
            values().fold(10.0, f64::max),
            1.0,
        ),
        Scale::Shares => (0.0, values().fold(1.0, f64::max), 0.0),
    };
    let place = |value: f64| {
        let share = match scale {
            Scale::Ratios => (value / least).ln() / (most / least).ln(),
            Scale::Shares => value / most,
        };
        LEFT as i32 + (share * f64::from(WIDTH - LEFT - RIGHT)) as i32
    };
    let marks: Vec<f64> = match scale {
        Scale::Ratios => (0..4)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)))
            .collect(),
        Scale::Shares => (0..=5).map(|fifth| f64::from(fifth) / 5.0).collect(),
    };
    let mut text = String::new();
    {
        let size = (WIDTH, bottom as u32 + AXIS);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let style = |size: u32, color: &'static RGBColor, horizontal| {
            let style = ("sans-serif", size).into_text_style(&area).color(color);
            style.pos(Pos::new(horizontal, VPos::Center))
        };
        area.draw_text(title, &style(20, &BLACK, HPos::Left), (16, 22))?;
        area.draw_text(below, &style(14, &GREY, HPos::Left), (16, 46))?;
        for mark in marks {
            if mark > most {
                break;
            }
            let x = place(mark);
            let color = match mark == start || mark == 1.0 {
                true => GREY.stroke_width(2),
                false => BLACK.mix(0.12).stroke_width(1),
            };
            area.draw(&PathElement::new([(x, TITLE as i32), (x, bottom)], color))?;
            let number = style(13, &GREY, HPos::Center);
            let text = match scale {
                Scale::Ratios => format!("{mark}×"),
                Scale::Shares => figures::percent(mark),
            };
            area.draw_text(&text, &number, (x, bottom + 14))?;
        }
        for (i, bar) in bars.iter().enumerate() {
            let top = TITLE as i32 + BAR as i32 * i as i32;
            let center = top + BAR as i32 / 2;
            let color = match scale == Scale::Ratios && bar.value < 1.0 {
                true => ORANGE,
                false => BLUE,
            };
            let (one, end) = (place(start), place(bar.value));
            let corners = [
                (one.min(end), top + 5),
                (one.max(end), top + BAR as i32 - 5),
            ];
            area.draw(&Rectangle::new(corners, color.filled()))?;
            let name = style(14, &BLACK, HPos::Right);
            area.draw_text(&bar.name, &name, (LEFT as i32 - 12, center))?;
            let after = one.max(end) + 8;
            // Lines of the axis end at the text.
            let width = 7 * bar.label.chars().count() as i32;
            let corners = [(after - 2, center - 9), (after + width, center + 9)];
            area.draw(&Rectangle::new(corners, WHITE.filled()))?;
            area.draw_text(&bar.label, &style(13, &BLACK, HPos::Left), (after, center))?;
        }
        area.present()?;
    }
    fs::write(path, text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_its_name_and_label() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bars.svg");
        let bar = |name: &str, value: f64| Bar {
            name: name.to_owned(),
            value,
            label: format!("of {value}"),
        };
        for scale in [Scale::Ratios, Scale::Shares] {
            draw(
                &path,
                "title",
                "below",
                scale,
                &[bar("slow", 0.75), bar("fast", 20.0)],
            )
            .unwrap();
            let text = fs::read_to_string(&path).unwrap();
            for word in ["title", "below", "slow", "fast", "of 0.75", "of 20"] {
                assert!(text.contains(word), "{word}");
            }
            assert!(text.find("fast") < text.find("slow"));
        }
    }
}
