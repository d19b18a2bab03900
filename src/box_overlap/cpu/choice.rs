//! Which algorithm is faster.

use crate::box_overlap::boxes::{Boxes, overlap};
use crate::box_overlap::{Algorithm, Coordinate};

/// How many tests of brute force take as long as the tree's work for a box or a row: 0.4 ns against 160 ns
/// of a core, for cubes of `f32` with two pairs a row (Sapphire Rapids, `benches/box_overlap_cpu.rs`).
const TESTS: f64 = 400.0;

/// The share of overlapping pairs from which on a test of each is faster than to sort those found.
const DENSE: f64 = 1.0 / 8.0;

/// Pairs that are tested to learn that share.
const SAMPLE: usize = 256;

/// The algorithm that was asked for, or the one that is expected to be faster.
pub(super) fn choose<T: Coordinate>(
    asked: Algorithm,
    set1: Boxes<'_, T>,
    set2: Boxes<'_, T>,
) -> Algorithm {
    let (rows, boxes) = (set1.len() as f64, set2.len() as f64);
    match asked {
        Algorithm::Auto if rows * boxes <= TESTS * (rows + boxes) => Algorithm::BruteForce,
        Algorithm::Auto if share(set1, set2) > DENSE => Algorithm::BruteForce,
        Algorithm::Auto => Algorithm::Indexed,
        asked => asked,
    }
}

/// The share of overlapping pairs in a sample. No set may be empty.
fn share<T: Coordinate>(set1: Boxes<'_, T>, set2: Boxes<'_, T>) -> f64 {
    // Fractions of the golden ratio and of √2 fill the square of all pairs evenly.
    let place = |i: usize, step: f64, length: usize| {
        let place = (i as f64 * step).fract() * length as f64;
        (place as usize).min(length - 1)
    };
    let hits = (1..=SAMPLE).filter(|&i| {
        let row = set1.row(place(i, 0.618_033_988_749_895, set1.len()));
        overlap(
            row,
            set2.row(place(i, std::f64::consts::SQRT_2, set2.len())),
        )
    });
    hits.count() as f64 / SAMPLE as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rows: usize, boxes: usize, edge: f32) -> Algorithm {
        let set = |length: usize| -> Vec<f32> {
            let row = |i: usize| [i as f32, 0.0, i as f32 + edge, 0.0];
            (0..length).flat_map(row).collect()
        };
        let (set1, set2) = (set(rows), set(boxes));
        let boxes = |numbers| Boxes { numbers, axes: 2 };
        choose(Algorithm::Auto, boxes(&set1), boxes(&set2))
    }

    #[test]
    fn brute_force_for_few_rows_and_where_most_overlap() {
        assert_eq!(chosen(0, 0, 0.5), Algorithm::BruteForce);
        assert_eq!(chosen(0, 100_000, 0.5), Algorithm::BruteForce);
        assert_eq!(chosen(10, 100_000, 0.5), Algorithm::BruteForce);
        assert_eq!(chosen(500, 500, 0.5), Algorithm::BruteForce);
        assert_eq!(chosen(20_000, 20_000, 0.5), Algorithm::Indexed);
        assert_eq!(chosen(20_000, 20_000, 1e6), Algorithm::BruteForce);
    }
}
