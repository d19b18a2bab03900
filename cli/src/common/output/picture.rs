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

/// The fonts of the program, which has them on all machines, with the characters of Latin, Greek
/// and Cyrillic.
const FAMILY: &str = "DejaVu Sans";
const FONTS: [&[u8]; 2] = [
    include_bytes!("../../../fonts/DejaVuSans.ttf"),
    include_bytes!("../../../fonts/DejaVuSans-Bold.ttf"),
];

/// The first character of scripts that need the fonts of the system.
const OTHER_SCRIPTS: char = '\u{500}';

/// Returns an SVG picture as PNG.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = Database::new();
    for font in FONTS {
        fonts.load_font_data(font.to_vec());
    }
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

    /// The share of pixels that a text of this size makes dark, by the program's fonts alone.
    fn dark(text: &str, weight: &str) -> f64 {
        let svg = format!(
            "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
             <rect width=\"200\" height=\"40\" fill=\"#FFFFFF\"/>\
             <text x=\"10\" y=\"30\" font-family=\"sans-serif\" font-size=\"20\" font-weight=\"{weight}\">\
             {text}</text></svg>"
        );
        let pixels = Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (400, 80));
        let is_dark = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| pixel.green() < 128;
        pixels.pixels().iter().filter(is_dark).count() as f64 / (400.0 * 80.0)
    }

    #[test]
    fn texts_are_drawn_without_fonts_of_the_system() {
        assert_eq!(dark("", "normal"), 0.0);
        let normal = dark("p95 (µs) ≤ é", "normal");
        assert!(normal > 0.01, "{normal}");
        assert!(dark("p95 (µs) ≤ é", "bold") > normal);
    }
}
