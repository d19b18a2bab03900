//! The public calls.

use std::ops::Range;

#[allow(unused_imports, reason = "for links")]
use gridstride_runtime::Error;
use gridstride_runtime::Result;
use gridstride_runtime::device::Buffer;
use gridstride_runtime::error::During;

use super::{dispatch, input};

const SUMS: &str = "exclusive_sums";
const SUMS_INTO: &str = "exclusive_sums_into";
const SORT_KEYS: &str = "sort_keys";
const SORT_PAIRS: &str = "sort_pairs";

/// Computes the sum of all values before each value, and the sum of all values: N → N + 1. The sums
/// are exact: the sum of 2³² values fits.
///
/// The call takes at most 8 KiB of a GPU's memory besides the result, and on the CPU as much memory
/// as the values and the result.
///
/// # Errors
/// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if a GPU fails.
///
/// ```
/// use gridstride::{Device, primitives::exclusive_sums};
///
/// let values = Device::auto().buffer_from(&[u32::MAX, 1, 2])?;
/// assert_eq!(exclusive_sums(&values)?.to_vec()?, [0, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0002]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn exclusive_sums(values: &Buffer<u32>) -> Result<Buffer<u64>> {
    let mut sums = values.device().alloc(values.len() + 1).during(SUMS)?;
    dispatch::write_sums(values, &mut sums).during(SUMS)?;
    Ok(sums)
}

/// As [`exclusive_sums`], but writes the sums to `sums`, whose content is unspecified after an
/// error.
///
/// # Errors
/// The errors of [`exclusive_sums`], [`Error::Shape`] if the length of `sums` is not N + 1, and
/// [`Error::DifferentDevices`] if `sums` is on another device.
///
/// ```
/// use gridstride::{Device, primitives::exclusive_sums_into};
///
/// let device = Device::auto();
/// let mut sums = device.alloc(4)?;
/// exclusive_sums_into(&device.buffer_from(&[3, 0, 4])?, &mut sums)?;
/// assert_eq!(sums.to_vec()?, [0, 3, 3, 7]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn exclusive_sums_into(values: &Buffer<u32>, sums: &mut Buffer<u64>) -> Result<()> {
    values.device().require_same(sums.device(), SUMS_INTO)?;
    input::require_sums(SUMS_INTO, values.len(), sums.len())?;
    let _ordered = values.device().ordered_with(&[sums.device()])?;
    dispatch::write_sums(values, sums).during(SUMS_INTO)
}

/// Sorts keys by the bits in the range `bits`, counted from the lowest bit. The sort is stable:
/// keys that are equal in these bits keep their order.
///
/// The algorithm is radix sort with a pass for every 8 bits, so naming only the bits that differ
/// saves time. On a GPU the call takes as much memory as the keys, a byte more for each key at most,
/// and 19 KB; on the CPU once or twice as much as the keys.
///
/// # Errors
/// [`Error::InvalidInput`] for a range of bits that is reversed or ends beyond 64, and for more
/// than 2³² keys; those of [`exclusive_sums`]. After an error the keys are freed.
///
/// ```
/// use gridstride::{Device, primitives::sort_keys};
///
/// let keys = Device::auto().buffer_from(&[0x1_0002u64, 0x2_0001])?;
/// assert_eq!(sort_keys(keys, 0..16)?.to_vec()?, [0x2_0001, 0x1_0002]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn sort_keys(keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    input::require_bits(SORT_KEYS, keys.len(), &bits)?;
    if keys.is_empty() || bits.is_empty() {
        return Ok(keys);
    }
    dispatch::sort_keys(keys, bits).during(SORT_KEYS)
}

/// As [`sort_keys`], but also moves the values with their keys. On a GPU the call takes as much
/// memory as keys and values, a byte more for each key at most, and 19 KB; on the CPU 44 bytes for
/// each key.
///
/// # Errors
/// The errors of [`sort_keys`], [`Error::Shape`] unless there is one value for each key, and
/// [`Error::DifferentDevices`] unless keys and values are on the same device.
///
/// ```
/// use gridstride::{Device, primitives::sort_pairs};
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
    input::require_bits(SORT_PAIRS, keys.len(), &bits)?;
    keys.device().require_same(values.device(), SORT_PAIRS)?;
    input::require_values(SORT_PAIRS, keys.len(), values.len())?;
    let values = values.on(keys.device())?;
    if keys.is_empty() || bits.is_empty() {
        return Ok((keys, values));
    }
    dispatch::sort_pairs(keys, values, bits).during(SORT_PAIRS)
}
