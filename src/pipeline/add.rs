//! Vector addition.

use gridstride_runtime::device::{DeviceKind, LaunchConfig};
use gridstride_runtime::{Result, parallel};
use ndarray::{Axis, Zip};

use super::map::require_same_length;
use super::{Input, Output, Pipeline};

const ADD: &str = "add";

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

/// Elements of a task.
const CHUNK: usize = 1 << 16;

/// Adds two vectors of integers. The sums are `f64`, which represents them exactly. If the CPU is
/// among the pipeline's devices, it adds all elements.
///
/// # Errors
/// [`Error::Shape`](gridstride_runtime::Error::Shape) for vectors of different lengths, and those of
/// [`Pipeline::map`].
pub fn add<'a>(
    pipeline: &Pipeline,
    a: impl Input<'a, Element = i32>,
    b: impl Input<'a, Element = i32>,
    sums: impl Output<'a, Element = f64>,
) -> Result<()> {
    if (pipeline.devices().iter()).all(|device| device.kind() != DeviceKind::Cpu) {
        return pipeline.arrays(ADD, (a, b), (sums,), |chunk, (a, b), (sums,)| {
            let config = LaunchConfig::for_len(chunk.len(), 256);
            let arguments = (a, b, sums);
            // SAFETY: the slices are equally long, and no other chunk uses them.
            unsafe { chunk.launch(&MODULE, &stream_kernels::add, config, arguments) }
        });
    }
    pipeline.require_streams(ADD)?;
    let (a, b, mut sums) = (a.source().view, b.source().view, sums.target().view);
    require_same_length(ADD, &[a.len(), b.len(), sums.len()])?;
    let chunks = sums.axis_chunks_iter_mut(Axis(0), CHUNK);
    let chunks = chunks.zip(a.axis_chunks_iter(Axis(0), CHUNK));
    let chunks = chunks.zip(b.axis_chunks_iter(Axis(0), CHUNK));
    parallel::each(chunks, |((sums, a), b)| {
        let sum = |sum: &mut f64, &a: &i32, &b: &i32| *sum = f64::from(a) + f64::from(b);
        Zip::from(sums).and(a).and(b).for_each(sum);
    });
    Ok(())
}
