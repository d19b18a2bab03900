//! Sketches on GPUs and in the simulator.

mod direct;
pub mod fourier;
pub mod kernels;
pub mod layout;
mod session;
pub mod tuning;
pub mod workspace;

pub use self::fourier::sketch_from_host;
pub use self::kernels::HasKernels;
pub use self::layout::Layout;
pub use self::session::Batches;
use tensor_sketch_kernels::NEGATIVE;

use super::input::Job;
use super::options::Form;
use super::tables::Tables;
use crate::device::{Buffer, collected};
use crate::sequences::{SequenceBuffers, SequencesView};
use crate::{Device, Result};

/// Writes the rows of all sequences, whose codes are below the alphabet's size.
pub fn sketch<T: HasKernels>(
    device: &Device,
    job: &Job,
    sequences: &SequenceBuffers,
    out: &mut Buffer<T>,
) -> Result<()> {
    match job.form {
        Form::Auto | Form::Fourier => {
            let batches = sequences.derived(|| Layout::of_sequences(device, &sequences.offsets))?;
            let engine = fourier::Engine::new(device, job)?;
            let lengths = collected(sequences.lengths())?;
            engine.sketch(&sequences.letters, batches, &lengths, out)
        }
        Form::Direct => direct::sketch(device, job, sequences, out),
    }
}

/// Writes the rows of sequences in the host's memory, whose codes are below the alphabet's size.
pub fn sketch_uploaded<T: HasKernels>(
    device: &Device,
    job: &Job,
    sequences: SequencesView,
    out: &mut [T],
) -> Result<()> {
    let buffers = SequenceBuffers::upload(device, sequences, job.tables.alphabet_size())?;
    let mut rows = device.alloc(out.len())?;
    sketch(device, job, &buffers, &mut rows)?;
    rows.copy_to(out)
}

/// Returns a readable description of how sketches are computed.
pub fn plan<T: HasKernels>(device: &Device, job: &Job) -> Result<String> {
    match job.form {
        Form::Auto | Form::Fourier => Ok(fourier::policy::<T>(device, job)?.to_string()),
        Form::Direct => direct::plan::<T>(device, job),
    }
}

/// Returns the rotations and signs of each letter, a rotation and its sign in one `u32`.
pub fn pack_tables(tables: &Tables) -> Vec<u32> {
    let entries = tables.hashes().into_iter().zip(tables.signs());
    entries
        .map(|(&hash, &sign)| if sign < 0 { hash | NEGATIVE } else { hash })
        .collect()
}
