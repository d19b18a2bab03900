//! Sketches on GPUs and in the simulator.

mod direct;
mod fourier;
mod kernels;
mod layout;
mod session;
mod windows;

pub use self::session::Batches;

use gridstride_runtime::device::collected;
use gridstride_runtime::{Device, Result};
use gridstride_sequences::SequenceBuffers;
use tensor_sketch_kernels::NEGATIVE;

use self::fourier::Engine;
use self::kernels::HasKernels;
use self::layout::Layout;
use super::input::{DeviceSketch, HostSketch, Rows};
use super::tables::Tables;
use super::tuning::Policy;

/// Writes the rows of sequences or windows in the host's memory. Returns whether all codes are below the
/// alphabet's size, which the direct form takes for granted.
pub fn host<T: HasKernels>(
    device: &Device,
    policy: &Policy,
    sketch: &mut HostSketch<T>,
) -> Result<bool> {
    let (job, sequences) = (&sketch.job, sketch.sequences);
    match policy {
        Policy::Fourier(policy) => {
            let engine = Engine::new(device, policy, job)?;
            match job.rows {
                Rows::Windows(of) => windows::host(&engine, sketch, of).map(|()| true),
                Rows::Last | Rows::All => engine.sketch_from_host(sequences, sketch.out),
            }
        }
        Policy::Direct(policy) => {
            let buffers = SequenceBuffers::upload(device, sequences, job.tables.alphabet_size())?;
            let mut rows = device.alloc(sketch.out.len())?;
            direct::sketch(device, policy, job, &buffers, &mut rows)?;
            rows.copy_to(sketch.out)?;
            Ok(true)
        }
    }
}

/// Writes the rows of sequences or windows in a device's memory, whose codes are below the alphabet's size.
pub fn device<T: HasKernels>(policy: &Policy, sketch: DeviceSketch<T>) -> Result<()> {
    let (device, buffers) = (sketch.sequences.device(), sketch.sequences.buffers());
    match policy {
        Policy::Fourier(policy) => {
            let engine = Engine::new(device, policy, &sketch.job)?;
            if let Rows::Windows(of) = sketch.job.rows {
                return windows::device(&engine, &buffers.letters, of, sketch.out);
            }
            let batches = buffers.derived(|| Layout::of_sequences(device, &buffers.offsets))?;
            let lengths = collected(buffers.lengths())?;
            engine.sketch(&buffers.letters, batches, &lengths, sketch.out)
        }
        Policy::Direct(policy) => direct::sketch(device, policy, &sketch.job, buffers, sketch.out),
    }
}

/// Returns the rotations and signs of each letter, a rotation and its sign in one `u32`.
fn pack_tables(tables: &Tables) -> Vec<u32> {
    let entries = tables.hashes().into_iter().zip(tables.signs());
    entries
        .map(|(&hash, &sign)| if sign < 0 { hash | NEGATIVE } else { hash })
        .collect()
}
