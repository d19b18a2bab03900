//! The random tables of the article about tensor sketches.

use ndarray::Array2;

use crate::python::Random;

/// Letters, letters of a tuple, and numbers of a sketch in the article.
pub const SIZES: [usize; 3] = [4, 4, 96];
/// The article's seed.
pub const SEED: u64 = 31_415;

/// Returns the hashes and the signs of the article, letters × places of a tuple: for each letter
/// and each place `random.randrange(0, dim)`, then `random.randrange(-1, 2, 2)`.
///
/// ```
/// use article_data::sketch::{SEED, SIZES, tables};
///
/// let [letters, places, dim] = SIZES;
/// let [hashes, signs] = tables(letters, places, dim, SEED);
/// assert_eq!((hashes[[0, 1]], signs[[0, 1]]), (57, -1));
/// ```
///
/// # Panics
/// If `dim` is 0.
pub fn tables(letters: usize, places: usize, dim: usize, seed: u64) -> [Array2<i64>; 2] {
    let mut random = Random::new(seed);
    let mut tables = [(); 2].map(|()| Array2::zeros((letters, places)));
    let [hashes, signs] = &mut tables;
    for (hash, sign) in hashes.iter_mut().zip(signs) {
        *hash = random.below(dim as u64) as i64;
        *sign = 2 * random.below(2) as i64 - 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::{SEED, SIZES, tables};

    /// Compares with the numbers that Python 3.13 draws.
    #[test]
    fn tables_of_the_article() {
        let [letters, places, dim] = SIZES;
        let hashes = array![
            [75, 57, 69, 16],
            [51, 60, 50, 85],
            [79, 44, 35, 93],
            [65, 83, 82, 50]
        ];
        let signs = array![
            [1, -1, 1, 1],
            [-1, 1, -1, -1],
            [-1, -1, 1, -1],
            [1, 1, 1, -1]
        ];
        assert_eq!(tables(letters, places, dim, SEED), [hashes, signs]);
    }
}
