//! The calls.

use std::ops::Range;

use super::{cpu, gpu};
use crate::device::{Buffer, DeviceKind};
use crate::error::During;
use crate::{Error, Result};

const SUMS: &str = "exclusive_sums";
const SUMS_INTO: &str = "exclusive_sums_into";
const SORT_KEYS: &str = "sort_keys";
const SORT_PAIRS: &str = "sort_pairs";

/// Computes the sums of all values below each one, and of all values: N → N + 1. Exact: the sum of 2³² numbers of 32 bits
/// fits.
///
/// Besides the result it takes at most 8 KiB of a GPU's memory, and on the CPU as much as values and result.
///
/// # Errors
/// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if a GPU fails.
///
/// ```
/// use gridstride::Device;
/// use gridstride::primitives::exclusive_sums;
///
/// let values = Device::auto().buffer_from(&[u32::MAX, 1, 2])?;
/// assert_eq!(exclusive_sums(&values)?.to_vec()?, [0, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0002]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn exclusive_sums(values: &Buffer<u32>) -> Result<Buffer<u64>> {
    let mut sums = values.device().alloc(values.len() + 1).during(SUMS)?;
    write_sums(SUMS, values, &mut sums)?;
    Ok(sums)
}

/// Writes the [sums](exclusive_sums) of all values below each one, and of all values, into a buffer that has one element
/// more than there are values.
///
/// The content of `sums` is unspecified after an error.
///
/// # Errors
/// Those of [`exclusive_sums`], [`Error::Shape`] if `sums` has another length, and [`Error::DifferentDevices`] if it is on
/// another device.
///
/// ```
/// use gridstride::Device;
/// use gridstride::primitives::exclusive_sums_into;
///
/// let device = Device::auto();
/// let mut sums = device.alloc(4)?;
/// for (values, expected) in [([3, 0, 4], [0, 3, 3, 7]), ([1, 1, 1], [0, 1, 2, 3])] {
///     exclusive_sums_into(&device.buffer_from(&values)?, &mut sums)?;
///     assert_eq!(sums.to_vec()?, expected);
/// }
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn exclusive_sums_into(values: &Buffer<u32>, sums: &mut Buffer<u64>) -> Result<()> {
    values.device().require_same(sums.device(), SUMS_INTO)?;
    if sums.len() != values.len() + 1 {
        let (values, sums) = (values.len(), sums.len());
        return Err(Error::Shape {
            operation: SUMS_INTO,
            message: format!(
                "the sums of {values} values are {}, but sums has {sums}",
                values + 1
            ),
        });
    }
    let _ordered = values.device().ordered_with(&[sums.device()])?;
    write_sums(SUMS_INTO, values, sums)
}

fn write_sums(operation: &'static str, values: &Buffer<u32>, sums: &mut Buffer<u64>) -> Result<()> {
    let done = match values.device().kind() {
        DeviceKind::Cpu => cpu::exclusive_sums_into(values, sums),
        _ => gpu::exclusive_sums_into(values, sums),
    };
    done.during(operation)
}

/// Sorts keys by the bits in the range `bits`, which are counted from the lowest one. Keys that are equal in these bits
/// keep their order.
///
/// Radix sort, a pass for 8 bits: naming only the bits that differ saves time. On a GPU it takes as much memory
/// again, on the CPU as much as the keys once or twice.
///
/// # Errors
/// [`Error::InvalidInput`] for a range of bits that is reversed or ends beyond 64, and for more than 2³² keys; otherwise
/// those of [`exclusive_sums`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::primitives::sort_keys;
///
/// let keys = Device::auto().buffer_from(&[0x1_0002u64, 0x2_0001])?;
/// assert_eq!(sort_keys(keys, 0..16)?.to_vec()?, [0x2_0001, 0x1_0002]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn sort_keys(keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    require_bits(SORT_KEYS, keys.len(), &bits)?;
    if keys.is_empty() || bits.is_empty() {
        return Ok(keys);
    }
    let sorted = match keys.device().kind() {
        DeviceKind::Cpu => cpu::sort_keys(keys, bits),
        _ => gpu::sort_keys(keys, bits),
    };
    sorted.during(SORT_KEYS)
}

/// Sorts keys as [`sort_keys`] does, and moves the values with their keys.
///
/// # Errors
/// [`Error::Shape`] unless there are as many values as keys, [`Error::DifferentDevices`] unless they are on
/// the same device; otherwise those of [`sort_keys`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::primitives::sort_pairs;
///
/// let device = Device::auto();
/// let (keys, values) = (device.buffer_from(&[7u64, 3, 7])?, device.buffer_from(&[0, 1, 2])?);
/// let (keys, values) = sort_pairs(keys, values, 0..3)?;
/// assert_eq!((keys.to_vec()?, values.to_vec()?), (vec![3, 7, 7], vec![1, 0, 2]));
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn sort_pairs(
    keys: Buffer<u64>,
    values: Buffer<u32>,
    bits: Range<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    require_bits(SORT_PAIRS, keys.len(), &bits)?;
    keys.device().require_same(values.device(), SORT_PAIRS)?;
    if keys.len() != values.len() {
        let message = format!(
            "the number of keys is {}, the number of values {}: they must be equal",
            keys.len(),
            values.len()
        );
        return Err(Error::Shape {
            operation: SORT_PAIRS,
            message,
        });
    }
    let values = values.on(keys.device())?;
    if keys.is_empty() || bits.is_empty() {
        return Ok((keys, values));
    }
    let sorted = match keys.device().kind() {
        DeviceKind::Cpu => cpu::sort_pairs(keys, values, bits),
        _ => gpu::sort_pairs(keys, values, bits),
    };
    sorted.during(SORT_PAIRS)
}

fn require_bits(operation: &'static str, keys: usize, bits: &Range<u32>) -> Result<()> {
    let (start, end) = (bits.start, bits.end);
    let message = if start > end {
        format!("the range of bits {start}..{end} is reversed: it must not end below its start")
    } else if end > u64::BITS {
        format!("the range of bits {start}..{end} ends beyond the 64 bits of a key")
    } else if keys as u64 > 1 << 32 {
        format!("{keys} keys are more than 2³²")
    } else {
        return Ok(());
    };
    Err(Error::input(operation, message))
}
