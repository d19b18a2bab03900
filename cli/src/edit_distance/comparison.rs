//! The distances of all pairs for one kind of sketches, and their file.

use anyhow::Result;

use super::records::Pairs;
use crate::common::output::OutputFile;
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
        file.write_texts(blocks, text, |_| ())
    }

    fn add_line(&self, text: &mut Vec<u8>, pairs: &Pairs, pair: usize) {
        const TAKEN: &str = "memory takes all";
        let mut line = csv::WriterBuilder::new()
            .delimiter(b'\t')
            .from_writer(&mut *text);
        let [length_a, length_b] = pairs.lengths(pair).map(|length| length.to_string());
        let mut add = |cell: &str| line.write_field(cell).expect(TAKEN);
        pairs.names(pair).into_iter().for_each(&mut add);
        [length_a, length_b].iter().for_each(|length| add(length));
        add(&self.edit[pair].to_string());
        add(&self.sketch[pair].to_string());
        if let Some(slide) = &self.slide {
            // No windows, no distance.
            let cell = Some(slide[pair]).filter(|distance| !distance.is_nan());
            add(&cell.map_or(String::new(), |distance| distance.to_string()));
        }
        line.write_record(None::<&[u8]>).expect(TAKEN);
    }
}
