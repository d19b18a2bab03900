//! Slide distances on GPUs and in the simulator.

use distances_kernels::{THREADS, Windows as KernelWindows};
use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, LaunchConfig, collected};

use super::kernels::HasKernels;
use super::{FITS_GRID, largest, parameters, tuning};
use crate::MODULE;
use crate::input::{DevicePairs, Pairing};
use crate::rows::DeviceRows;

/// Writes the slide distances of all pairs.
pub fn pairs<T: HasKernels>(pairs: DevicePairs<T>) -> Result<()> {
    let largest = largest(pairs.operation, pairs.arguments())?;
    let (a, b, out) = (pairs.a, pairs.b.unwrap_or(pairs.a), pairs.out);
    if out.is_empty() {
        return Ok(());
    }
    let (blocks, kernel) = match pairs.pairing {
        Pairing::All => (
            tuning::tiles(a.count(), b.count(), T::KERNELS.tile_columns),
            T::KERNELS.slide,
        ),
        Pairing::Each => (tuning::in_grid(a.count()), T::KERNELS.slide_paired),
    };
    let (a_offsets, b_offsets) = (upload_offsets(a)?, upload_offsets(b)?);
    let windows = |windows: DeviceRows<T>, offsets: &Buffer<u64>| KernelWindows {
        values: windows.numbers.buffer().slice(),
        offsets: offsets.slice(),
    };
    let arguments = (
        parameters(pairs.metric, a, b, largest),
        windows(a, &a_offsets),
        windows(b, &b_offsets),
        out.slice_mut(),
    );
    let config = LaunchConfig::new(blocks.expect(FITS_GRID), THREADS);
    // SAFETY: a block per tile, or per pair; the sequences are of this device, as many as the
    // parameters say, and have at most `MAX_DIM` numbers each; the result has an element for each
    // pair; buffers are aligned to 256 bytes and freed after the kernel has run.
    unsafe { (a.device()).launch(&MODULE, kernel, config, arguments) }
}

/// Copies the offsets of sequences to their device.
pub fn upload_offsets<T: HasKernels>(windows: DeviceRows<T>) -> Result<Buffer<u64>> {
    let offsets = windows.offsets.expect("sequences").iter();
    let offsets: Vec<u64> = collected(offsets.map(|&offset| offset as u64))?;
    windows.device().buffer_from(&offsets)
}
