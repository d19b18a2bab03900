//! The Fourier form on the CPU for the batches of a session.

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;
use ndarray::ArrayViewMut2;

use super::engine::Fourier;
use super::matrix::Matrix;
use super::vector::Vector;
use super::{longest_first, sketch_fourier};
use crate::session::batch::{Batch, Engine};
use crate::tables::Tables;

/// Sketches each batch at once, and keeps the matrix of a sequence that has not ended.
pub struct Batches<T> {
    fourier: Fourier<T>,
    normalize: bool,
    begun: Option<Matrix>,
}

impl<T: Vector> Batches<T> {
    pub fn new(tables: &Tables, normalize: bool) -> Batches<T> {
        Batches {
            fourier: Fourier::new(tables),
            normalize,
            begun: None,
        }
    }
}

impl<T: Vector> Engine<T> for Batches<T> {
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()> {
        let (start, dim) = (rows.len(), self.fourier.tables().dim());
        let tuple = self.fourier.tables().tuple_length();
        let ended = batch.segments.iter().filter(|segment| segment.ends).count();
        reserve(rows, ended * dim)?;
        rows.resize(start + ended * dim, T::from_f64(0.0));
        let mut out = rows[start..]
            .chunks_exact_mut(dim)
            .map(|row| ArrayViewMut2::from_shape((1, dim), row).expect("a row of D numbers"));
        let mut whole = Vec::new();
        reserve(&mut whole, ended)?;
        for segment in &batch.segments {
            let letters = batch.letters(segment);
            let row = if segment.ends { out.next() } else { None };
            if segment.ends && !segment.continues {
                whole.extend(row.map(|row| (letters, row)));
                continue;
            }
            let matrix = match self.begun.take().filter(|_| segment.continues) {
                None => self.fourier.matrix_rows(letters, 1)?,
                Some(mut matrix) => {
                    matrix.append(&self.fourier.matrix(letters)?);
                    matrix
                }
            };
            match row {
                None => self.begun = Some(matrix),
                Some(row) => {
                    let (length, kept) = (segment.length, tuple..=tuple);
                    (self.fourier).rows(&matrix, length, kept, self.normalize, row);
                }
            }
        }
        longest_first(&mut whole);
        sketch_fourier(&self.fourier, whole, tuple..=tuple, self.normalize)
    }

    fn drain(&mut self, _: &mut Vec<T>) -> Result<()> {
        Ok(())
    }
}
