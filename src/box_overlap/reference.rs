//! The plain algorithm: two nested loops.

use ndarray::ArrayView2;

use super::boxes::{Boxes, Packed, axes, overlap, same_axes};
use super::{Coordinate, OVERLAPS, Overlaps, SELF_OVERLAPS};
use crate::Result;

/// [`overlaps`](super::overlaps) by testing every pair, on one core: what all devices and algorithms
/// are compared with.
///
/// # Errors
/// Those of [`overlaps`](super::overlaps).
///
/// ```
/// use gridstride::box_overlap::reference;
/// use ndarray::array;
///
/// let set1 = array![[0.0, 0.0, 1.0, 1.0]];
/// let set2 = array![[1.0, 1.0, 2.0, 2.0], [1.5, 0.0, 2.0, 1.0]];
/// assert_eq!(reference::overlaps(set1.view(), set2.view())?.pairs()?, array![[0, 0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn overlaps<T: Coordinate>(set1: ArrayView2<T>, set2: ArrayView2<T>) -> Result<Overlaps> {
    same_axes(OVERLAPS, set1.dim(), set2.dim())?;
    let (set1, set2) = (Packed::new(set1)?, Packed::new(set2)?);
    let (set1, set2) = (set1.boxes(), set2.boxes());
    set1.check(OVERLAPS, "set1")?;
    set2.check(OVERLAPS, "set2")?;
    Ok(nested_loops(set1, set2, |_| 0))
}

/// [`self_overlaps`](super::self_overlaps) by testing every pair, on one core.
///
/// # Errors
/// Those of [`self_overlaps`](super::self_overlaps).
pub fn self_overlaps<T: Coordinate>(set: ArrayView2<T>) -> Result<Overlaps> {
    axes(SELF_OVERLAPS, "set", set.dim())?;
    let set = Packed::new(set)?;
    let set = set.boxes();
    set.check(SELF_OVERLAPS, "set")?;
    Ok(nested_loops(set, set, |i| i + 1))
}

/// Row i is tested against the rows from `first(i)` on.
fn nested_loops<T: Coordinate>(
    set1: Boxes<'_, T>,
    set2: Boxes<'_, T>,
    first: impl Fn(usize) -> usize,
) -> Overlaps {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for i in 0..set1.len() {
        for j in first(i)..set2.len() {
            if overlap(set1.row(i), set2.row(j)) {
                indices.push(j as u32);
            }
        }
        offsets.push(indices.len() as u64);
    }
    Overlaps::new(offsets, indices)
}
