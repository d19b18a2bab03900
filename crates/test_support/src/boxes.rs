//! Sets of boxes, in whole numbers.

use ndarray::{Array2, Axis};

use super::Random;

/// Returns the boxes without Z.
pub fn flat<T: Copy>(set: &Array2<T>) -> Array2<T> {
    set.select(Axis(1), &[0, 1, 3, 4])
}

/// Returns a set of boxes with corners from a function: all minima, then all maxima.
pub fn set(count: usize, mut row: impl FnMut(usize) -> ([i64; 3], [i64; 3])) -> Array2<i64> {
    let mut numbers = Vec::with_capacity(6 * count);
    for i in 0..count {
        let (min, max) = row(i);
        numbers.extend(min.into_iter().chain(max));
    }
    Array2::from_shape_vec((count, 6), numbers).unwrap()
}

/// Returns boxes with edges below `edge` in a cube of edge `extent`.
pub fn uniform(count: usize, extent: i64, edge: i64, seed: u64) -> Array2<i64> {
    let mut random = Random(seed);
    set(count, |_| {
        let min = [0; 3].map(|_| random.within(0, extent));
        (min, min.map(|x| x + random.within(0, edge)))
    })
}
