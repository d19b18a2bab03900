//! The kernels of the primitives, launched on a GPU or in the simulator.

mod tuning;

use std::ops::Range;

use cuda_std::DeviceSliceMut;

use primitives_kernels::{
    self as kernels, DIGIT_BITS, DIGITS, DigitPlaces, MoveKeys, SCAN_THREADS, SORT_THREADS,
    SortParameters, Sums,
};

use crate::device::{Buffer, LaunchConfig};
use crate::{Device, Result, modules};
use tuning::Shape;

const MODULE: &crate::device::Module = &modules::PRIMITIVES;

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
pub(crate) unsafe fn sums_and_total(
    device: &Device,
    values: &Buffer<u32>,
    total: DeviceSliceMut<u64>,
) -> Result<Buffer<u64>> {
    let mut sums = device.alloc(values.len() + 1)?;
    // SAFETY: passed on to the caller.
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
        device.launch(MODULE, &kernels::totals_u32, config, arguments)?;
        let arguments = Sums {
            values: values.slice(),
            totals: totals.slice(),
            sums: sums.slice_mut(),
            total,
        };
        device.launch(MODULE, &kernels::sums_u32, config, (shape.tiles, arguments))
    }
}

/// Returns the bytes that [`sums_and_total`] allocates.
pub(crate) fn sums_bytes(values: usize) -> u64 {
    8 * (values as u64 + 1 + u64::from(Shape::scan(values).blocks))
}

/// Returns the bytes that [`sort_pairs`] allocates.
pub(crate) fn sort_pairs_bytes(pairs: usize) -> u64 {
    let counts = u64::from(DIGITS) * (u64::from(Shape::sort(pairs).blocks) + 1);
    12 * pairs as u64 + 4 * counts
}

/// Sorts at least one key.
pub fn sort_keys(keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    let device = keys.device().clone();
    sort(keys, bits, &mut |config, parameters, arrays| {
        // SAFETY: see `sort`.
        unsafe { device.launch(MODULE, &kernels::move_keys, config, (parameters, arrays)) }
    })
}

/// Sorts at least one key, and moves the values with their keys.
pub fn sort_pairs(
    keys: Buffer<u64>,
    mut values: Buffer<u32>,
    bits: Range<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    let device = keys.device().clone();
    let mut moved = device.alloc(keys.len())?;
    let keys = sort(keys, bits, &mut |config, parameters, arrays| {
        let arguments = (parameters, arrays, values.slice(), moved.slice_mut());
        // SAFETY: see `sort`; there is a value for each key.
        unsafe { device.launch(MODULE, &kernels::move_pairs, config, arguments)? };
        std::mem::swap(&mut values, &mut moved);
        Ok(())
    })?;
    Ok((keys, values))
}

/// Sorts keys in one pass for each digit. `move_keys` launches the kernel that moves the keys of a
/// pass: the arrays have counts for the blocks of the launch, and room for all keys.
fn sort(
    mut keys: Buffer<u64>,
    bits: Range<u32>,
    move_keys: &mut dyn FnMut(LaunchConfig, SortParameters, MoveKeys) -> Result<()>,
) -> Result<Buffer<u64>> {
    let device = keys.device().clone();
    let Shape { blocks, tiles } = Shape::sort(keys.len());
    // [digit][block]
    let mut counts = device.alloc::<u32>((DIGITS * blocks) as usize)?;
    // The number of keys with each digit.
    let mut totals = device.alloc::<u32>(DIGITS as usize)?;
    let mut moved = device.alloc(keys.len())?;
    let config = LaunchConfig::new(blocks, SORT_THREADS);
    let warp_per_digit = LaunchConfig::new(DIGITS * 32 / SORT_THREADS, SORT_THREADS);
    for shift in bits.clone().step_by(DIGIT_BITS as usize) {
        let parameters = SortParameters {
            shift,
            mask: (1 << (bits.end - shift).min(DIGIT_BITS)) - 1,
            tiles,
        };
        // SAFETY: the tiles of all blocks cover the keys, `counts` has an element for each digit of
        // each block, and `totals` for each digit. The buffers are on this device and freed after
        // the kernels have run.
        unsafe {
            let arguments = (parameters, keys.slice(), counts.slice_mut());
            device.launch(MODULE, &kernels::digit_counts, config, arguments)?;
            let arrays = DigitPlaces {
                counts: counts.slice_mut(),
                totals: totals.slice_mut(),
            };
            let kernel = &kernels::digit_places;
            device.launch(MODULE, kernel, warp_per_digit, (blocks, arrays))?;
        }
        let arrays = MoveKeys {
            keys: keys.slice(),
            counts: counts.slice(),
            totals: totals.slice(),
            moved_keys: moved.slice_mut(),
        };
        move_keys(config, parameters, arrays)?;
        std::mem::swap(&mut keys, &mut moved);
    }
    Ok(keys)
}
