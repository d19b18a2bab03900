//! Our times against the best peer's: a bar for each kernel.

use std::fs;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Deserialize;

use crate::Result;
use colors::{BLUE, ORANGE};

/// A line of the file, and a bar.
#[derive(Deserialize)]
pub struct Bar {
    kernel: String,
    ours_ms: f64,
    peer: String,
    peer_ms: f64,
}

impl Bar {
    /// Returns our speed relative to the peer's.
    fn speed_up(&self) -> f64 {
        self.peer_ms / self.ours_ms
    }
}

/// Sizes in pixels: all, the title, a bar with the space around it, the axis below, the names on
/// the left, and what the times on the right may take.
const WIDTH: u32 = 1000;
const TITLE: u32 = 64;
const BAR: u32 = 30;
const AXIS: u32 = 44;
const LEFT: u32 = 270;
const RIGHT: u32 = 240;

static GREY: RGBColor = RGBColor(90, 90, 90);

/// Draws the bars, the largest speed-up first.
pub fn draw(path: &Path, bars: &[Bar], machine: &str) -> Result<()> {
    let mut bars: Vec<&Bar> = bars.iter().collect();
    bars.sort_by(|a, b| b.speed_up().total_cmp(&a.speed_up()));
    let bottom = (TITLE + BAR * bars.len() as u32) as i32;
    let speed_ups = || bars.iter().map(|bar| bar.speed_up());
    let least = speed_ups().fold(0.7, f64::min);
    let most = speed_ups().fold(10.0, f64::max);
    let place = |speed_up: f64| {
        let share = (speed_up / least).ln() / (most / least).ln();
        LEFT as i32 + (share * f64::from(WIDTH - LEFT - RIGHT)) as i32
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
        let title = format!("How many times as fast as the best peer, {machine}");
        area.draw_text(&title, &style(20, &BLACK, HPos::Left), (16, 22))?;
        let below = "In brackets our time and the peer's: by the device's events, of copies by the clock; the scale is logarithmic";
        area.draw_text(below, &style(14, &GREY, HPos::Left), (16, 46))?;
        let decades = (0..4).map(|power| 10f64.powi(power));
        for mark in decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * decade)) {
            if mark > most {
                break;
            }
            let x = place(mark);
            let color = match mark == 1.0 {
                true => GREY.stroke_width(2),
                false => BLACK.mix(0.12).stroke_width(1),
            };
            area.draw(&PathElement::new([(x, TITLE as i32), (x, bottom)], color))?;
            let number = style(13, &GREY, HPos::Center);
            area.draw_text(&format!("{mark}×"), &number, (x, bottom + 14))?;
        }
        for (i, bar) in bars.iter().enumerate() {
            let top = TITLE as i32 + BAR as i32 * i as i32;
            let center = top + BAR as i32 / 2;
            let speed_up = bar.speed_up();
            let color = match speed_up >= 1.0 {
                true => BLUE,
                false => ORANGE,
            };
            let (one, end) = (place(1.0), place(speed_up));
            let corners = [
                (one.min(end), top + 5),
                (one.max(end), top + BAR as i32 - 5),
            ];
            area.draw(&Rectangle::new(corners, color.filled()))?;
            let name = style(14, &BLACK, HPos::Right);
            area.draw_text(&bar.kernel, &name, (LEFT as i32 - 12, center))?;
            let label = format!(
                "{} ({}; {} {})",
                ratio(speed_up),
                time(bar.ours_ms),
                bar.peer,
                time(bar.peer_ms)
            );
            let after = one.max(end) + 8;
            area.draw_text(&label, &style(13, &BLACK, HPos::Left), (after, center))?;
        }
        area.present()?;
    }
    fs::write(path, text)?;
    Ok(())
}

/// Formats a ratio with two or three digits.
fn ratio(speed_up: f64) -> String {
    match speed_up {
        _ if speed_up < 2.0 => format!("{speed_up:.2}×"),
        _ if speed_up < 10.0 => format!("{speed_up:.1}×"),
        _ => format!("{speed_up:.0}×"),
    }
}

/// Three digits with their unit.
fn time(ms: f64) -> String {
    match ms {
        _ if ms < 0.1 => format!("{:.1} µs", ms * 1e3),
        _ if ms < 1.0 => format!("{:.0} µs", ms * 1e3),
        _ if ms < 10.0 => format!("{ms:.2} ms"),
        _ if ms < 100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits() {
        assert_eq!([0.95, 5.61, 273.1].map(ratio), ["0.95×", "5.6×", "273×"]);
        let times = [0.0613, 0.286, 4.08, 47.7].map(time);
        assert_eq!(times, ["61.3 µs", "286 µs", "4.08 ms", "47.7 ms"]);
    }

    #[test]
    fn every_bar_has_its_name_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("overview.svg");
        let bar = |kernel: &str, peer_ms| Bar {
            kernel: kernel.to_owned(),
            ours_ms: 2.0,
            peer: "Numba".to_owned(),
            peer_ms,
        };
        draw(&path, &[bar("slow", 1.5), bar("fast", 40.0)], "H100").unwrap();
        let text = fs::read_to_string(path).unwrap();
        for word in ["slow", "fast", "0.75× (2.00 ms; Numba 1.50 ms)", "20×"] {
            assert!(text.contains(word), "{word}");
        }
        assert!(text.find("fast") < text.find("slow"));
    }
}
