//! The plain ndarray version, as a reference for tests: two nested loops.

use gridstride_runtime::Result;
use ndarray::ArrayView2;

use super::element::Coordinate;
use super::input::{Problem, overlap};
use super::options::Algorithm;
use super::output::Overlaps;

/// As [`overlaps`](super::overlaps), by testing every pair on one core: the reference for all
/// devices and algorithms.
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
    nested_loops("overlaps", set1, Some(set2))
}

/// As [`self_overlaps`](super::self_overlaps), by testing every pair on one core.
pub fn self_overlaps<T: Coordinate>(set: ArrayView2<T>) -> Result<Overlaps> {
    nested_loops("self_overlaps", set, None)
}

/// Tests each row of `set1` against all rows of `set2`, or against the later rows of `set1`.
fn nested_loops<T: Coordinate>(
    operation: &'static str,
    set1: ArrayView2<T>,
    set2: Option<ArrayView2<T>>,
) -> Result<Overlaps> {
    let problem = Problem::new(operation, Algorithm::BruteForce, set1, set2)?;
    problem.check()?;
    let (boxes1, boxes2) = (problem.set1.boxes(), problem.any_set2().boxes());
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for i in 0..boxes1.len() {
        let first = if problem.set2.is_none() { i + 1 } else { 0 };
        let overlaps = |&j: &usize| overlap(boxes1.row(i), boxes2.row(j));
        indices.extend((first..boxes2.len()).filter(overlaps).map(|j| j as u32));
        offsets.push(indices.len());
    }
    Ok(Overlaps::new(offsets, indices))
}
