//! Slide distances on GPUs and in the simulator.

use distances_kernels::{Parameters, Scale, THREADS, Windows as KernelWindows};

use super::input::{DeviceSlides, HostSlides, Pairing, Slides};
use super::windows::{DeviceWindows, first_longer, longest};
use crate::device::{Buffer, DeviceArray, LaunchConfig, assign, collected};
use crate::distances::gpu::kernels::HasKernels;
use crate::distances::gpu::{largest, tuning};
use crate::distances::input;
use crate::distances::options::Metric;
use crate::{Device, Error, Result, modules};

pub fn host<T: HasKernels>(device: &Device, slides: &mut HostSlides<T>) -> Result<()> {
    let (a_rows, b_rows) = (
        device.upload(&slides.a.rows())?,
        device.upload(&slides.b.rows())?,
    );
    let (a_offsets, b_offsets) = (
        collected(slides.a.offsets())?,
        collected(slides.b.offsets())?,
    );
    let mut out = device.alloc(slides.out.len())?;
    self::device(Slides {
        operation: slides.operation,
        metric: slides.metric,
        a: DeviceWindows {
            rows: &a_rows,
            offsets: &a_offsets,
        },
        b: DeviceWindows {
            rows: &b_rows,
            offsets: &b_offsets,
        },
        pairs: slides.pairs,
        out: &mut out,
    })?;
    match slides.out.as_slice_mut() {
        Some(places) => out.copy_to(places),
        None => {
            let result = DeviceArray::from_buffer(out, slides.out.raw_dim())?;
            assign(slides.out.view_mut(), &result.download()?);
            Ok(())
        }
    }
}

pub fn device<T: HasKernels>(slides: DeviceSlides<T>) -> Result<()> {
    let (operation, metric, out) = (slides.operation, slides.metric, slides.out);
    let (a, b) = (slides.a, slides.b);
    let largest = largest(operation, ["a", "b"], a.rows, Some(b.rows))?;
    if out.is_empty() {
        return Ok(());
    }
    let device = a.rows.device();
    let parameters = parameters::<T>(operation, metric, ["a", "b"], a, b, largest)?;
    let (blocks, kernel) = match slides.pairs {
        Pairing::All => (
            tuning::tiles(a.len(), b.len(), T::KERNELS.tile_columns),
            T::KERNELS.slide,
        ),
        Pairing::Each => (tuning::in_grid(a.len()), T::KERNELS.slide_paired),
    };
    let shape = (a.len(), out.len() / a.len());
    let blocks = blocks.ok_or_else(|| input::too_many(operation, shape))?;
    let (a_offsets, b_offsets) = (upload(device, a.offsets)?, upload(device, b.offsets)?);
    let windows = |windows: DeviceWindows<T>, offsets: &Buffer<u64>| KernelWindows {
        values: windows.rows.buffer().slice(),
        offsets: offsets.slice(),
    };
    let arguments = (
        parameters,
        windows(a, &a_offsets),
        windows(b, &b_offsets),
        out.slice_mut(),
    );
    let config = LaunchConfig::new(blocks, THREADS);
    // SAFETY: a block per tile, or per pair; the sequences are of this device, as many as the
    // parameters say, and have at most `MAX_DIM` numbers each; the result has an element for each
    // pair; buffers are aligned to 256 bytes and freed after the kernel has run.
    unsafe { device.launch(&modules::DISTANCES, kernel, config, arguments) }
}

/// Checks the lengths of all sequences, and returns the parameters of the distances of all pairs.
/// No number exceeds `largest`.
pub fn parameters<T: HasKernels>(
    operation: &'static str,
    metric: Metric,
    names: [&str; 2],
    a: DeviceWindows<T>,
    b: DeviceWindows<T>,
    largest: f64,
) -> Result<Parameters> {
    let dim = a.dim();
    input::require_dim(operation, dim, tuning::MAX_DIM)?;
    require_lengths(operation, names[0], a.offsets, dim)?;
    require_lengths(operation, names[1], b.offsets, dim)?;
    let numbers = longest(a.offsets).max(longest(b.offsets)) * dim;
    let Scale { scale, unscale } = Scale::new(
        largest,
        numbers,
        metric == Metric::L2,
        T::KERNELS.max_exponent,
    );
    Ok(Parameters {
        rows: a.len() as u64,
        columns: b.len() as u64,
        dim: dim as u32,
        root: u32::from(metric == Metric::L2),
        scale,
        unscale,
    })
}

/// Copies offsets to a device.
pub fn upload(device: &Device, offsets: &[usize]) -> Result<Buffer<u64>> {
    let offsets: Vec<u64> = collected(offsets.iter().map(|&offset| offset as u64))?;
    device.buffer_from(&offsets)
}

/// Checks that kernels can count the numbers of each sequence.
pub fn require_lengths(
    operation: &'static str,
    name: &str,
    offsets: &[usize],
    dim: usize,
) -> Result<()> {
    let Some(index) = first_longer(offsets, dim, tuning::MAX_DIM) else {
        return Ok(());
    };
    let windows = offsets[index + 1] - offsets[index];
    let message = format!(
        "sequence {index} of {name} has {windows} windows of {dim} numbers, more than {} numbers: \
         take the device cpu",
        tuning::MAX_DIM
    );
    Err(Error::input_at(operation, "sequences", index, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_that_is_too_long_is_named() {
        let offsets = [0, 4, 4 + (1 << 27)];
        assert!(require_lengths("slide_paired", "b", &offsets, 15).is_ok());
        let error = require_lengths("slide_paired", "b", &offsets, 16).unwrap_err();
        assert_eq!(
            error.to_string(),
            "slide_paired: sequence 1 of b has 134217728 windows of 16 numbers, more than \
             2147483632 numbers: take the device cpu"
        );
    }
}
