//! How the direct kernel is launched: a function of what is sketched and of the device.

use tensor_sketch_kernels::{Parameters, shared_words};

/// Values per thread for which there is a kernel, ascending.
pub const VALUES: [u32; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/// Up to so many values, a thread more costs more than a value more: the letter, its table entry
/// and the barrier are every thread's, the value only one more read, sum and write.
const CHEAP_VALUES: u32 = 8;

const WARP: u32 = 32;
const MAX_THREADS: u32 = 1024;

/// The shape of a launch of the direct kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Values per thread, one of [`VALUES`].
    pub values: u32,
    /// Threads per row, a multiple of the warp's size.
    pub lanes: u32,
    /// Dynamic shared memory per block.
    pub shared_bytes: u64,
}

impl Policy {
    /// The policy for a tuple length from 1 to 8 and a dimension from 1 to 4096.
    pub fn new(parameters: &Parameters) -> Policy {
        let Parameters { tuple, dim, .. } = *parameters;
        let lanes = |values: u32| dim.div_ceil(WARP * values) * WARP;
        let fits = |values: &u32| lanes(*values) * tuple <= MAX_THREADS;
        let cheap = VALUES
            .into_iter()
            .filter(|&values| values <= CHEAP_VALUES)
            .filter(fits);
        let values = cheap
            // The first of those with the fewest threads, so the one with the least padding.
            .min_by_key(|&values| lanes(values))
            .or_else(|| VALUES.into_iter().find(fits))
            .expect("32 values per thread fit every tuple length and dimension");
        let words = shared_words(parameters, lanes(values) * values);
        Policy {
            values,
            lanes: lanes(values),
            shared_bytes: words * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(tuple: u32, dim: u32) -> Policy {
        Policy::new(&Parameters {
            alphabet: 4,
            tuple,
            dim,
            bits: 2,
            all_rows: 0,
            step: 1.0,
        })
    }

    #[test]
    fn every_sketch_has_a_launch_that_covers_it() {
        for tuple in 1..=8 {
            for dim in 1..=4096 {
                let Policy { values, lanes, .. } = policy(tuple, dim);
                assert!(VALUES.contains(&values));
                assert!(lanes % WARP == 0 && lanes * tuple <= MAX_THREADS);
                assert!(lanes * values >= dim, "t = {tuple}, D = {dim}");
            }
        }
    }

    /// The shapes of the test `every_kernel_of_the_direct_form` in
    /// tests/kernels/tensor_sketch/accuracy.rs, with the usual one.
    #[test]
    fn every_kernel_is_chosen_and_tested() {
        let tested = [
            (4, 1),
            (4, 64),
            (4, 96),
            (4, 128),
            (1, 192),
            (8, 256),
            (5, 2100),
            (4, 4096),
            (8, 2100),
            (8, 4096),
        ];
        assert_eq!(tested.map(|(tuple, dim)| policy(tuple, dim).values), VALUES);
    }

    #[test]
    fn the_usual_sketch_gives_each_row_a_warp() {
        let usual = policy(4, 96);
        assert_eq!((usual.values, usual.lanes), (3, 32));
        // Twice three rows of 96, the tables, a tile of 1024 letters and one word.
        assert_eq!(usual.shared_bytes, 4 * (2 * 3 * 96 + 16 + 256 + 1));
    }
}
