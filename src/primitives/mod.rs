//! What many kernels are built of: prefix sums and radix sort, over buffers that stay on their device.
//!
//! On GPUs, as described by D. Merrill and A. Grimshaw, 'Parallel Scan for Stream Architectures' (2009) and
//! 'High Performance and Scalable Radix Sorting' (2011): reduce, then scan; count digits, add the counts up,
//! move. Results are exact, and the same on every device and run.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::primitives::{exclusive_sums, sort_pairs};
//!
//! let device = Device::auto();
//! let sums = exclusive_sums(&device.buffer_from(&[3u32, 0, 4])?)?;
//! assert_eq!(sums.to_vec()?, [0, 3, 3, 7]);
//!
//! let (keys, values) = (device.buffer_from(&[5u64, 3, 5, 1])?, device.buffer_from(&[0, 1, 2, 3])?);
//! let (keys, values) = sort_pairs(keys, values, 0..64)?;
//! assert_eq!(keys.to_vec()?, [1, 3, 5, 5]);
//! assert_eq!(values.to_vec()?, [3, 1, 0, 2]);
//! # Ok::<(), gridstride::Error>(())
//! ```

mod gpu;
mod tuning;

use std::ops::Range;

use crate::device::Buffer;
use crate::device::DeviceKind;
use crate::device::{room_to_sort, zeroed};
use crate::error::During;
use crate::parallel;
use crate::{Error, Result};
pub(crate) use gpu::{sort_pairs_bytes, sums_and_total, sums_bytes};

/// The sums of all elements below each one, and of all: one more than there are values. Exact: the sum of
/// 2³² numbers of 32 bits fits. Besides the result it takes 8 KiB at most.
///
/// # Errors
/// [`Error::Allocation`] if the device's memory does not suffice, [`Error::Driver`] if a GPU fails.
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
    let device = values.device();
    if device.kind() != DeviceKind::Cpu {
        return gpu::exclusive_sums(values).during(SUMS);
    }
    let mut sums = zeroed(values.len() + 1).during(SUMS)?;
    for (index, value) in values.to_vec().during(SUMS)?.into_iter().enumerate() {
        sums[index + 1] = sums[index] + u64::from(value);
    }
    device.buffer_from(&sums).during(SUMS)
}

/// Sorts keys by the bits that `bits` names, from the lowest one on; stable, and the same on every device.
///
/// Radix sort, a pass for 8 bits: naming only the bits that differ saves time. On a GPU it takes as much memory
/// again, on the CPU as much as the keys once or twice.
///
/// # Errors
/// [`Error::InvalidInput`] for bits that 64 do not have, and for more than 2³² keys; otherwise as
/// [`exclusive_sums`].
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
    let bits = checked(keys.len(), bits)?;
    if keys.device().kind() != DeviceKind::Cpu {
        return gpu::sort_keys(keys, bits).during(SORT);
    }
    let mut sorted = keys.to_vec().during(SORT)?;
    room_to_sort(&sorted).during(SORT)?;
    parallel::sort_by_bits(&mut sorted, bits);
    keys.device().buffer_from(&sorted).during(SORT)
}

/// Sorts keys as [`sort_keys`], and moves the values with them.
///
/// # Errors
/// [`Error::Shape`] unless there are as many values as keys, [`Error::DifferentDevices`] unless they are on
/// the same device; otherwise as [`sort_keys`].
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
    let bits = checked(keys.len(), bits)?;
    keys.device().require_same(values.device(), SORT)?;
    if keys.len() != values.len() {
        let message = format!(
            "the number of keys is {}, the number of values {}: they must be equal",
            keys.len(),
            values.len()
        );
        return Err(Error::Shape {
            operation: SORT,
            message,
        });
    }
    if keys.device().kind() != DeviceKind::Cpu {
        let values = values.on(keys.device())?;
        return gpu::sort_pairs(keys, values, bits).during(SORT);
    }
    let device = keys.device().clone();
    let mut keys = keys.to_vec().during(SORT)?;
    let mut values = values.to_vec().during(SORT)?;
    let mut sorted = zeroed::<[u64; 2]>(keys.len()).during(SORT)?;
    for (place, (&key, &value)) in sorted.iter_mut().zip(keys.iter().zip(&values)) {
        *place = [key, u64::from(value)];
    }
    room_to_sort(&sorted).during(SORT)?;
    parallel::sort_pairs_by_bits(&mut sorted, bits);
    for (place, (key, value)) in sorted.iter().zip(keys.iter_mut().zip(&mut values)) {
        (*key, *value) = (place[0], place[1] as u32);
    }
    Ok((
        device.buffer_from(&keys).during(SORT)?,
        device.buffer_from(&values).during(SORT)?,
    ))
}

const SUMS: &str = "exclusive_sums";
const SORT: &str = "sort";

fn checked(keys: usize, bits: Range<u32>) -> Result<Range<u32>> {
    let message = if bits.start > bits.end {
        let (start, end) = (bits.start, bits.end);
        format!("the range of bits {start}..{end} is reversed: it must not end below its start")
    } else if bits.end > u64::BITS {
        let (start, end) = (bits.start, bits.end);
        format!("the range of bits {start}..{end} ends beyond the 64 bits of a key")
    } else if keys as u64 > 1 << 32 {
        format!("{keys} keys are more than 2³²")
    } else {
        return Ok(bits);
    };
    Err(Error::input(SORT, message))
}
