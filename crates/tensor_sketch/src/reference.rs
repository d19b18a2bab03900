//! The plain ndarray version, as a reference for tests: the definition in `f64`.

use ndarray::{Array2, ArrayView1};

use super::options::binomial;
use super::tables::Tables;

/// Computes all rows T\[0\] to T\[t\] of the tensor sketch of one sequence, (t+1)×D; T\[t\] is the
/// sketch. The entries for a sequence of n letters are exact if C(n, k) is below 2⁵³ for all k ≤ t.
///
/// # Panics
/// If a code is not below the alphabet size of the tables.
///
/// ```
/// use gridstride::tensor_sketch::{Tables, reference};
/// use ndarray::array;
///
/// // With t = 1 a sketch counts the letters that share a hash.
/// let tables = Tables::new(array![[0], [1], [1]].view(), array![[1], [1], [-1]].view(), 2)?;
/// let rows = reference::tensor_sketch(array![0, 0, 1, 2, 2, 0].view(), &tables);
/// assert_eq!(rows, array![[1.0, 0.0], [3.0, -1.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn tensor_sketch(codes: ArrayView1<u8>, tables: &Tables) -> Array2<f64> {
    let (t, dim) = (tables.tuple_length(), tables.dim());
    let mut rows = Array2::zeros((t + 1, dim));
    rows[[0, 0]] = 1.0;
    for &letter in codes {
        for k in (0..t).rev() {
            for l in 0..dim {
                let rolled = (l + tables.hash(letter, k) as usize) % dim;
                rows[[k + 1, rolled]] += f64::from(tables.sign(letter, k)) * rows[[k, l]];
            }
        }
    }
    rows
}

/// Divides each row k of the (t+1)×D `rows` of a sequence of `length` letters by C(`length`, k),
/// the number of its tuples. Rows without tuples stay zero.
///
/// ```
/// use gridstride::tensor_sketch::{Tables, reference};
/// use ndarray::array;
///
/// let tables = Tables::new(array![[0, 0]].view(), array![[1, 1]].view(), 1)?;
/// let mut rows = reference::tensor_sketch(array![0, 0, 0, 0].view(), &tables);
/// assert_eq!(rows, array![[1.0], [4.0], [6.0]]);
/// reference::normalize(&mut rows, 4);
/// assert_eq!(rows, array![[1.0], [1.0], [1.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn normalize(rows: &mut Array2<f64>, length: u64) {
    for (k, mut row) in rows.outer_iter_mut().enumerate() {
        let tuples = binomial(length, k as u64);
        if tuples > 0.0 {
            row /= tuples;
        }
    }
}
