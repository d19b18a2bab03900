//! Batches of a session on a GPU or in the simulator.

use gridstride_runtime::device::{Buffer, append, collected};
use gridstride_runtime::{Device, Result};

use super::fourier::{Engine, Spectra};
use super::kernels::HasKernels;
use super::layout::{self, Batch, Capacity, MOST_LEVELS, Segment};
use crate::fourier::SEGMENT;
use crate::input::Job;
use crate::session::batch;
use crate::tuning::FourierPolicy;

/// Sketches batches, and downloads a batch's sketches once the next batch has begun.
pub struct Batches<T: HasKernels> {
    engine: Engine<T>,
    /// The first row of the sequence that has not ended.
    unfinished: Option<Spectra>,
    /// Sketches that the device may still be computing.
    pending: Vec<Buffer<T>>,
    /// Packed letters, if there is no page-locked memory for them.
    spare: Vec<u32>,
}

impl<T: HasKernels> Batches<T> {
    pub fn new(device: &Device, policy: &FourierPolicy, job: &Job) -> Result<Self> {
        Ok(Self {
            engine: Engine::new(device, policy, job)?,
            unfinished: None,
            pending: Vec::new(),
            spare: Vec::new(),
        })
    }

    fn begin(&mut self, batch: &Batch, codes: &[u8]) -> Result<()> {
        let prepared = self.engine.prepare(codes, batch, &mut self.spare)?;
        let (letters, layout) = (&prepared.letters, &prepared.layout);
        if let Some(spectra) = (self.engine).begin(letters, layout, &mut self.unfinished)? {
            let mut sketches = self.engine.allocate_sketches(batch.segments.len(), 1)?;
            (self.engine).finish_scaled(&spectra, &prepared.scales, &mut sketches, 0)?;
            self.pending.push(sketches);
        }
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
        let segments = collected(batch.segments.iter().map(segment))?;
        let chunks: u64 = segments.iter().map(Segment::chunks).sum();
        let before = self.pending.len();
        let mut capacity = self.engine.capacity(ALL);
        let is_short = chunks > capacity.chunks;
        if is_short {
            self.download(before, rows)?;
            capacity = self.engine.capacity(ALL);
        }
        for fitting in layout::Batches::new(segments, capacity) {
            let mut fitting = fitting?;
            let codes = fitting.take_letters(&batch.codes);
            self.begin(&fitting, codes)?;
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

/// The capacity with which a session's batch is not split.
const ALL: Capacity = Capacity {
    letters: SEGMENT as u64,
    chunks: u32::MAX as u64,
};

fn segment(from: &batch::Segment) -> Segment {
    let segment = Segment::whole(from.range.start as u64, from.range.len() as u64);
    match from.ends && !from.continues {
        true => segment,
        false => Segment {
            length: from.length,
            continues: from.continues,
            ends: from.ends,
            level: MOST_LEVELS,
            ..segment
        },
    }
}
