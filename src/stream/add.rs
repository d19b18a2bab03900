//! Vector addition.

use ndarray::{Axis, Zip};

use super::{Input, Output, Pipeline, STREAM};
use crate::device::DeviceKind;
use crate::parallel;
use crate::partition::require_devices;
use crate::{Error, Result};

/// Numbers that a thread adds in one go.
const ADDED_BY_A_THREAD: usize = 1 << 16;

/// The sums of two vectors of integers, as `f64`, which has all of them exactly. If the CPU is among the pipeline's
/// devices, it adds them all.
///
/// # Errors
/// [`Error::Shape`] for vectors of different lengths. On a device that runs kernels also
/// [`Error::InvalidInput`] if the pipeline's memory does not suffice for one element of each on each stream, and
/// [`Error::Allocation`] if it cannot be had.
pub fn add<'a>(
    pipeline: &Pipeline,
    a: impl Input<'a, Element = i32>,
    b: impl Input<'a, Element = i32>,
    sums: impl Output<'a, Element = f64>,
) -> Result<()> {
    require_devices(pipeline.devices(), STREAM)?;
    if (pipeline.devices().iter()).all(|device| device.kind() != DeviceKind::Cpu) {
        return on_device(pipeline, a, b, sums);
    }
    let (a, b, mut sums) = (a.source().view, b.source().view, sums.target().view);
    let lengths = [a.len(), b.len(), sums.len()];
    if lengths.iter().any(|&length| length != lengths[0]) {
        return Err(not_equally_long(&lengths));
    }
    let chunks = sums.axis_chunks_iter_mut(Axis(0), ADDED_BY_A_THREAD);
    let chunks = chunks.zip(a.axis_chunks_iter(Axis(0), ADDED_BY_A_THREAD));
    let chunks = chunks.zip(b.axis_chunks_iter(Axis(0), ADDED_BY_A_THREAD));
    parallel::each(chunks, |((sums, a), b)| {
        Zip::from(sums)
            .and(a)
            .and(b)
            .for_each(|sum, &a, &b| *sum = f64::from(a) + f64::from(b));
    });
    Ok(())
}

fn on_device<'a>(
    pipeline: &Pipeline,
    a: impl Input<'a, Element = i32>,
    b: impl Input<'a, Element = i32>,
    sums: impl Output<'a, Element = f64>,
) -> Result<()> {
    use crate::device::LaunchConfig;

    /// Threads of a block.
    const THREADS: u32 = 256;
    pipeline.map((a, b), (sums,), |chunk, (a, b), (sums,)| {
        let config = LaunchConfig::for_len(chunk.len(), THREADS);
        // SAFETY: equally long, and of this chunk alone.
        unsafe {
            chunk.launch(
                &crate::modules::STREAM,
                &stream_kernels::add,
                config,
                (a, b, sums),
            )
        }
    })
}

/// The error of arrays that are not.
pub(super) fn not_equally_long(lengths: &[usize]) -> Error {
    Error::Shape {
        operation: STREAM,
        message: format!("the arrays are not equally long: {lengths:?}"),
    }
}
