//! Offsets, which divide elements among ranges that follow each other.

use crate::device::Buffer;
#[cfg(not(target_pointer_width = "64"))]
use crate::device::collected;
#[cfg(target_pointer_width = "64")]
use crate::device::zeroed_lazily;
#[cfg(target_pointer_width = "64")]
use crate::error::During;
use crate::{Device, Error, Result};

/// Checks that `offsets` begins with 0, never decreases, and ends with `count`, the number of
/// `elements`, which is their plural.
pub fn check(
    operation: &'static str,
    offsets: &[usize],
    count: usize,
    elements: &str,
) -> Result<()> {
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        let message =
            format!("there are no offsets: all {elements} together have the offsets 0 and {count}");
        return Err(Error::input(operation, message));
    };
    // The check is vectorised, unlike the search for the first offset out of order.
    if first == 0
        && !offsets.is_sorted()
        && let Some(before) = offsets.windows(2).position(|pair| pair[0] > pair[1])
    {
        let index = before + 1;
        let (offset, before) = (offsets[index], offsets[before]);
        let message =
            format!("offset {offset} at index {index} is below the one before it, {before}");
        return Err(Error::input_at(operation, "offsets", index, message));
    }
    if first == 0 && last == count {
        return Ok(());
    }
    let index = if first != 0 { 0 } else { offsets.len() - 1 };
    let message = format!(
        "the offsets go from {first} to {last}, and have to go from 0 to the number of {elements}, {count}"
    );
    Err(Error::input_at(operation, "offsets", index, message))
}

/// Copies offsets to a device, where they have 64 bits.
pub fn upload(device: &Device, offsets: &[usize]) -> Result<Buffer<u64>> {
    #[cfg(target_pointer_width = "64")]
    let wide: &[u64] = bytemuck::cast_slice(offsets);
    #[cfg(not(target_pointer_width = "64"))]
    let wide = &collected(offsets.iter().map(|&offset| offset as u64))?;
    device.buffer_from(wide)
}

/// Copies offsets from a device.
#[cfg(target_pointer_width = "64")]
pub fn download(offsets: &Buffer<u64>) -> Result<Vec<usize>> {
    let copy = zeroed_lazily::<usize>(offsets.len());
    let mut copy = copy.during("copy from a buffer")?;
    offsets.copy_to(bytemuck::cast_slice_mut(&mut copy))?;
    Ok(copy)
}

/// Copies offsets from a device.
#[cfg(not(target_pointer_width = "64"))]
pub fn download(offsets: &Buffer<u64>) -> Result<Vec<usize>> {
    let wide = offsets.to_vec()?;
    collected(wide.into_iter().map(|offset| offset as usize))
}
