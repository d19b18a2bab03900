//! Pictures as pixels.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// The most pixels of a side.
const SIDE: f32 = 16384.0;

/// Pixels for each one of the SVG, as screens of high density have.
const SCALE: f32 = 2.0;

/// The font of the program, which has it on all machines, with the characters of Latin, Greek and
/// Cyrillic. Pictures have no bold text.
const FAMILY: &str = "DejaVu Sans";
const FONT: &[u8] = include_bytes!("../../../fonts/DejaVuSans.ttf");

/// The first character of scripts that need the fonts of the system.
const OTHER_SCRIPTS: char = '\u{500}';

/// Returns an SVG picture as PNG.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    // Looking for fonts takes longer than most pictures.
    if svg.chars().any(|c| c >= OTHER_SCRIPTS) {
        fonts.load_system_fonts();
    }
    fonts.set_sans_serif_family(FAMILY);
    let options = Options {
        font_family: FAMILY.into(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size();
    let scale = SCALE.min(SIDE / size.width().max(size.height()));
    let side = |length: f32| ((length * scale).round() as u32).max(1);
    let (width, height) = (side(size.width()), side(size.height()));
    let no_memory = || anyhow!("there is no memory for a picture of {width}×{height} pixels");
    let mut pixels = Pixmap::new(width, height).ok_or_else(no_memory)?;
    resvg::render(
        &tree,
        Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    Ok(pixels.encode_png()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of pixels that a text of this size makes dark, by the program's font alone.
    fn dark(text: &str) -> f64 {
        let svg = format!(
            "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
             <rect width=\"200\" height=\"40\" fill=\"#FFFFFF\"/>\
             <text x=\"10\" y=\"30\" font-family=\"sans-serif\" font-size=\"20\">{text}</text></svg>"
        );
        let pixels = Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (400, 80));
        let is_dark = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| pixel.green() < 128;
        pixels.pixels().iter().filter(is_dark).count() as f64 / (400.0 * 80.0)
    }

    #[test]
    fn texts_are_drawn_without_fonts_of_the_system() {
        assert_eq!(dark(""), 0.0);
        let share = dark("p95 (µs) ≤ é");
        assert!(share > 0.01, "{share}");
    }
}
