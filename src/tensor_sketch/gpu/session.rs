//! Batches of a session on a GPU or in the simulator.

use super::fourier::{Engine, Spectra};
use super::kernels::HasKernels;
use super::layout::{Batch, Layout, MOST_LEVELS, Part, Room, batches};
use super::letters::Packed;
use crate::device::{Buffer, append, collected};
use crate::tensor_sketch::fourier::SEGMENT;
use crate::tensor_sketch::input::Job;
use crate::tensor_sketch::session::batch::{self, Piece};
use crate::{Device, Result};

/// Sketches batches. What it has begun it downloads when the next batch is under way.
pub struct Batches<T: HasKernels> {
    engine: Engine<T>,
    /// The first row of the sequence that has not ended.
    unfinished: Option<Spectra>,
    /// Sketches that may not have been made yet.
    pending: Vec<Buffer<T>>,
    packed: Packed,
}

impl<T: HasKernels> Batches<T> {
    pub fn new(device: &Device, job: &Job) -> Result<Self> {
        Ok(Self {
            engine: Engine::new(device, job)?,
            unfinished: None,
            pending: Vec::new(),
            packed: Packed::default(),
        })
    }

    /// Starts the work on a batch, whose sequences or parts of one have so many letters up to their ends.
    fn start(&mut self, batch: &Batch, codes: &[u8], lengths: &[u64]) -> Result<()> {
        self.packed
            .pack(codes, self.engine.tables.alphabet_size())?;
        let letters = self.packed.upload(&self.engine.device)?;
        let layout = Layout::upload(&self.engine.device, batch)?;
        let begun = self.engine.begin(&letters, &layout, &mut self.unfinished)?;
        let Some(spectra) = begun else {
            return Ok(());
        };
        let (device, workspace) = (&self.engine.device, &self.engine.workspace);
        let mut sketches = workspace.allocate_sketches(device, lengths.len(), 1)?;
        self.engine.finish(&spectra, lengths, &mut sketches, 0)?;
        self.pending.push(sketches);
        Ok(())
    }

    fn download(&mut self, count: usize, rows: &mut Vec<T>) -> Result<()> {
        for sketches in self.pending.drain(..count) {
            append(rows, &sketches.to_vec()?)?;
        }
        Ok(())
    }
}

impl<T: HasKernels> batch::Engine<T> for Batches<T> {
    fn submit(&mut self, batch: &batch::Batch, rows: &mut Vec<T>) -> Result<()> {
        let parts = collected(batch.pieces.iter().map(part))?;
        let lengths = collected(batch.pieces.iter().map(|piece| piece.length))?;
        let chunks: u64 = parts.iter().map(Part::chunks).sum();
        let before = self.pending.len();
        let mut room = self.engine.room(ALL);
        let is_short = chunks > room.chunks;
        if is_short {
            self.download(before, rows)?;
            room = self.engine.room(ALL);
        }
        for mut part in batches(parts.into_iter(), room)? {
            let codes = part.take_letters(&batch.codes);
            let lengths = &lengths[part.first..][..part.parts.len()];
            self.start(&part, codes, lengths)?;
            if is_short {
                self.download(self.pending.len(), rows)?;
            }
        }
        match is_short {
            true => Ok(()),
            false => self.download(before, rows),
        }
    }

    fn drain(&mut self, rows: &mut Vec<T>) -> Result<()> {
        self.download(self.pending.len(), rows)
    }
}

/// A batch of a session is done in one go where there is room.
const ALL: Room = Room {
    letters: SEGMENT as u64,
    chunks: u32::MAX as u64,
};

fn part(piece: &Piece) -> Part {
    let letters = piece.range.len() as u64;
    let is_whole = piece.ends && !piece.continues;
    Part {
        first_letter: piece.range.start as u64,
        letters,
        continued: piece.continues,
        ends: piece.ends,
        level: match is_whole {
            true => Part::level(letters),
            false => MOST_LEVELS,
        },
    }
}
