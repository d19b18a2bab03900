//! The direct form for the batches of a session.

use std::{mem, slice};

use gridstride_runtime::device::{append, zeroed_lazily};
use gridstride_runtime::{Device, Result};
use gridstride_sequences::Sequences;

use super::batch::{Batch, Engine};
use crate::TensorSketch;
use crate::element::Entry;
use crate::input::{HostSketch, Rows};

/// Keeps the letters of a session's sequence until it ends, and then sketches it as a whole.
pub struct WholeSequences<T> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub sketcher: TensorSketch<T>,
    pub device: Device,
    /// The letters of the sequence that has not ended.
    pub begun: Vec<u8>,
}

impl<T: Entry> Engine<T> for WholeSequences<T> {
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()> {
        let mut sequences = Sequences::new();
        for segment in &batch.segments {
            let letters = batch.letters(segment);
            if segment.ends && !segment.continues {
                sequences.push(letters)?;
                continue;
            }
            append(&mut self.begun, letters)?;
            if segment.ends {
                sequences.push(mem::take(&mut self.begun))?;
            }
        }
        let job = self.sketcher.job(self.operation, Rows::Last);
        let mut sketches = zeroed_lazily(sequences.len().saturating_mul(job.entries()))?;
        let sketch = HostSketch {
            job,
            sequences: sequences.view(),
            out: &mut sketches,
        };
        T::host(slice::from_ref(&self.device), sketch)?;
        append(rows, &sketches)
    }

    fn drain(&mut self, _: &mut Vec<T>) -> Result<()> {
        Ok(())
    }
}
