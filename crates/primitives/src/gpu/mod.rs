//! The kernels of the primitives, launched on a GPU or in the simulator.

mod sort;
mod tuning;

use cuda_std::DeviceSliceMut;
use gridstride_runtime::device::{Buffer, LaunchConfig};
use gridstride_runtime::{Device, Result};

use primitives_kernels::{self as kernels, SCAN_THREADS, Sums};

use crate::MODULE;
pub use sort::PairSort;
pub use sort::{sort_keys, sort_pairs};
use tuning::Shape;

/// Writes the exclusive sums of `values`, and the sum of all of them, to `sums`.
pub fn exclusive_sums_into(values: &Buffer<u32>, sums: &mut Buffer<u64>) -> Result<()> {
    let no_total = values.device().alloc(0)?.slice_mut();
    // SAFETY: the kernels write to no element of an empty slice.
    unsafe { write_sums(values.device(), values, sums, no_total) }
}

/// Returns the exclusive sums of `values`, and the sum of all of them, computed on the stream of
/// `device`. The sum of all values is also written to the first element of `total`, if there is
/// one.
///
/// # Safety
/// See [`write_sums`].
#[doc(hidden)]
pub unsafe fn sums_and_total(
    device: &Device,
    values: &Buffer<u32>,
    total: DeviceSliceMut<u64>,
) -> Result<Buffer<u64>> {
    let mut sums = device.alloc(values.len() + 1)?;
    // SAFETY: the caller keeps the contract of `write_sums`: `values` and `total` are on this
    // device, and nothing frees them or writes to them until the kernels have run. `sums` has an
    // element for each value and one for the end.
    unsafe { write_sums(device, values, &mut sums, total)? };
    Ok(sums)
}

/// # Safety
/// `values` and `total` must be on this device and stay allocated until the kernels have run, and
/// nothing else may write to them until then.
unsafe fn write_sums(
    device: &Device,
    values: &Buffer<u32>,
    sums: &mut Buffer<u64>,
    total: DeviceSliceMut<u64>,
) -> Result<()> {
    let shape = Shape::scan(values.len());
    assert_eq!(sums.len(), values.len() + 1);
    let mut totals = device.alloc::<u64>(shape.blocks as usize)?;
    let config = LaunchConfig::new(shape.blocks, SCAN_THREADS);
    // SAFETY: the tiles of all blocks cover the values, and `sums` has one element more than
    // `values`. The buffers are on this device and freed after the kernels have run.
    unsafe {
        let arguments = (shape.tiles, values.slice(), totals.slice_mut());
        device.launch(&MODULE, &kernels::totals_u32, config, arguments)?;
        let arguments = Sums {
            values: values.slice(),
            totals: totals.slice(),
            sums: sums.slice_mut(),
            total,
        };
        device.launch(
            &MODULE,
            &kernels::sums_u32,
            config,
            (shape.tiles, arguments),
        )
    }
}

/// Returns the bytes that [`sums_and_total`] allocates.
#[doc(hidden)]
pub fn sums_bytes(values: usize) -> u64 {
    8 * (values as u64 + 1 + u64::from(Shape::scan(values).blocks))
}
