//! Batches of a stream on a GPU or in the simulator.

use super::fourier::{Engine, Spectra};
use super::layout::{Batch, Layout, Part};
use super::letters::{Packed, PackedLetters};
use crate::device::Buffer;
use crate::tensor_sketch::batch::{self, Piece};
use crate::tensor_sketch::{Real, Rows, Tables, engine};
use crate::{Device, Result};

/// Sketches batches. What it has begun it downloads when the next batch is under way.
pub(in crate::tensor_sketch) struct StreamEngine<T: Real> {
    engine: Engine<T>,
    normalize: bool,
    /// The first row of the sequence that has not ended.
    unfinished: Option<Spectra>,
    /// Sketches that may not have been made yet.
    pending: Vec<Buffer<T>>,
    packed: Packed,
}

impl<T: Real> StreamEngine<T> {
    pub fn new(device: &Device, tables: &Tables, normalize: bool) -> Result<Self> {
        Ok(Self {
            engine: Engine::new(device, tables)?,
            normalize,
            unfinished: None,
            pending: Vec::new(),
            packed: Packed::default(),
        })
    }

    /// Starts the work on pieces that are either all of whole sequences, or one of a part of one.
    fn start(&mut self, letters: &PackedLetters, pieces: &[Piece]) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let batch = Batch {
            parts: pieces.iter().map(part).collect(),
            first: 0,
            complete: pieces.iter().all(|piece| piece.ends),
        };
        let layout = Layout::upload(&self.engine.device, &batch)?;
        let begun = self
            .engine
            .begin(Rows::Last, letters, &layout, &mut self.unfinished)?;
        let Some(spectra) = begun else {
            return Ok(());
        };
        let lengths: Vec<u64> = pieces.iter().map(|piece| piece.length).collect();
        let size = pieces.len() * self.engine.tables.dim();
        let mut sketches = self.engine.device.alloc(size)?;
        self.engine.finish(
            Rows::Last,
            self.normalize,
            &spectra,
            &lengths,
            &mut sketches,
            0,
        )?;
        self.pending.push(sketches);
        Ok(())
    }

    fn download(&mut self, count: usize, rows: &mut Vec<T>) -> Result<()> {
        for sketches in self.pending.drain(..count) {
            rows.extend(sketches.to_vec()?);
        }
        Ok(())
    }
}

impl<T: Real> engine::Engine<T> for StreamEngine<T> {
    fn submit(&mut self, batch: &batch::Batch, rows: &mut Vec<T>) -> Result<()> {
        let alphabet_size = self.engine.tables.alphabet_size();
        let before = self.pending.len();
        self.packed.pack(&batch.codes, alphabet_size);
        let letters = self.packed.upload(&self.engine.device)?;
        let continuing = usize::from(batch.pieces.first().is_some_and(|piece| piece.continues));
        let (continuing, others) = batch.pieces.split_at(continuing);
        self.start(&letters, continuing)?;
        self.start(&letters, others)?;
        self.download(before, rows)
    }

    fn drain(&mut self, rows: &mut Vec<T>) -> Result<()> {
        self.download(self.pending.len(), rows)
    }
}

fn part(piece: &Piece) -> Part {
    Part {
        first_letter: piece.range.start as u64,
        letters: piece.range.len() as u64,
        continued: piece.continues,
        long: piece.continues || !piece.ends,
    }
}
