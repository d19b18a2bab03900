//! The generator behind [`Tables::from_seed`](super::Tables::from_seed).

/// SplitMix64 (Steele, Lea, Flood: 'Fast Splittable Pseudorandom Number Generators', 2014).
///
/// Written out here because its numbers must stay the same for ever, whatever a library decides.
pub(super) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A uniform number in `[0, range)`: the upper half of the product of a draw and `range`.
    ///
    /// A draw is repeated while the lower half is below 2⁶⁴ mod `range`, which leaves every result
    /// the same number of draws (Lemire: 'Fast Random Integer Generation in an Interval', 2019).
    pub(super) fn below(&mut self, range: u64) -> u64 {
        let rejected = range.wrapping_neg() % range;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(range);
            if product as u64 >= rejected {
                return (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn published_test_vector() {
        let mut generator = SplitMix64::new(1234567);
        let drawn: Vec<u64> = (0..5).map(|_| generator.next_u64()).collect();
        let expected: [u64; 5] = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn draws_below_a_range_are_even() {
        let mut generator = SplitMix64::new(0);
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[generator.below(3) as usize] += 1;
        }
        // Six standard deviations of a binomial(30000, 1/3).
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 490),
            "{counts:?}"
        );
    }

    #[test]
    fn a_biased_draw_is_repeated() {
        // 2^64 mod (2^63 + 1) = 2^63 - 1: about every second draw is rejected.
        let range = (1 << 63) + 1;
        let mut generator = SplitMix64::new(7);
        let mut raw = SplitMix64::new(7);
        let mut expected = std::iter::repeat_with(|| u128::from(raw.next_u64()) * range as u128)
            .filter(|product| *product as u64 >= (1 << 63) - 1)
            .map(|product| (product >> 64) as u64);
        for _ in 0..100 {
            assert_eq!(Some(generator.below(range)), expected.next());
        }
    }
}
