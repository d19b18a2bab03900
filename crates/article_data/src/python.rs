//! Python's module `random`.

use rand_mt::Mt;

/// Python's `random.Random`: the same numbers for the same calls, as of Python 3.2.
///
/// ```
/// use article_data::python::Random;
///
/// // random.seed(42); random.randint(200000, 400000); random.choice("xyz"); random.random()
/// let mut random = Random::new(42);
/// assert_eq!(random.randint(200_000, 400_000), 367_621);
/// assert_eq!(*random.choice(b"xyz"), b'x');
/// assert_eq!(random.random(), 0.025_010_755_222_666_936);
/// ```
pub struct Random(Mt);

impl Random {
    /// Seeds as `random.seed(seed)` does, by an array of the seed's 32-bit words.
    pub fn new(seed: u64) -> Random {
        let words = [seed as u32, (seed >> 32) as u32];
        let len = if words[1] == 0 { 1 } else { 2 };
        Random(Mt::new_with_key(words.into_iter().take(len)))
    }

    /// Returns `random.getrandbits(bits)`, for up to 64 bits.
    ///
    /// # Panics
    /// If there are more.
    pub fn getrandbits(&mut self, bits: u32) -> u64 {
        assert!(bits <= 64, "getrandbits: {bits} bits are more than 64");
        let mut number = 0;
        // The first word is the lowest; of the last one the upper bits are taken.
        for shift in (0..bits).step_by(32) {
            let word = self.0.next_u32() >> (32 - (bits - shift).min(32));
            number |= u64::from(word) << shift;
        }
        number
    }

    /// Returns `random.randrange(bound)`: as many bits as `bound` has are drawn until they are a
    /// number below it.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        let bits = u64::BITS - bound.leading_zeros();
        loop {
            let number = self.getrandbits(bits);
            if number < bound {
                return number;
            }
        }
    }

    /// Returns `random.randint(low, high)`, a number from `low` to `high` with both.
    ///
    /// # Panics
    /// If `high` is below `low`, or there are 2⁶⁴ numbers.
    pub fn randint(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "no number is from {low} to {high}");
        low.wrapping_add(self.below(high.wrapping_sub(low) as u64 + 1) as i64)
    }

    /// Returns `random.choice(items)`.
    ///
    /// # Panics
    /// If there are none.
    pub fn choice<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Returns `random.random()`, in [0, 1).
    pub fn random(&mut self) -> f64 {
        crate::unit(|| self.0.next_u32())
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// Numbers that Python 3.13 printed for the calls of the test, for a seed.
    struct Numbers {
        seed: u64,
        bits_32: [u64; 3],
        bits_7: [u64; 3],
        bits_40: u64,
        bits_64: u64,
        integers: [i64; 3],
        wide: [i64; 2],
        fraction: f64,
        letters: &'static str,
    }

    /// Seeds of one and of two words. Bounds that are a power of two need one more bit.
    const NUMBERS: [Numbers; 4] = [
        Numbers {
            seed: 0,
            bits_32: [3_626_764_237, 1_654_615_998, 3_255_389_356],
            bits_7: [113, 53, 5],
            bits_40: 1_061_968_961_082,
            bits_64: 8_963_783_824_838_420_066,
            integers: [224_604, 118_046, 299_748],
            wide: [619_073_466_650, 553_189_221_793],
            fraction: 0.987_259_201_033_012_9,
            letters: "zzzxyxzxzyyz",
        },
        Numbers {
            seed: 42,
            bits_32: [2_746_317_213, 478_163_327, 107_420_369],
            bits_7: [94, 35, 31],
            bits_40: 151_282_538_206,
            bits_64: 1_890_702_223_848_595_625,
            integers: [371_858, -108_839, 242_417],
            wide: [64_561_015_027, 477_143_787_866],
            fraction: 0.232_660_893_390_739_6,
            letters: "zxzxzzzzyxyz",
        },
        Numbers {
            seed: 4_294_967_301,
            bits_32: [675_479_763, 2_085_189_291, 1_213_270_837],
            bits_7: [113, 77, 106],
            bits_40: 386_609_434_369,
            bits_64: 3_160_281_327_580_079_605,
            integers: [319_856, 171_654, 54_056],
            wide: [350_051_233_592, 1_002_458_349_163],
            fraction: 0.818_589_342_968_845_7,
            letters: "zxyzxzxyxzzy",
        },
        Numbers {
            seed: u64::MAX,
            bits_32: [93_740_670, 1_068_495_656, 1_452_108_352],
            bits_7: [79, 27, 58],
            bits_40: 105_721_161_155,
            bits_64: 16_617_046_528_768_934_132,
            integers: [189_068, -143_007, 1_901],
            wide: [1_062_273_470_235, 611_011_188_478],
            fraction: 0.589_667_111_908_509_6,
            letters: "yyyzyzyyxyzx",
        },
    ];

    #[test]
    fn numbers_of_python() {
        for numbers in NUMBERS {
            let random = &mut Random::new(numbers.seed);
            assert_eq!(
                numbers.bits_32.map(|_| random.getrandbits(32)),
                numbers.bits_32
            );
            assert_eq!(
                numbers.bits_7.map(|_| random.getrandbits(7)),
                numbers.bits_7
            );
            assert_eq!(random.getrandbits(40), numbers.bits_40);
            assert_eq!(random.getrandbits(64), numbers.bits_64);
            let integers = numbers.integers.map(|_| random.randint(-200_000, 400_000));
            assert_eq!(integers, numbers.integers);
            let wide = numbers.wide.map(|_| random.randint(0, 1 << 40));
            assert_eq!(wide, numbers.wide);
            assert_eq!(random.random(), numbers.fraction);
            let letters = (0..numbers.letters.len()).map(|_| char::from(*random.choice(b"xyz")));
            assert_eq!(letters.collect::<String>(), numbers.letters);
        }
    }

    /// Python raises `ValueError` for them.
    #[test]
    fn nothing_to_draw() {
        let refused = |draw: fn(&mut Random)| {
            std::panic::catch_unwind(|| draw(&mut Random::new(1))).unwrap_err()
        };
        refused(|random| _ = random.below(0));
        refused(|random| _ = random.randint(1, 0));
        refused(|random| _ = random.choice::<u8>(&[]));
        refused(|random| _ = random.getrandbits(65));
        assert_eq!(Random::new(1).getrandbits(0), 0);
    }
}
