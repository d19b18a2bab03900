//! Which algorithm is faster.
//!
//! The numbers of rows and boxes decide. The number of pairs does not: where half of all pairs
//! overlap, the tree is still faster, and where all do, most time is spent on the result. For 3000
//! equal boxes the tree took 1.3 times as long as brute force, for 10 000 less long. In every other
//! kind of benches/box_overlap_cpu.rs, from 300 boxes to 10 000, the chosen algorithm took at most
//! 1.5 times as long as the faster one.

use gridstride_runtime::Number;

use crate::options::Algorithm;

/// Tests of brute force that take as long as the tree's work for a box: 0.25 ns against 130 ns of
/// two cores, for three-dimensional `f32` boxes (Sapphire Rapids).
const TESTS_PER_BOX: f64 = 500.0;

/// Tests of brute force that take as long as the tree's work for a row, for numbers of boxes so
/// small that brute force is an alternative.
const TESTS_PER_ROW: f64 = 200.0;

/// Returns the requested algorithm, or for `Auto` the one that is expected to be faster.
pub(super) fn choose<T: Number>(requested: Algorithm, rows: usize, boxes: usize) -> Algorithm {
    if requested != Algorithm::Auto {
        return requested;
    }
    let (rows, boxes) = (rows as f64, boxes as f64);
    // Half as many `f64` fit into a vector: tests take twice as long, but not the tree's work.
    let cost_of_a_test = size_of::<T>() as f64 / size_of::<f32>() as f64;
    let cost_of_a_tree = TESTS_PER_BOX * boxes + TESTS_PER_ROW * rows;
    if cost_of_a_test * rows * boxes <= cost_of_a_tree {
        Algorithm::BruteForce
    } else {
        Algorithm::Indexed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rows: usize, boxes: usize) -> Algorithm {
        choose::<f32>(Algorithm::Auto, rows, boxes)
    }

    #[test]
    fn brute_force_for_few_rows_or_boxes() {
        let few = [
            (0, 0),
            (0, 100_000),
            (10, 100_000),
            (100_000, 10),
            (500, 500),
        ];
        for (rows, boxes) in few {
            assert_eq!(chosen(rows, boxes), Algorithm::BruteForce);
        }
        for (rows, boxes) in [(1000, 100_000), (100_000, 1000), (20_000, 20_000)] {
            assert_eq!(chosen(rows, boxes), Algorithm::Indexed);
        }
    }

    #[test]
    fn a_test_of_longer_numbers_costs_more() {
        let chosen = choose::<f64>(Algorithm::Auto, 500, 500);
        assert_eq!(chosen, Algorithm::Indexed);
    }
}
