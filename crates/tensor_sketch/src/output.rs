//! Results on the host: their memory, and the check of their range.

use std::ops::BitAnd;

use gridstride_runtime::device::{Element, assign, zeroed_lazily};
use gridstride_runtime::{Error, Real, Result, parallel};
use ndarray::{ArrayView, ArrayViewMut, Dimension};

/// Calls `compute` with `out`, or with a temporary array that is copied if `out` is not row-major.
pub fn write_to<T: Element, D: Dimension>(
    mut out: ArrayViewMut<T, D>,
    compute: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    if let Some(entries) = out.as_slice_mut() {
        return compute(entries);
    }
    let mut entries = zeroed_lazily(out.len())?;
    compute(&mut entries)?;
    let result = ArrayView::from_shape(out.raw_dim(), &entries).expect("the shape of out");
    assign(out, &result);
    Ok(())
}

/// Numbers that a task checks.
const NUMBERS_PER_TASK: usize = 1 << 14;

/// Refuses the first sketch with an entry beyond the range of `T`. The `sketches` have `size`
/// numbers each, and belong to consecutive sequences or windows (`of`) from index `first` on.
pub fn check_range<T: Real>(
    operation: &'static str,
    sketches: &[T],
    size: usize,
    first: usize,
    of: &str,
) -> Result<()> {
    let count = sketches.len() / size;
    let per_task = (NUMBERS_PER_TASK / size).max(1);
    let overflows = |index: &usize| {
        let sketch = sketches[index * size..][..size].iter();
        // Looks at all entries, so that the loop is vectorized.
        let are_finite = sketch.map(|entry| entry.to_f64().is_finite());
        !are_finite.fold(true, BitAnd::bitand)
    };
    let overflowed = parallel::find_first(count.div_ceil(per_task), &|task| {
        parallel::chunk(task, per_task, count).find(overflows)
    });
    let Some(index) = overflowed.map(|index| first + index) else {
        return Ok(());
    };
    let double = if T::NAME == "f32" { ", double()" } else { "" };
    let message = format!(
        "the sketch of {of} {index} leaves the range of {}: \
         use normalize(true){double} or shorter tuples",
        T::NAME
    );
    Err(Error::Overflow {
        operation,
        index,
        message,
    })
}
