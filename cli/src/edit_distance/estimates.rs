//! Distances of sketches, which estimate edit distances.

use std::num::NonZero;
use std::ops::Range;

use anyhow::Result;
use gridstride::Device;
use gridstride::distances::{Windows as WindowRows, slide_paired};
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use ndarray::{Array2, ArrayView1, s};

use super::records::Pairs;
use crate::tensor_sketch::args::Windows;

/// Numbers of the sketches of windows that are in memory together, unless a pair has more.
const NUMBERS: usize = 1 << 25;

/// Letters of both texts of [`Estimates::sketch_windows`], unless a pair has more.
const LETTERS: usize = 1 << 28;

/// Sketches of one kind, on some devices.
pub struct Estimates<'a> {
    devices: &'a [Device],
    pairs: &'a Pairs,
    sketcher: TensorSketch,
}

impl<'a> Estimates<'a> {
    /// Takes normalised sketches, whose distances do not grow with the length of the sequences.
    pub fn new(devices: &'a [Device], pairs: &'a Pairs, tables: Tables) -> Estimates<'a> {
        Estimates {
            devices,
            pairs,
            sketcher: TensorSketch::new(tables).normalize(true),
        }
    }

    /// Returns the distance of the sketches of each pair.
    pub fn plain(&self) -> Result<Vec<f64>> {
        let sketch = |sequences| self.sketcher.sketch(self.devices, sequences);
        let a = sketch(&self.pairs.a.sequences)?;
        let b = sketch(&self.pairs.b.sequences)?;
        // As sequences of a single window.
        let offsets: Vec<usize> = (0..=self.pairs.count()).collect();
        let a = WindowRows::new(a.view(), &offsets)?;
        let b = WindowRows::new(b.view(), &offsets)?;
        Ok(slide_paired(self.devices, a, b)?.to_vec())
    }

    /// Returns the slide distance of each pair, NaN if a sequence of it is shorter than a window.
    pub fn slide(&self, windows: Windows) -> Result<Vec<f64>> {
        let windows = self.bounded(windows);
        let mut distances = Vec::with_capacity(self.pairs.count());
        while distances.len() < self.pairs.count() {
            let first = distances.len();
            let end = self.end_of_chunk(first, windows);
            let (a, offsets_a) =
                self.sketch_windows(&self.pairs.a.sequences, first..end, windows)?;
            let (b, offsets_b) =
                self.sketch_windows(&self.pairs.b.sequences, first..end, windows)?;
            let a = WindowRows::new(a.view(), &offsets_a)?;
            let b = WindowRows::new(b.view(), &offsets_b)?;
            distances.extend(slide_paired(self.devices, a, b)?);
        }
        Ok(distances)
    }

    /// Returns the same windows with the least stride that leaves a single window of the longest
    /// sequence, if the stride is greater: the texts are padded to multiples of the stride.
    fn bounded(&self, windows: Windows) -> Windows {
        let lengths = (0..self.pairs.count()).flat_map(|pair| self.pairs.lengths(pair));
        let last = lengths
            .max()
            .unwrap_or(0)
            .saturating_sub(windows.width.get());
        let single = NonZero::new(last + 1).unwrap_or(NonZero::<usize>::MIN);
        Windows {
            stride: windows.stride.min(single),
            ..windows
        }
    }

    /// Returns the end of a range of pairs, at least one, whose windows and padded letters are in
    /// memory together.
    fn end_of_chunk(&self, first: usize, windows: Windows) -> usize {
        let most = NUMBERS / self.sketcher.tables().dim();
        let (mut rows, mut letters) = (0, 0);
        let fits = |pair: &usize| {
            for length in self.pairs.lengths(*pair) {
                let strides = length.div_ceil(windows.stride.get());
                rows += strides;
                letters += strides * windows.stride.get();
            }
            rows <= most && letters <= LETTERS
        };
        let fitting = (first..self.pairs.count()).take_while(fits).count();
        first + fitting.max(1)
    }

    /// Sketches the windows of some sequences: the windows of sequence i, counted from the first,
    /// are the rows offsets\[i\]..offsets\[i + 1\].
    ///
    /// All sequences are one text to the library, in which each begins at a multiple of the stride.
    /// One call sketches all windows of the text, and those across two sequences are left out.
    fn sketch_windows(
        &self,
        sequences: &Sequences,
        range: Range<usize>,
        windows: Windows,
    ) -> Result<(Array2<f32>, Vec<usize>)> {
        let (width, stride) = (windows.width.get(), windows.stride.get());
        let (mut text, mut offsets) = (Vec::new(), vec![0]);
        let mut rows = Vec::new();
        for index in range {
            let codes =
                &sequences.codes()[sequences.offsets()[index]..sequences.offsets()[index + 1]];
            if let Some(last) = codes.len().checked_sub(width) {
                let first = text.len() / stride;
                rows.extend(first..=first + last / stride);
                text.extend_from_slice(codes);
                text.resize(text.len().next_multiple_of(stride), 0);
            }
            offsets.push(rows.len());
        }
        let text = ArrayView1::from(&text);
        let sketches = self.sketcher.windows(self.devices, text, width, stride)?;
        let mut own = Array2::zeros((rows.len(), sketches.ncols()));
        for (mut own, row) in own.outer_iter_mut().zip(rows) {
            own.assign(&sketches.slice(s![row, ..]));
        }
        Ok((own, offsets))
    }
}
