//! Pictures as pixels.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{FontResolver, Options, Tree};

/// The most pixels of a side.
const SIDE: f32 = 16384.0;

/// Pixels for each one of the SVG, as screens of high density have.
const SCALE: f32 = 2.0;

/// The font of the program, which has it on all machines, with the characters of Latin, Greek and
/// Cyrillic. Pictures have no bold text.
const FAMILY: &str = "DejaVu Sans";
const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");

/// The first character of scripts that need the fonts of the system.
const OTHER_SCRIPTS: char = '\u{500}';

/// The replacement for characters that no font has. The program's font has this one.
const BOX: &str = "□";

/// A picture as PNG.
pub struct Png {
    pub bytes: Vec<u8>,
    /// The characters that no font has: the picture has boxes in their places.
    pub missing: BTreeSet<char>,
}

/// Returns an SVG picture as PNG.
pub fn png(svg: &str) -> Result<Png> {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    // Looking for fonts takes longer than most pictures.
    if svg.chars().any(|c| c >= OTHER_SCRIPTS) {
        fonts.load_system_fonts();
    }
    fonts.set_sans_serif_family(FAMILY);
    let fonts = Arc::new(fonts);
    let missing = missing(svg, &fonts)?;
    let mut svg = svg.to_owned();
    for &character in &missing {
        svg = svg.replace(character, BOX);
    }
    let options = options(&fonts);
    let tree = Tree::from_str(&svg, &options)?;
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
    Ok(Png {
        bytes: pixels.encode_png()?,
        missing,
    })
}

fn options<'a>(fonts: &Arc<Database>) -> Options<'a> {
    Options {
        font_family: FAMILY.into(),
        fontdb: fonts.clone(),
        ..Options::default()
    }
}

/// Returns the characters of a picture that no font has.
fn missing(svg: &str, fonts: &Arc<Database>) -> Result<BTreeSet<char>> {
    let characters: BTreeSet<char> = svg.chars().filter(|c| !c.is_ascii()).collect();
    if characters.is_empty() {
        return Ok(characters);
    }
    // A text of its own for each: the search for other fonts ends at a text's first character that no
    // font has.
    let mut texts = String::new();
    for character in &characters {
        texts += &format!("<text>{character}</text>");
    }
    let missing = Mutex::new(BTreeSet::new());
    let select = FontResolver::default_fallback_selector();
    let mut options = options(fonts);
    options.font_resolver.select_fallback = Box::new(|character, used, fonts| {
        let font = select(character, used, fonts);
        if font.is_none() {
            let mut missing = missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.insert(character);
        }
        font
    });
    let svg =
        format!("<svg width=\"1\" height=\"1\" xmlns=\"http://www.w3.org/2000/svg\">{texts}</svg>");
    Tree::from_str(&svg, &options)?;
    drop(options);
    Ok(missing.into_inner().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of pixels that a text of this size makes dark, and the characters that no font has.
    fn drawn(text: &str) -> (f64, String) {
        let svg = format!(
            "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
             <rect width=\"200\" height=\"40\" fill=\"#FFFFFF\"/>\
             <text x=\"10\" y=\"30\" font-family=\"sans-serif\" font-size=\"20\">{text}</text></svg>"
        );
        let png = png(&svg).unwrap();
        let pixels = Pixmap::decode_png(&png.bytes).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (400, 80));
        let is_dark = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| pixel.green() < 128;
        let dark = pixels.pixels().iter().filter(is_dark).count();
        (
            dark as f64 / (400.0 * 80.0),
            png.missing.into_iter().collect(),
        )
    }

    #[test]
    fn texts_are_drawn_without_fonts_of_the_system() {
        assert_eq!(drawn(""), (0.0, String::new()));
        let (share, missing) = drawn("p95 (µs) ≤ é");
        assert!(share > 0.01, "{share}");
        assert_eq!(missing, "");
    }

    /// No font has characters for private use.
    #[test]
    fn characters_that_no_font_has_are_boxes() {
        let [first, second] = ['\u{f1234}', '\u{10fffd}'];
        let (share, missing) = drawn(&format!("{second}é{first}{second}"));
        assert_eq!(missing, String::from_iter([first, second]));
        assert_eq!(share, drawn("□é□□").0);
        assert!(share > drawn("é").0);
    }
}
