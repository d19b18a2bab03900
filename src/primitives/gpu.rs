//! Launches of the kernels of the primitives, the same for GPU and simulator.

use std::ops::Range;

use primitives_kernels::{
    self as kernels, DIGIT_BITS, DIGITS, DigitPlaces, MoveKeys, SCAN_THREADS, SORT_THREADS,
    SortParameters, Sums,
};

use super::tuning::Parts;
use crate::device::{Buffer, LaunchConfig};
use crate::{Device, Result, modules};

const MODULE: &crate::device::Module = &modules::PRIMITIVES;

/// The prefix sums of values on a device that runs kernels.
pub(super) fn exclusive_sums(values: &Buffer<u32>) -> Result<Buffer<u64>> {
    let nowhere = values.device().alloc(0)?.slice_mut();
    // SAFETY: no element, no write.
    unsafe { sums_and_total(values.device(), values, nowhere) }
}

/// The same on the stream of `device`, and the sum of all in the first element of `total`, if there is one.
///
/// # Safety
/// `values` and `total` are of the same device, allocated until the kernels have run, and nothing else writes them then.
pub(crate) unsafe fn sums_and_total(
    device: &Device,
    values: &Buffer<u32>,
    total: cuda_std::DeviceSliceMut<u64>,
) -> Result<Buffer<u64>> {
    let parts = Parts::of_scan(values.len());
    let mut totals = device.alloc::<u64>(parts.blocks as usize)?;
    let mut sums = device.alloc::<u64>(values.len() + 1)?;
    let config = LaunchConfig::new(parts.blocks, SCAN_THREADS);
    // SAFETY: blocks and tiles cover all values, with an element for each; buffers are of this device and
    // freed after the kernels have run.
    unsafe {
        let arguments = (parts.tiles, values.slice(), totals.slice_mut());
        device.launch(MODULE, &kernels::totals_u32, config, arguments)?;
        let arguments = Sums {
            values: values.slice(),
            totals: totals.slice(),
            sums: sums.slice_mut(),
            total,
        };
        device.launch(MODULE, &kernels::sums_u32, config, (parts.tiles, arguments))?;
    }
    Ok(sums)
}

/// Returns the bytes that [`sums_and_total`] allocates.
pub(crate) fn sums_bytes(values: usize) -> u64 {
    8 * (values as u64 + 1 + u64::from(Parts::of_scan(values).blocks))
}

/// Returns the bytes that [`sort_pairs`] allocates.
pub(crate) fn sort_pairs_bytes(pairs: usize) -> u64 {
    let counts = u64::from(DIGITS) * (u64::from(Parts::of_sort(pairs).blocks) + 1);
    12 * pairs as u64 + 4 * counts
}

/// Sorts keys on a device that runs kernels.
pub(super) fn sort_keys(keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    if keys.is_empty() || bits.is_empty() {
        return Ok(keys);
    }
    let mut pass = Pass::new(keys.device(), keys.len())?;
    let (mut keys, mut moved) = (keys, pass.device.alloc(pass.keys)?);
    for digit in digits(bits) {
        pass.count(digit, &keys)?;
        pass.move_keys(digit, &keys, &mut moved)?;
        std::mem::swap(&mut keys, &mut moved);
    }
    Ok(keys)
}

/// Sorts keys with their values on a device that runs kernels.
pub(super) fn sort_pairs(
    keys: Buffer<u64>,
    values: Buffer<u32>,
    bits: Range<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    if keys.is_empty() || bits.is_empty() {
        return Ok((keys, values));
    }
    let mut pass = Pass::new(keys.device(), keys.len())?;
    let (mut keys, mut moved) = (keys, pass.device.alloc(pass.keys)?);
    let (mut values, mut moved_values) = (values, pass.device.alloc(pass.keys)?);
    for digit in digits(bits) {
        pass.count(digit, &keys)?;
        pass.move_pairs(digit, (&keys, &values), (&mut moved, &mut moved_values))?;
        std::mem::swap(&mut keys, &mut moved);
        std::mem::swap(&mut values, &mut moved_values);
    }
    Ok((keys, values))
}

/// The digits of these bits, lowest first: the shift and the bits of each.
fn digits(bits: Range<u32>) -> impl Iterator<Item = (u32, u32)> {
    let end = bits.end;
    bits.step_by(DIGIT_BITS as usize)
        .map(move |shift| (shift, (end - shift).min(DIGIT_BITS)))
}

/// What all passes over keys need.
struct Pass {
    device: Device,
    keys: usize,
    parts: Parts,
    /// [digit][block]
    counts: Buffer<u32>,
    /// Of each digit.
    totals: Buffer<u32>,
}

impl Pass {
    fn new(device: &Device, keys: usize) -> Result<Pass> {
        let parts = Parts::of_sort(keys);
        Ok(Pass {
            device: device.clone(),
            keys,
            parts,
            counts: device.alloc((DIGITS * parts.blocks) as usize)?,
            totals: device.alloc(DIGITS as usize)?,
        })
    }

    fn parameters(&self, (shift, bits): (u32, u32)) -> SortParameters {
        SortParameters {
            shift,
            mask: (1 << bits) - 1,
            tiles: self.parts.tiles,
        }
    }

    fn config(&self) -> LaunchConfig {
        LaunchConfig::new(self.parts.blocks, SORT_THREADS)
    }

    /// Finds out where each block's keys with each digit go.
    fn count(&mut self, digit: (u32, u32), keys: &Buffer<u64>) -> Result<()> {
        let parameters = self.parameters(digit);
        let config = self.config();
        let warps = LaunchConfig::new(DIGITS * 32 / SORT_THREADS, SORT_THREADS);
        let blocks = self.parts.blocks;
        // SAFETY: the blocks' parts cover all keys, the counts have a place for each digit of each block,
        // the totals for each digit; there is a warp for each digit. Buffers are of this device, and freed
        // after the kernels have run.
        unsafe {
            let arguments = (parameters, keys.slice(), self.counts.slice_mut());
            self.device
                .launch(MODULE, &kernels::digit_counts, config, arguments)?;
            let arguments = DigitPlaces {
                counts: self.counts.slice_mut(),
                totals: self.totals.slice_mut(),
            };
            self.device
                .launch(MODULE, &kernels::digit_places, warps, (blocks, arguments))
        }
    }

    fn moving(&self, keys: &Buffer<u64>, moved: &mut Buffer<u64>) -> MoveKeys {
        MoveKeys {
            keys: keys.slice(),
            counts: self.counts.slice(),
            totals: self.totals.slice(),
            moved_keys: moved.slice_mut(),
        }
    }

    fn move_keys(
        &self,
        digit: (u32, u32),
        keys: &Buffer<u64>,
        moved: &mut Buffer<u64>,
    ) -> Result<()> {
        let arguments = (self.parameters(digit), self.moving(keys, moved));
        // SAFETY: counted before, for the same blocks; as much room as keys, of which there are 2³² at
        // most. Buffers as above.
        unsafe {
            self.device
                .launch(MODULE, &kernels::move_keys, self.config(), arguments)
        }
    }

    fn move_pairs(
        &self,
        digit: (u32, u32),
        (keys, values): (&Buffer<u64>, &Buffer<u32>),
        (moved, moved_values): (&mut Buffer<u64>, &mut Buffer<u32>),
    ) -> Result<()> {
        let arguments = (
            self.parameters(digit),
            self.moving(keys, moved),
            values.slice(),
            moved_values.slice_mut(),
        );
        // SAFETY: as above, with a value for each key.
        unsafe {
            self.device
                .launch(MODULE, &kernels::move_pairs, self.config(), arguments)
        }
    }
}
