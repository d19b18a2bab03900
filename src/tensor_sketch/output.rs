//! Results on the host: memory for them, and the check of their range.

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use crate::device::{Element, assign, zeroed_lazily};
use crate::{Error, Real, Result, parallel};

/// Checks the shape of memory for a result.
pub fn require_shape(operation: &'static str, result: &[usize], out: &[usize]) -> Result<()> {
    if out == result {
        return Ok(());
    }
    Err(Error::Shape {
        operation,
        message: format!("the result has the shape {result:?}, but out has {out:?}"),
    })
}

/// Has `compute` write a result in row-major order, and copies it to `out` if that has other strides.
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

/// Numbers that a thread checks in one go.
const CHECKED_BY_A_THREAD: usize = 1 << 14;

/// Refuses the first sketch with an entry that `T` cannot hold. The `sketches` have `size` numbers each; `of` is what each
/// is the sketch of, the first one that of number `first`.
pub fn check_range<T: Real>(
    operation: &'static str,
    sketches: &[T],
    size: usize,
    first: usize,
    of: &str,
) -> Result<()> {
    let is_finite = |sketch: &[T]| sketch.iter().all(|entry| entry.to_f64().is_finite());
    let together = (CHECKED_BY_A_THREAD / size).max(1);
    let blocks = sketches.len().div_ceil(together * size);
    let overflowed = parallel::find_first(blocks, &|block| {
        let mut sketches = sketches[block * together * size..]
            .chunks(size)
            .take(together);
        let position = sketches.position(|sketch| !is_finite(sketch))?;
        Some(block * together + position)
    });
    let Some(index) = overflowed.map(|position| first + position) else {
        return Ok(());
    };
    Err(Error::Overflow {
        operation,
        index,
        message: format!(
            "the sketch of {of} {index} leaves the range of {}: \
             normalise it, or use shorter tuples",
            T::NAME
        ),
    })
}
