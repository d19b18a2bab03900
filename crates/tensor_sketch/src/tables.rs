//! The random tables that a tensor sketch is made with.

use gridstride_runtime::{Error, Result};
use ndarray::{Array2, ArrayView2};

/// The largest alphabet: codes are bytes.
const MAX_ALPHABET: usize = 256;

/// The longest tuple of [`Tables`], in letters.
///
/// ```
/// use gridstride::tensor_sketch::{MAX_DIM, MAX_TUPLE, Tables};
///
/// assert!(Tables::from_seed(4, MAX_TUPLE, MAX_DIM, 17).is_ok());
/// assert!(Tables::from_seed(4, MAX_TUPLE + 1, MAX_DIM, 17).is_err());
/// ```
pub const MAX_TUPLE: usize = 8;

/// The largest dimension of [`Tables`]: the numbers of a sketch.
///
/// ```
/// use gridstride::tensor_sketch::{MAX_DIM, Tables};
///
/// assert!(Tables::from_seed(4, 3, MAX_DIM, 17).is_ok());
/// assert!(Tables::from_seed(4, 3, MAX_DIM + 1, 17).is_err());
/// ```
pub const MAX_DIM: usize = 4096;

/// A hash in `[0, dim)` and a sign for each letter of an alphabet and each place in a tuple.
///
/// Only sketches made with equal tables can be compared.
///
/// ```
/// use gridstride::tensor_sketch::Tables;
/// use ndarray::array;
///
/// // An alphabet of two letters, tuples of three, sketches of five numbers.
/// let hashes = array![[0, 4, 1], [2, 2, 3]];
/// let signs = array![[1, -1, 1], [1, 1, -1]];
/// let tables = Tables::new(hashes.view(), signs.view(), 5)?;
/// assert_eq!((tables.hash(1, 2), tables.sign(1, 2)), (3, -1));
///
/// let seeded = Tables::from_seed(4, 3, 64, 17)?;
/// assert_eq!((seeded.alphabet_size(), seeded.tuple_length(), seeded.dim()), (4, 3, 64));
/// # Ok::<(), gridstride::Error>(())
/// ```
///
/// # Choosing the length of tuples and the dimension
///
/// A tuple of t letters survives where none of its letters was edited. If a fraction p of the
/// letters differs, about (1 − p)ᵗ of the tuples remain: t = 6 keeps half of them at p = 10 %,
/// t = 3 at p = 20 %. Longer tuples tell more of the order of letters, and unrelated sequences have
/// fewer of them in common. So take the longest t at which sequences that should be found similar
/// still share a good part of their tuples: 3 to 6 for DNA, 2 or 3 for the 20 letters of proteins.
///
/// A sketch projects the counts of all Aᵗ tuples to D numbers. The error of a distance falls as
/// 1/√D: half the error takes four times the dimension, and about four times the time and memory. A
/// dimension above Aᵗ gains little. Begin with a D of 64 to 256, and double it until the order of
/// the distances that matter no longer changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Unchecked")
)]
pub struct Tables {
    hashes: Array2<u32>,
    signs: Array2<i8>,
    dim: usize,
}

/// [`Tables`] that were read.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Unchecked {
    hashes: Array2<i64>,
    signs: Array2<i64>,
    dim: usize,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for Tables {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Tables> {
        Tables::new(read.hashes.view(), read.signs.view(), read.dim)
    }
}

impl Tables {
    /// Takes `hashes` and `signs`, both A×t with any strides, for sketches of `dim` numbers.
    ///
    /// Row `c` belongs to the letter with code `c`, column `k` to place `k` of a tuple.
    ///
    /// # Errors
    /// - [`Error::Shape`] if the shapes differ, or A is not in 1..=256 or t not in 1..=8.
    /// - [`Error::InvalidInput`] if `dim` is not in 1..=4096, a hash is not in `[0, dim)`, or a
    ///   sign is not 1 or −1.
    pub fn new(hashes: ArrayView2<i64>, signs: ArrayView2<i64>, dim: usize) -> Result<Tables> {
        const OPERATION: &str = "Tables::new";
        let (shape, of_signs) = (hashes.dim(), signs.dim());
        if shape != of_signs {
            return Err(Error::Shape {
                operation: OPERATION,
                message: format!(
                    "the hashes are {shape:?}, the signs {of_signs:?}: the shapes must be equal"
                ),
            });
        }
        check_sizes(OPERATION, shape.0, shape.1, dim)?;
        let refuse = |what, (row, column), value: i64, accepted: String| {
            let message =
                format!("{what} at row {row}, column {column} is {value}, not {accepted}");
            Err(Error::input_at(OPERATION, "rows", row, message))
        };
        for (place, &hash) in hashes.indexed_iter() {
            if !(0..dim as i64).contains(&hash) {
                return refuse("the hash", place, hash, format!("in [0, {dim})"));
            }
        }
        for (place, &sign) in signs.indexed_iter() {
            if sign != 1 && sign != -1 {
                return refuse("the sign", place, sign, "1 or -1".into());
            }
        }
        Ok(Tables {
            hashes: hashes.as_standard_layout().map(|&hash| hash as u32),
            signs: signs.as_standard_layout().map(|&sign| sign as i8),
            dim,
        })
    }

    /// Draws tables for `alphabet_size` letters, tuples of `tuple_length` and sketches of `dim`
    /// numbers. Equal arguments give equal tables in every version and on every machine.
    ///
    /// The numbers come from SplitMix64 started at `seed`. For each letter in order, and for each
    /// place of the tuple in order, two things are drawn: the hash, as the upper 64 bits of the
    /// 128-bit product of one output and `dim` (drawn again while the lower 64 bits are below
    /// 2⁶⁴ mod `dim`, so that all hashes are equally likely), then the sign, −1 if the highest bit
    /// of one further output is set.
    ///
    /// # Errors
    /// [`Error::Shape`] if `alphabet_size` is not in 1..=256 or `tuple_length` not in 1..=8,
    /// [`Error::InvalidInput`] if `dim` is not in 1..=4096.
    pub fn from_seed(
        alphabet_size: usize,
        tuple_length: usize,
        dim: usize,
        seed: u64,
    ) -> Result<Tables> {
        check_sizes("Tables::from_seed", alphabet_size, tuple_length, dim)?;
        let mut generator = SplitMix64 { state: seed };
        let mut hashes = Array2::zeros((alphabet_size, tuple_length));
        let mut signs = Array2::ones((alphabet_size, tuple_length));
        for (hash, sign) in hashes.iter_mut().zip(&mut signs) {
            *hash = generator.below(dim as u64) as u32;
            if generator.next_u64() >> 63 == 1 {
                *sign = -1;
            }
        }
        Ok(Tables { hashes, signs, dim })
    }

    /// Returns the number of letters, A.
    pub fn alphabet_size(&self) -> usize {
        self.hashes.nrows()
    }

    /// Returns the length of a tuple, t.
    pub fn tuple_length(&self) -> usize {
        self.hashes.ncols()
    }

    /// Returns the number of entries of a sketch, D.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the hash of a letter at place `k` of a tuple.
    ///
    /// # Panics
    /// If `letter` is not below A or `k` not below t.
    pub fn hash(&self, letter: u8, k: usize) -> u32 {
        self.hashes[[usize::from(letter), k]]
    }

    /// Returns the sign of a letter at place `k` of a tuple, 1 or −1.
    ///
    /// # Panics
    /// If `letter` is not below A or `k` not below t.
    pub fn sign(&self, letter: u8, k: usize) -> i8 {
        self.signs[[usize::from(letter), k]]
    }

    /// Returns all hashes, A×t, row-major and contiguous.
    pub fn hashes(&self) -> ArrayView2<'_, u32> {
        self.hashes.view()
    }

    /// Returns all signs, A×t, row-major and contiguous.
    pub fn signs(&self) -> ArrayView2<'_, i8> {
        self.signs.view()
    }
}

fn check_sizes(
    operation: &'static str,
    alphabet_size: usize,
    tuple_length: usize,
    dim: usize,
) -> Result<()> {
    let message = |name, value, most| format!("{name}, is {value}, not in 1 to {most}");
    let limits = [
        (
            "alphabet_size, the number of letters",
            alphabet_size,
            MAX_ALPHABET,
        ),
        (
            "tuple_length, the number of letters of a tuple",
            tuple_length,
            MAX_TUPLE,
        ),
    ];
    for (name, value, most) in limits {
        if !(1..=most).contains(&value) {
            let message = message(name, value, most);
            return Err(Error::Shape { operation, message });
        }
    }
    if !(1..=MAX_DIM).contains(&dim) {
        let message = message("dim, the dimension", dim, MAX_DIM);
        return Err(Error::input(operation, message));
    }
    Ok(())
}

/// The generator behind [`Tables::from_seed`]: SplitMix64 (Steele, Lea, Flood: 'Fast Splittable
/// Pseudorandom Number Generators', 2014).
///
/// Written out here because its numbers must never change, as those of a library may.
struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Draws a uniform number in `[0, range)`: the upper half of the product of a draw and `range`.
    ///
    /// A draw is repeated while the lower half is below 2⁶⁴ mod `range`, so that every result has
    /// the same number of draws (Lemire: 'Fast Random Integer Generation in an Interval', 2019).
    fn below(&mut self, range: u64) -> u64 {
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
    use ndarray::{Array2, ArrayView2, array};

    use super::{SplitMix64, Tables};
    use gridstride_runtime::Error;

    #[test]
    fn seeded_tables_never_change() {
        fn check(tables: Tables, shape: (usize, usize), hashes: &[u32], signs: &[i8]) {
            assert_eq!(Ok(tables.hashes()), ArrayView2::from_shape(shape, hashes));
            assert_eq!(Ok(tables.signs()), ArrayView2::from_shape(shape, signs));
        }
        // Computed by a separate program, in Python's big integers.
        let hashes = [
            84, 2, 10, 16, 23, 38, 50, 67, 46, 19, 82, 89, 83, 39, 61, 90,
        ];
        let signs = [1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, 1];
        let tables = Tables::from_seed(4, 4, 96, 0).unwrap();
        check(tables, (4, 4), &hashes, &signs);
        let (hashes, signs) = ([292, 8, 234, 352, 41, 883], [-1, 1, -1, -1, 1, -1]);
        let tables = Tables::from_seed(2, 3, 1000, 0xDEAD_BEEF).unwrap();
        check(tables, (2, 3), &hashes, &signs);
    }

    #[test]
    fn views_with_any_strides() {
        let hashes = array![[0, 1, 2], [3, 4, 5]];
        let signs = array![[1, -1, 1], [-1, -1, 1]];
        let direct = Tables::new(hashes.view(), signs.view(), 6).unwrap();
        let turned = |table: &Array2<i64>| table.t().as_standard_layout().into_owned();
        let (hashes, signs) = (turned(&hashes), turned(&signs));
        let indirect = Tables::new(hashes.t(), signs.t(), 6).unwrap();
        assert_eq!(indirect, direct);
        assert!(indirect.hashes().is_standard_layout());
    }

    #[test]
    fn refused_tables() {
        let refused = |hashes: &Array2<i64>, signs: &Array2<i64>, dim, expected: &str| {
            let refused = Tables::new(hashes.view(), signs.view(), dim);
            let message = refused.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        let ok = array![[0, 1], [1, 0]];
        let signs = array![[1, -1], [-1, 1]];
        let expected = "the hashes are (2, 2), the signs (1, 2)";
        refused(&ok, &array![[1, -1]], 2, expected);
        let expected = "the hash at row 0, column 1 is 1, not in [0, 1)";
        refused(&ok, &signs, 1, expected);
        refused(&array![[0, 1], [-7, 0]], &signs, 2, "row 1, column 0 is -7");
        let expected = "the sign at row 1, column 1 is 0, not 1 or -1";
        refused(&ok, &array![[1, 1], [1, 0]], 2, expected);
        let expected = "column 1 is -9223372036854775808";
        refused(&ok, &array![[1, i64::MIN], [1, 1]], 2, expected);
        refused(&ok, &signs, 0, "dim, the dimension, is 0, not in 1 to 4096");
        refused(&ok, &signs, 4097, "the dimension, is 4097");
        let letters = "alphabet_size, the number of letters,";
        let places = "tuple_length, the number of letters of a tuple,";
        for (shape, expected) in [
            ((0, 3), format!("{letters} is 0, not in 1 to 256")),
            ((257, 1), format!("{letters} is 257, not in 1 to 256")),
            ((1, 0), format!("{places} is 0, not in 1 to 8")),
            ((1, 9), format!("{places} is 9, not in 1 to 8")),
        ] {
            let (hashes, signs) = (Array2::zeros(shape), Array2::ones(shape));
            refused(&hashes, &signs, 2, &expected);
        }
        let refused = Tables::new(array![[0, 1], [-7, 0]].view(), signs.view(), 2);
        assert!(matches!(
            refused,
            Err(Error::InvalidInput { index: Some(1), .. })
        ));
        assert!(Tables::from_seed(0, 4, 96, 0).is_err());
        assert!(Tables::from_seed(4, 9, 96, 0).is_err());
        assert!(Tables::from_seed(4, 4, 0, 0).is_err());
        assert!(Tables::from_seed(256, 8, 4096, u64::MAX).is_ok());
    }

    #[test]
    fn published_test_vector() {
        let mut generator = SplitMix64 { state: 1234567 };
        for expected in [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ] {
            assert_eq!(generator.next_u64(), expected);
        }
    }

    #[test]
    fn draws_below_a_range_are_even() {
        let mut generator = SplitMix64 { state: 0 };
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[generator.below(3) as usize] += 1;
        }
        // Six standard deviations of a binomial(30000, 1/3).
        let is_even = |count: &u32| count.abs_diff(10_000) < 490;
        assert!(counts.iter().all(is_even), "{counts:?}");
    }

    #[test]
    fn a_biased_draw_is_repeated() {
        // 2^64 mod (2^63 + 1) = 2^63 - 1: about every second draw is rejected.
        let range = (1 << 63) + 1;
        let mut generator = SplitMix64 { state: 7 };
        let mut raw = SplitMix64 { state: 7 };
        let mut expected = std::iter::repeat_with(|| u128::from(raw.next_u64()) * range as u128)
            .filter(|product| *product as u64 >= (1 << 63) - 1)
            .map(|product| (product >> 64) as u64);
        for _ in 0..100 {
            assert_eq!(Some(generator.below(range)), expected.next());
        }
    }
}
