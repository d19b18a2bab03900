//! What computes the batches of a stream.

use std::slice;

use super::batch::Batch;
use super::{Real, Rows, Sequences, TensorSketch};
use crate::device::{append, reserve};
use crate::{Device, Result};

/// Computes batches, in the order in which they come.
///
/// Row t of each sequence that has ended is appended to the `rows` of that call or of a later one: D
/// numbers a sequence, in the order of the sequences, each normalised if the sketcher does that, and
/// infinite where it leaves the range of `T`. They depend on the sequence alone, not on the batches.
///
/// After an error an engine is only dropped. Dropping it, with work under way or not, waits for what
/// uses its memory.
pub trait Engine<T>: Send {
    /// Begins with a batch, and may return before it is done with it; the batch itself is free to be
    /// filled anew then. If its last piece does not end its sequence, what has been computed of that is
    /// kept for the next batch.
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()>;

    /// Waits for what is under way: afterwards the rows of all sequences that have ended are there.
    fn drain(&mut self, rows: &mut Vec<T>) -> Result<()>;
}

/// Sketches each sequence in one go, once it has all its letters, which are kept until then.
pub(super) struct WholeSequences<T: Real> {
    sketcher: TensorSketch<T>,
    device: Device,
    /// The letters so far of a sequence that has not ended.
    begun: Vec<u8>,
}

impl<T: Real> WholeSequences<T> {
    pub fn new(sketcher: TensorSketch<T>, device: Device) -> WholeSequences<T> {
        WholeSequences {
            sketcher,
            device,
            begun: Vec::new(),
        }
    }
}

impl<T: Real> Engine<T> for WholeSequences<T> {
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()> {
        let mut sequences = Sequences::new();
        for piece in &batch.pieces {
            let letters = batch.letters(piece);
            if !piece.ends || piece.continues {
                append(&mut self.begun, letters)?;
            }
            match (piece.ends, piece.continues) {
                (false, _) => {}
                (true, false) => sequences.push(letters)?,
                (true, true) => sequences.push(std::mem::take(&mut self.begun))?,
            }
        }
        let sketches = self.sketcher.compute_in_parts(
            slice::from_ref(&self.device),
            sequences.view(),
            Rows::Last,
        )?;
        reserve(rows, sketches.len())?;
        rows.extend(sketches);
        Ok(())
    }

    fn drain(&mut self, _: &mut Vec<T>) -> Result<()> {
        Ok(())
    }
}
