//! The options of a sketch, and how a device would compute it.

use std::fmt;
use std::marker::PhantomData;

use super::tables::Tables;

/// Sketches sequences with given [`Tables`].
///
/// All devices compute in the Fourier form unless [`form`](Self::form) says otherwise: sequences are
/// cut into chunks, which are worked on side by side, several letters at a time, and composed; see
/// [`Form`]. On the CPU that takes all cores, in vectors of the widest instruction set that the
/// machine has; [`plan`](Self::plan) says what a device chooses.
///
/// Sketches are not normalised unless [`normalize`](Self::normalize) asks for it, since whole numbers are exact as long
/// as they are small, and still tell how long a sequence is. To compare sequences of different lengths, normalise:
/// otherwise the longer sequence has the larger sketch, however similar both are.
///
/// [`Tables`] has advice on the length of tuples and the dimension.
///
/// # Accuracy
///
/// In the Fourier form an entry of row k is off by at most about 1500·t·2⁻²⁴·C(n, k) in `f32`, and
/// (3000·t + 2·D)·2⁻⁵³·C(n, k) in `f64`. Where that is below 1/2 the entry, a whole number, is exact.
/// In practice a sketch is off by 10⁻⁷ to 10⁻⁶ of its norm in `f32`, and by 10⁻¹⁴ in `f64`.
///
/// In the direct form all sums are in `f64` on the CPU and rounded once at the end. Elsewhere they are
/// in `f32`: an entry is off by at most about n·2⁻²⁴ times the sum of its terms' absolute values.
///
/// Everywhere the result is the same from run to run, whatever the number of threads, and does not
/// depend on what else is sketched. Instruction sets differ in the last bits.
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Tables, TensorSketch};
/// use ndarray::array;
///
/// // All tuples of equal letters fall on the same place: C(6, 3) = 20 of them.
/// let tables = Tables::new(array![[1, 2, 2]].view(), array![[1, 1, -1]].view(), 4)?;
/// let sketcher = TensorSketch::new(tables);
/// let sketch = sketcher.sketch_one(&Device::cpu(), array![0, 0, 0, 0, 0, 0].view())?;
/// assert_eq!(sketch, array![0.0, -20.0, 0.0, 0.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSketch<T = f32> {
    pub(super) tables: Tables,
    pub(super) normalize: bool,
    pub(super) form: Form,
    element: PhantomData<T>,
}

/// How a sketch is computed. The result is the same but for rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// What is fastest: the Fourier form.
    #[default]
    Auto,
    /// Letter by letter in the real domain, as the definition reads, on one core or in one block
    /// for each sequence: slow where one is long. Sums are whole numbers until they are normalised:
    /// results are exact while C(n, k) stays below 2²⁴ for all rows k, on the CPU below 2⁵³ but for
    /// the last rounding. GPUs and the simulator have it in `f32` alone.
    Direct,
    /// Several letters at a time in the Fourier domain, in pieces of the sequences that are computed
    /// side by side and then composed.
    Fourier,
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

    /// Computes in `f64`, both the sums and the entries: more accurate, slower.
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

    /// Sets whether row k is divided by C(n, k), the number of tuples in a sequence of n letters. The default is
    /// `false`.
    ///
    /// With it the sketch is the paper's, and sequences of different lengths can be compared. A
    /// sequence shorter than k has no tuples, and a row k of zeros with or without it.
    pub fn normalize(mut self, normalize: bool) -> TensorSketch<T> {
        self.normalize = normalize;
        self
    }

    /// Returns the tables that it sketches with.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }
}

/// How a device computes sketches with given tables; [`TensorSketch::plan`] makes one.
///
/// A plan is for logs and benchmarks: `Display` writes it as one line, whose wording may differ in each
/// version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) form: Form,
    pub(super) number: &'static str,
    pub(super) details: String,
}

impl Plan {
    /// Returns the form: never [`Form::Auto`], but what that stands for.
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

/// Returns the binomial coefficient C(`n`, `k`), the number of ways to choose `k` of `n`; 0 when `k > n`.
///
/// The value is the exact coefficient rounded once to the nearest `f64`, so exact wherever an `f64`
/// can hold it, as long as C(n, k)·min(k, n − k) stays below 2¹²⁸ (about 3.4·10³⁸). Beyond that the
/// relative error is at most 2·min(k, n − k)·2⁻⁵³, and what exceeds `f64`'s range is infinite.
///
/// # Examples
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
            None => return continue_rounded(exact as f64, n, k, i),
        }
    }
    exact as f64
}

/// The same product from factor `first` on, in `f64`.
fn continue_rounded(mut value: f64, n: u64, k: u64, first: u64) -> f64 {
    for i in first..=k {
        value *= (n - k + i) as f64 / i as f64;
        // Every factor is at least 2, so this also ends the loop for an enormous k.
        if value.is_infinite() {
            break;
        }
    }
    value
}

/// Returns what row `k` of the sketch of `length` letters is divided by: C(length, k) if it is normalised, else 1. A row
/// without tuples is zero whatever the divisor is.
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
