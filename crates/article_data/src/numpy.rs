//! numpy's legacy generator, for data that others have drawn with `numpy.random.seed`.
//!
//! The articles' own data does not need it: they draw with [`python`](crate::python).

use std::ops::Range;

use rand_mt::Mt;

/// numpy's `random.RandomState`, which `numpy.random.seed` and the functions of `numpy.random` use:
/// the same numbers for the same calls. numpy has frozen them.
///
/// ```
/// use article_data::numpy::RandomState;
///
/// // np.random.seed(42); np.random.random_sample(); np.random.randint(0, 96)
/// let mut random = RandomState::new(42);
/// assert_eq!(random.random_sample(), 0.374_540_118_847_362_5);
/// assert_eq!(random.randint(0..96), 92);
/// ```
pub struct RandomState(Mt);

impl RandomState {
    /// Seeds as `numpy.random.seed(seed)` does.
    pub fn new(seed: u32) -> RandomState {
        RandomState(Mt::new(seed))
    }

    /// Returns `random_sample()`, in [0, 1).
    pub fn random_sample(&mut self) -> f64 {
        crate::unit(|| self.0.next_u32())
    }

    /// Returns `randint(range.start, range.end)` of the default type, 64-bit integers.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn randint(&mut self, range: Range<i64>) -> i64 {
        assert!(!range.is_empty(), "no number is in {range:?}");
        let largest = range.end.wrapping_sub(range.start).wrapping_sub(1) as u64;
        range.start.wrapping_add(self.up_to(largest) as i64)
    }

    /// Returns `permutation(len)`: the numbers below `len`, shuffled from the last to the first.
    pub fn permutation(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..len).collect();
        for i in (1..len).rev() {
            order.swap(i, self.up_to(i as u64) as usize);
        }
        order
    }

    /// Draws the lower bits of one output, or of two for large bounds, until they are at most
    /// `largest`. If 0 is the only number, nothing is drawn.
    fn up_to(&mut self, largest: u64) -> u64 {
        if largest == 0 {
            return 0;
        }
        let mask = u64::MAX >> largest.leading_zeros();
        loop {
            let mut bits = u64::from(self.0.next_u32());
            if largest > u64::from(u32::MAX) {
                bits = bits << 32 | u64::from(self.0.next_u32());
            }
            if bits & mask <= largest {
                return bits & mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RandomState;

    /// Numbers that numpy 2.4 printed for the calls of the test, for a seed.
    struct Numbers {
        seed: u32,
        fractions: [f64; 3],
        hashes: [i64; 5],
        integers: [i64; 3],
        wide: [i64; 3],
        words: [i64; 2],
        order: [usize; 10],
        last: i64,
    }

    const NUMBERS: [Numbers; 3] = [
        Numbers {
            seed: 42,
            fractions: [
                0.374_540_118_847_362_5,
                0.950_714_306_409_916_2,
                0.731_993_941_811_405_1,
            ],
            hashes: [60, 20, 82, 86, 74],
            integers: [482, -913, 396],
            wide: [425_815_370_599, 651_335_606_402, 640_192_412_980],
            words: [4_165_731_073, 3_100_961_111],
            order: [9, 2, 8, 6, 0, 4, 3, 7, 1, 5],
            last: 88,
        },
        Numbers {
            seed: 31_415,
            fractions: [
                0.645_818_605_908_754_7,
                0.675_174_169_851_334_9,
                0.970_703_986_048_671_3,
            ],
            hashes: [6, 6, 30, 85, 14],
            integers: [126, 904, 648],
            wide: [587_300_801_747, 715_113_520_186, 75_781_568_118],
            words: [2_613_944_824, 2_337_939_061],
            order: [5, 0, 8, 3, 2, 9, 7, 6, 4, 1],
            last: 51,
        },
        Numbers {
            seed: u32::MAX,
            fractions: [
                0.097_632_028_994_013_8,
                0.912_382_845_302_621_8,
                0.789_035_301_851_64,
            ],
            hashes: [86, 89, 32, 11, 74],
            integers: [563, 165, -562],
            wide: [377_890_788_663, 920_902_176_270, 710_062_034_121],
            words: [2_024_276_873, 780_684_889],
            order: [3, 5, 2, 6, 9, 1, 8, 7, 0, 4],
            last: 43,
        },
    ];

    #[test]
    fn numbers_of_numpy() {
        for numbers in NUMBERS {
            let random = &mut RandomState::new(numbers.seed);
            assert_eq!(
                numbers.fractions.map(|_| random.random_sample()),
                numbers.fractions
            );
            assert_eq!(
                numbers.hashes.map(|_| random.randint(0..96)),
                numbers.hashes
            );
            assert_eq!(
                numbers.integers.map(|_| random.randint(-1000..1000)),
                numbers.integers
            );
            assert_eq!(
                numbers.wide.map(|_| random.randint(0..1 << 40)),
                numbers.wide
            );
            assert_eq!(
                numbers.words.map(|_| random.randint(0..1 << 32)),
                numbers.words
            );
            assert_eq!([(); 2].map(|()| random.randint(7..8)), [7, 7]);
            assert_eq!(random.permutation(10), numbers.order);
            assert_eq!(random.randint(0..96), numbers.last);
        }
        assert!(RandomState::new(1).permutation(0).is_empty());
        let nothing = std::panic::catch_unwind(|| RandomState::new(1).randint(3..3));
        nothing.unwrap_err();
    }
}
