//! Windows of sequences, sketched while these come.

use anyhow::{Error, Result};
use files::text::visible;
use gridstride::Device;
use gridstride::tensor_sketch::{Entry, TensorSketch};
use ndarray::{Array2, ArrayView1};

use super::args;

/// Letters, and numbers of sketches, that are worked on together.
const LETTERS: usize = 16 << 20;
const NUMBERS: usize = 1 << 22;

/// Numbers where windows are so long that few of them would share little.
const MOST_NUMBERS: usize = 1 << 26;

/// Letters that all windows of a sequence have together, counted as often as they are in one, that
/// are sketched faster window by window, with those of other sequences.
const FEW_LETTERS: usize = 1 << 22;

/// The output of [`Windows`].
pub enum Output<'a, T> {
    /// A window to be sketched as a sequence.
    Window(&'a [u8]),
    /// The sketches of neighbouring windows.
    Sketches(Array2<T>),
}

/// Sketches the windows of one sequence after the other, many at a time, and holds no more letters
/// than those have.
pub struct Windows<'a, T: Entry> {
    sketcher: &'a TensorSketch<T>,
    devices: &'a [Device],
    pub width: usize,
    /// Letters from the beginning of a window to that of the next.
    pub stride: usize,
    /// Letters that are worth a call.
    enough: usize,
    /// The letters from the beginning of the next window on, or, while that has not come, none.
    held: Vec<u8>,
    /// Letters to leave out before that.
    gap: usize,
    /// Start of the next window in the sequence.
    start: u64,
}

impl<'a, T: Entry> Windows<'a, T> {
    pub fn new(
        sketcher: &'a TensorSketch<T>,
        devices: &'a [Device],
        windows: args::Windows,
    ) -> Self {
        let (width, stride) = (windows.width.get(), windows.stride.get());
        let dim = sketcher.tables().dim();
        // As many as a window has strides, to work on each letter twice at most.
        let together = (LETTERS / stride)
            .min(NUMBERS / dim)
            .max((width / stride).min(MOST_NUMBERS / dim));
        Windows {
            sketcher,
            devices,
            width,
            stride,
            enough: stride.saturating_mul(together).saturating_add(width),
            held: Vec::new(),
            gap: 0,
            start: 0,
        }
    }

    /// Adds letters to the sequence `name`, and calls `visit` with what was found and the place
    /// where it begins.
    pub fn add(
        &mut self,
        name: &str,
        mut codes: &[u8],
        mut visit: impl FnMut(u64, Output<T>) -> Result<()>,
    ) -> Result<()> {
        while !codes.is_empty() {
            let left_out = self.gap.min(codes.len());
            self.gap -= left_out;
            codes = &codes[left_out..];
            let (now, later) = codes.split_at(codes.len().min(self.enough - self.held.len()));
            self.held.extend_from_slice(now);
            codes = later;
            if self.held.len() == self.enough {
                self.sketch(name, &mut visit)?;
            }
        }
        Ok(())
    }

    /// Ends the sequence `name`: what does not fill a window is left out.
    pub fn end_sequence(
        &mut self,
        name: &str,
        mut visit: impl FnMut(u64, Output<T>) -> Result<()>,
    ) -> Result<()> {
        let windows = || self.held.windows(self.width).step_by(self.stride);
        if windows().len().saturating_mul(self.width) <= FEW_LETTERS {
            for (i, window) in windows().enumerate() {
                let start = self.start + (i * self.stride) as u64;
                visit(start, Output::Window(window))?;
            }
        } else {
            self.sketch(name, &mut visit)?;
        }
        self.held.clear();
        (self.gap, self.start) = (0, 0);
        Ok(())
    }

    /// Sketches all windows that are whole, at least one.
    fn sketch(
        &mut self,
        name: &str,
        visit: &mut impl FnMut(u64, Output<T>) -> Result<()>,
    ) -> Result<()> {
        let codes = ArrayView1::from(&self.held);
        let sketches = self
            .sketcher
            .windows(self.devices, codes, self.width, self.stride)
            .map_err(|error| self.with_name(name, error))?;
        let next = sketches.nrows() * self.stride;
        visit(self.start, Output::Sketches(sketches))?;
        self.start += next as u64;
        self.gap = next.saturating_sub(self.held.len());
        self.held.drain(..next.min(self.held.len()));
        Ok(())
    }

    /// The error, with the name of the window whose sketch it is about.
    fn with_name(&self, name: &str, error: gridstride::Error) -> Error {
        let gridstride::Error::Overflow { index, .. } = error else {
            return error.into();
        };
        let start = self.start + (index * self.stride) as u64;
        Error::new(error).context(format!("cannot sketch {}:{start}", visible(name)))
    }
}
