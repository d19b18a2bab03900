//! The options of a sketch, and the description of how a device computes it.

use std::fmt;
use std::marker::PhantomData;

use super::tables::Tables;

/// Sketches sequences with given [`Tables`].
///
/// [`form`](Self::form) sets the algorithm. The CPU uses all cores, and the widest vectors of the
/// machine. [`plan`](Self::plan) describes how a device computes.
///
/// Sketches are not normalised by default, since small whole numbers are exact, and show the length
/// of a sequence. To compare sequences of different lengths, use [`normalize`](Self::normalize):
/// otherwise the longer sequence has the larger sketch, however similar both are.
///
/// [`Tables`] has advice on the length of tuples and the dimension.
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Tables, TensorSketch};
/// use ndarray::array;
///
/// // All C(6, 3) = 20 tuples of equal letters fall on the same place.
/// let tables = Tables::new(array![[1, 2, 2]].view(), array![[1, 1, -1]].view(), 4)?;
/// let sketcher = TensorSketch::new(tables);
/// let sketch = sketcher.sketch_one(&Device::cpu(), array![0, 0, 0, 0, 0, 0].view())?;
/// assert_eq!(sketch, array![0.0, -20.0, 0.0, 0.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
///
/// # Accuracy
///
/// In the Fourier form the error of an entry of row k is at most 1500·t·2⁻²⁴·C(n, k) in `f32`, and
/// (3200·t + 2·D)·2⁻⁵³·C(n, k) in `f64`, for sequences of up to 8 Mi letters; each further 8 Mi add
/// 26·t·2⁻⁵³·C(n, k). If this bound is below 1/2, the entry, a whole number, is exact. In practice
/// the error of a sketch is 10⁻⁷ to 10⁻⁶ of its norm in `f32`, and 10⁻¹⁴ in `f64`.
///
/// In the direct form the CPU sums in `f64` and rounds once at the end. Other devices sum in `f32`.
/// Each term passes at most one addition for each of n letters, so the error of an entry is at most
/// γ_n = n·u / (1 − n·u) times the sum of its terms' absolute values, with u = 2⁻⁵³ on the CPU and
/// 2⁻²⁴ elsewhere.
///
/// Normalised entries have three more roundings: of C(n, k), of the quotient and of the result. For
/// long sequences [`binomial`] rounds C(n, k) more than once.
///
/// Results are deterministic: they depend neither on the number of threads nor on other sequences
/// of the call. Instruction sets differ in the last bits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(bound = "")
)]
pub struct TensorSketch<T = f32> {
    pub(super) tables: Tables,
    pub(super) normalize: bool,
    pub(super) form: Form,
    #[cfg_attr(feature = "serde", serde(skip))]
    element: PhantomData<T>,
}

gridstride_runtime::choice! {
    /// How a sketch is computed. Results differ only in rounding.
    pub enum Form("form"), default Auto {
        /// The fastest form: Fourier.
        Auto("auto"),
        /// Letter by letter in the real domain, as in the definition, on one core or one block of
        /// threads per sequence: slow for long sequences. Sums are whole numbers until they are
        /// normalised, so results are exact while C(n, k) is below 2²⁴ for all rows k; on the CPU,
        /// below 2⁵³ except for the last rounding. GPUs and the simulator support only `f32`.
        Direct("direct"),
        /// Several letters at a time in the Fourier domain, in chunks of the sequences that are
        /// computed in parallel and then composed.
        Fourier("fourier"),
    }
}

impl TensorSketch {
    /// Returns a sketcher with `tables`, in `f32`, that does not normalise.
    pub fn new(tables: Tables) -> TensorSketch {
        TensorSketch {
            tables,
            normalize: false,
            form: Form::Auto,
            element: PhantomData,
        }
    }

    /// Computes sums and entries in `f64`: more accurate, slower.
    pub fn double(self) -> TensorSketch<f64> {
        TensorSketch {
            tables: self.tables,
            normalize: self.normalize,
            form: self.form,
            element: PhantomData,
        }
    }
}

impl<T> TensorSketch<T> {
    /// Sets how sketches are computed.
    pub fn form(mut self, form: Form) -> TensorSketch<T> {
        self.form = form;
        self
    }

    /// Sets whether row k is divided by C(n, k), the number of tuples in a sequence of n letters.
    /// The default is `false`.
    ///
    /// Normalised sketches are those of the paper, and comparable between sequences of different
    /// lengths. A sequence shorter than k has no tuples, and a row k of zeros in either case.
    pub fn normalize(mut self, normalize: bool) -> TensorSketch<T> {
        self.normalize = normalize;
        self
    }

    /// Returns the tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}

/// How a device computes sketches, for logs and benchmarks: the result of [`TensorSketch::plan`].
///
/// `Display` writes one line, whose wording may change in any version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) form: Form,
    pub(super) number: &'static str,
    pub(super) details: String,
}

impl Plan {
    /// Returns the form, never [`Form::Auto`].
    pub fn form(&self) -> Form {
        self.form
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Direct => "direct",
            Form::Auto | Form::Fourier => "Fourier",
        };
        write!(f, "{form} form in {}: {}", self.number, self.details)
    }
}

/// Returns the binomial coefficient C(`n`, `k`): the ways to choose `k` of `n` items, 0 if `k > n`.
///
/// While C(n, k)·min(k, n − k) is below 2¹²⁸ (about 3.4·10³⁸), the result is the exact coefficient,
/// rounded once to the nearest `f64`. Beyond that the relative error is at most
/// 3·min(k, n − k)·2⁻⁵³, and coefficients beyond `f64`'s range are infinite.
///
/// ```
/// use gridstride::tensor_sketch::binomial;
///
/// assert_eq!(binomial(5, 2), 10.0);
/// assert_eq!(binomial(3, 4), 0.0);
/// assert_eq!(binomial(143, 4), 16_701_685.0);
/// ```
pub fn binomial(n: u64, k: u64) -> f64 {
    if k > n {
        return 0.0;
    }
    let k = k.min(n - k);
    let mut exact: u128 = 1;
    for i in 1..=k {
        // C(n-k+i, i) = C(n-k+i-1, i-1) * (n-k+i) / i, without a remainder.
        match exact.checked_mul(u128::from(n - k + i)) {
            Some(product) => exact = product / u128::from(i),
            None => {
                // In `f64` from here on. Factors are at least 2: an enormous k soon gives infinity.
                let mut value = exact as f64;
                let mut factors = (i..=k).map(|i| (n - k + i) as f64 / i as f64);
                while let Some(factor) = factors.next().filter(|_| value.is_finite()) {
                    value *= factor;
                }
                return value;
            }
        }
    }
    exact as f64
}

/// Returns the divisor of row `k` of the sketch of `length` letters: C(length, k) if sketches are
/// normalised, otherwise 1. A row without tuples is zero whatever the divisor is.
pub fn divisor(normalize: bool, length: u64, k: usize) -> f64 {
    match normalize {
        true => binomial(length, k as u64).max(1.0),
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::binomial;

    #[test]
    fn pascals_triangle() {
        let mut row: Vec<u64> = vec![1];
        for n in 0..=60u64 {
            for (k, &value) in row.iter().enumerate() {
                assert_eq!(binomial(n, k as u64), value as f64, "C({n}, {k})");
            }
            let inner = row.windows(2).map(|pair| pair[0] + pair[1]);
            row = [1].into_iter().chain(inner).chain([1]).collect();
        }
    }

    #[test]
    fn edges() {
        assert_eq!(binomial(0, 0), 1.0);
        assert_eq!(binomial(0, 1), 0.0);
        assert_eq!(binomial(7, 8), 0.0);
        assert_eq!(binomial(u64::MAX, 0), 1.0);
        assert_eq!(binomial(u64::MAX, 1), u64::MAX as f64);
        assert_eq!(binomial(u64::MAX, u64::MAX - 1), u64::MAX as f64);
        assert_eq!(binomial(u64::MAX, u64::MAX / 2), f64::INFINITY);
    }

    #[test]
    fn large_values() {
        // 2^24 is passed between 143 and 144, 2^63 between 121 977 and 121 978.
        assert!(binomial(143, 4) < 16_777_216.0 && binomial(144, 4) > 16_777_216.0);
        assert_eq!(binomial(121_977, 4), 9_223_148_185_681_446_450_u64 as f64);
        // Exact integers from Python's math.comb, beyond u128 in the second case.
        let close = |value: f64, expected: f64| ((value - expected) / expected).abs() < 8e-16;
        assert!(close(binomial(1_000_000, 8), 2.480_089_286_512_892e43));
        assert!(close(binomial(u64::MAX, 8), 3.325_349_188_973_858_4e149));
    }
}
