//! Colours of plots: those of Okabe and Ito, which differ for the colour-blind too.

use plotters::style::{BLACK, RGBColor};

/// Orange.
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
/// Sky blue.
pub const SKY: RGBColor = RGBColor(86, 180, 233);
/// Bluish green.
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
/// Blue.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// Vermilion.
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
/// Reddish purple.
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// The colours of lines, in order.
pub const LINES: [RGBColor; 7] = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK];
