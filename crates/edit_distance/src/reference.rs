//! The plain version, as a reference for tests.

use ndarray::ArrayView1;

/// Computes the edit distance of two sequences by its definition: row by row of a table of
/// (m + 1) × (n + 1) numbers, of which two rows are kept.
///
/// ```
/// use gridstride::edit_distance::reference;
/// use ndarray::aview1;
///
/// assert_eq!(reference::edit_distance(aview1(b"kitten"), aview1(b"sitting")), 3);
/// ```
pub fn edit_distance(x: ArrayView1<u8>, y: ArrayView1<u8>) -> u32 {
    // Indices of vectors are fast without optimisation too.
    let (x, y) = (x.to_vec(), y.to_vec());
    let mut before: Vec<u32> = (0..=y.len() as u32).collect();
    let mut row = before.clone();
    for (i, letter) in x.iter().enumerate() {
        row[0] = i as u32 + 1;
        for j in 1..row.len() {
            let replaced = before[j - 1] + u32::from(*letter != y[j - 1]);
            row[j] = replaced.min(before[j] + 1).min(row[j - 1] + 1);
        }
        std::mem::swap(&mut before, &mut row);
    }
    before[y.len()]
}
