//! Random numbers, the same on every machine.

/// The golden ratio's part behind the point, by which SplitMix64 counts.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea, Flood: 'Fast splittable pseudorandom number generators').
pub struct Random(u64);

impl Random {
    /// Begins another sequence for each seed and each `stream`.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random(seed);
        let seed = random.next();
        random.0 = stream;
        Random(seed ^ random.next())
    }

    /// Returns the next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// Returns a number below `bound`, each as likely as another but for bound / 2⁶⁴.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number in [0, 1), of 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Returns the number that SplitMix64 makes of a state.
pub fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
