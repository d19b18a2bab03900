//! Concatenation of the results of partitions.

use crate::Result;
use crate::device::{Element, copy_bytes, zeroed_lazily};

/// Returns the elements of all slices in order, copied by all threads if there are many.
pub fn concatenated<'a, T: Element>(
    slices: impl Iterator<Item = &'a [T]> + Clone,
) -> Result<Vec<T>> {
    let mut elements = zeroed_lazily(slices.clone().map(<[T]>::len).sum())?;
    let mut rest = &mut elements[..];
    for slice in slices {
        let (target, behind) = rest.split_at_mut(slice.len());
        copy_bytes(
            bytemuck::cast_slice(slice),
            bytemuck::cast_slice_mut(target),
        );
        rest = behind;
    }
    Ok(elements)
}
