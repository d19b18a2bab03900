//! The plain version, as a reference for tests.

use ndarray::{Array2, ArrayView1};

/// Computes the edit distance of two sequences by its definition, in a table of (m + 1) × (n + 1)
/// numbers.
///
/// ```
/// use gridstride::edit_distance::reference;
/// use ndarray::aview1;
///
/// assert_eq!(reference::edit_distance(aview1(b"kitten"), aview1(b"sitting")), 3);
/// ```
pub fn edit_distance(x: ArrayView1<u8>, y: ArrayView1<u8>) -> u32 {
    let (m, n) = (x.len(), y.len());
    let mut d = Array2::<u32>::zeros((m + 1, n + 1));
    for i in 0..=m {
        for j in 0..=n {
            d[[i, j]] = match (i, j) {
                (_, 0) => i as u32,
                (0, _) => j as u32,
                _ => {
                    let replaced = d[[i - 1, j - 1]] + u32::from(x[i - 1] != y[j - 1]);
                    replaced.min(d[[i - 1, j]] + 1).min(d[[i, j - 1]] + 1)
                }
            };
        }
    }
    d[[m, n]]
}
