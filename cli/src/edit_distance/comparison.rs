//! The distances of all pairs for one kind of sketches, and their file.

use std::io::Write;

use anyhow::Result;
use program::output::{OutputFile, add_name};

use super::records::Pairs;
use crate::common::spearman::spearman;

/// Pairs whose lines a thread writes in one go.
const BLOCK: usize = 1 << 12;

/// The distances of all pairs.
pub struct Comparison {
    pub edit: Vec<f64>,
    pub sketch: Vec<f64>,
    /// With windows; NaN for pairs without windows.
    pub slide: Option<Vec<f64>>,
}

impl Comparison {
    /// Returns the correlation of edit distances and sketches, if it is defined.
    pub fn spearman(&self) -> Option<f64> {
        spearman(&self.edit, &self.sketch)
    }

    /// Returns the correlation of edit distances and slide distances, if there are any.
    pub fn spearman_slide(&self) -> Option<f64> {
        let slide = self.slide.as_ref()?;
        spearman(&self.edit, slide)
    }

    /// Returns how many pairs have no windows.
    pub fn without_windows(&self) -> usize {
        let slide = self.slide.iter().flatten();
        slide.filter(|distance| distance.is_nan()).count()
    }

    /// Writes a line for each pair.
    pub fn write(&self, file: &mut OutputFile, pairs: &Pairs) -> Result<()> {
        let slide = if self.slide.is_some() {
            "\tslide_distance"
        } else {
            ""
        };
        let header = format!("a\tb\tlength_a\tlength_b\tedit_distance\tsketch_distance{slide}\n");
        file.write_all(header.as_bytes())?;
        let blocks = pairs.count().div_ceil(BLOCK);
        let text = |block: usize| {
            let first = block * BLOCK;
            let mut text = Vec::new();
            for pair in first..pairs.count().min(first + BLOCK) {
                self.add_line(&mut text, pairs, pair);
            }
            text
        };
        file.write_texts(blocks, &text, &|_| ())
    }

    fn add_line(&self, text: &mut Vec<u8>, pairs: &Pairs, pair: usize) {
        const TAKEN: &str = "memory takes all";
        for name in pairs.names(pair) {
            add_name(text, name);
            text.push(b'\t');
        }
        let [length_a, length_b] = pairs.lengths(pair);
        let (edit, sketch) = (self.edit[pair], self.sketch[pair]);
        write!(text, "{length_a}\t{length_b}\t{edit}\t{sketch}").expect(TAKEN);
        match self.slide.as_ref().map(|slide| slide[pair]) {
            None => {}
            // No windows, no distance.
            Some(distance) if distance.is_nan() => text.push(b'\t'),
            Some(distance) => write!(text, "\t{distance}").expect(TAKEN),
        }
        text.push(b'\n');
    }
}
