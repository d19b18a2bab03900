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
pub(crate) fn check(
    operation: &'static str,
    offsets: &[usize],
    count: usize,
    elements: &str,
) -> Result<()> {
    let refuse = |index, message| Err(Error::input_at(operation, index, message));
    match offsets.first() {
        Some(0) => {}
        Some(first) => return refuse(0, format!("the first offset is {first}, not 0")),
        None => return refuse(0, "there are no offsets, not even 0".into()),
    }
    if let Some(i) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let (before, after) = (offsets[i], offsets[i + 1]);
        let message = format!("offset {} is {after}, below {before} before it", i + 1);
        return refuse(i + 1, message);
    }
    let last = offsets[offsets.len() - 1];
    if last != count {
        let message = format!("the last offset is {last}, but there are {count} {elements}");
        return refuse(offsets.len() - 1, message);
    }
    Ok(())
}

/// Copies offsets to a device, where they have 64 bits.
pub(crate) fn upload(device: &Device, offsets: &[usize]) -> Result<Buffer<u64>> {
    #[cfg(target_pointer_width = "64")]
    let wide: &[u64] = bytemuck::cast_slice(offsets);
    #[cfg(not(target_pointer_width = "64"))]
    let wide = &collected(offsets.iter().map(|&offset| offset as u64))?;
    device.buffer_from(wide)
}

/// Copies offsets from a device.
#[cfg(target_pointer_width = "64")]
pub(crate) fn download(offsets: &Buffer<u64>) -> Result<Vec<usize>> {
    let copy = zeroed_lazily::<usize>(offsets.len());
    let mut copy = copy.during("copy from a buffer")?;
    offsets.copy_to(bytemuck::cast_slice_mut(&mut copy))?;
    Ok(copy)
}

/// Copies offsets from a device.
#[cfg(not(target_pointer_width = "64"))]
pub(crate) fn download(offsets: &Buffer<u64>) -> Result<Vec<usize>> {
    let wide = offsets.to_vec()?;
    collected(wide.into_iter().map(|offset| offset as usize))
}
