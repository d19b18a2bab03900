//! Colours of plots: those of Okabe and Ito, which differ for the colour-blind too.

use plotters::style::{BLACK, RGBColor};

pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub const SKY: RGBColor = RGBColor(86, 180, 233);
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// Of lines, in order.
pub const LINES: [RGBColor; 7] = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK];
