//! Cells and legend of a heat map.

use anyhow::Result;
use ndarray::Array2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{BAR, Frame, LEGEND, LEGEND_GAP, TITLE};
use crate::tensor_sketch::tree::Area;

/// Cells that are large enough for a number in them.
const NUMBERED_CELL: usize = 40;

/// From dark for 0 to light for 1.
fn color(share: f64) -> RGBColor {
    ViridisRGB.get_color(share.clamp(0.0, 1.0))
}

pub fn draw_cells(area: &Area, frame: &Frame, cells: &Array2<f64>, largest: f64) -> Result<()> {
    let share = |distance: f64| {
        if largest > 0.0 {
            distance / largest
        } else {
            0.0
        }
    };
    for (row, distances) in cells.outer_iter().enumerate() {
        let top = TITLE + row as i32 * frame.cell;
        let colors: Vec<RGBColor> = distances.iter().map(|&d| color(share(d))).collect();
        // Neighbours of the same colour are one rectangle, for a smaller file.
        let mut left = frame.left;
        for run in colors.chunk_by(|a, b| a == b) {
            let right = left + run.len() as i32 * frame.cell;
            let corners = [(left, top), (right, top + frame.cell)];
            area.draw(&Rectangle::new(corners, run[0].filled()))?;
            left = right;
        }
        if frame.cell as usize >= NUMBERED_CELL {
            draw_numbers(
                area,
                frame,
                row,
                distances.as_slice().unwrap_or(&[]),
                largest,
            )?;
        }
    }
    Ok(())
}

/// Writes the distances of a row into their cells, in the unit of the legend.
fn draw_numbers(
    area: &Area,
    frame: &Frame,
    row: usize,
    distances: &[f64],
    largest: f64,
) -> Result<()> {
    let unit = unit(largest);
    for (column, distance) in distances.iter().enumerate() {
        let ink = if *distance > 0.6 * largest {
            &BLACK
        } else {
            &WHITE
        };
        let font = ("sans-serif", 12).into_font().color(ink);
        let middle = |index: usize| index as i32 * frame.cell + frame.cell / 2;
        let place = (frame.left + middle(column), TITLE + middle(row));
        let number = format!("{:.2}", distance / 10f64.powi(unit));
        area.draw_text(
            &number,
            &font.pos(Pos::new(HPos::Center, VPos::Center)),
            place,
        )?;
    }
    Ok(())
}

/// The exponent of ten in which distances are written, so that the largest has one digit before the
/// point.
pub fn unit(largest: f64) -> i32 {
    match largest > 0.0 {
        true => largest.log10().floor() as i32,
        false => 0,
    }
}

pub fn draw_legend(area: &Area, frame: &Frame, largest: f64) -> Result<()> {
    let unit = unit(largest);
    let (width, height) = BAR;
    let (left, top) = (frame.left, frame.size.1 - LEGEND + 4);
    for x in 0..width {
        let color = color(f64::from(x) / f64::from(width - 1));
        area.draw(&Rectangle::new(
            [(left + x, top), (left + x + 1, top + height)],
            color.filled(),
        ))?;
    }
    let font = ("sans-serif", 12).into_font().color(&BLACK);
    for (share, hpos) in [(0.0, HPos::Left), (0.5, HPos::Center), (1.0, HPos::Right)] {
        let number = format!("{:.2}", share * largest / 10f64.powi(unit));
        let place = (left + (share * f64::from(width)) as i32, top + height + 5);
        area.draw_text(&number, &font.pos(Pos::new(hpos, VPos::Top)), place)?;
    }
    let title = match unit {
        0 => "L2 distance".into(),
        unit => format!("L2 distance / 1e{unit}"),
    };
    Ok(area.draw_text(&title, &font, (left + width + LEGEND_GAP, top))?)
}
