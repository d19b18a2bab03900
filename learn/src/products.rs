//! Code of both ladders of matrix products.

use anyhow::{Context, Result, ensure};
use checks::random::Random;
use files::memory::room_for;
use gridstride::matmul::{MatMul, Scalar, reference};
use ndarray::{Array2, ArrayView2};

use super::climb::Climb;
use super::setup::Setup;

/// Numbers of all matrices together, which the reference has in `f64` too.
const NUMBERS: usize = 1 << 30;

/// Fails for sizes that hardly any machine has the memory for.
pub fn check_sizes(m: usize, k: usize, n: usize) -> Result<()> {
    let numbers = m * k + k * n + m * n;
    ensure!(
        numbers <= NUMBERS,
        "the matrices of {m}×{k} · {k}×{n} → {m}×{n} have {numbers} numbers, more than {NUMBERS}"
    );
    Ok(())
}

/// A matrix of numbers uniform in [-1, 1), another one for each stream.
///
/// # Errors
/// If there is no memory for it.
pub fn random_matrix<T>(
    seed: u64,
    stream: u64,
    shape: (usize, usize),
    of: impl Fn(f64) -> T,
) -> Result<Array2<T>> {
    let (rows, columns) = shape;
    let mut numbers = room_for(rows * columns).with_context(|| {
        format!("there is no memory for a matrix of {rows}×{columns}: choose smaller sizes")
    })?;
    let mut random = Random::new(seed, stream);
    numbers.extend((0..rows * columns).map(|_| of(2.0 * random.unit() - 1.0)));
    Ok(Array2::from_shape_vec(shape, numbers)?)
}

/// The library's own product: of matrices on the device, or for the CPU of those of the host,
/// without a copy.
pub fn library<T: Scalar<Sum = T> + Into<f64>>(
    climb: &mut Climb,
    setup: &Setup,
    (a, b): (ArrayView2<T>, ArrayView2<T>),
    expected: &Expected,
    changed: &str,
) -> Result<()> {
    let matmul = MatMul::new();
    if !setup.has_kernels() {
        return climb.library(
            "gridstride",
            changed,
            || Ok(matmul.matmul(&setup.device, a, b)?),
            |c| expected.check(c.as_slice().expect("a new array")),
        );
    }
    let (a, b) = (setup.device.upload(&a)?, setup.device.upload(&b)?);
    climb.library(
        "gridstride",
        changed,
        || Ok(matmul.matmul_device(&a, &b)?),
        |c| expected.check(&c.buffer().to_vec()?),
    )
}

/// The expected product in `f64`, and the error bound of each element.
pub struct Expected {
    product: Array2<f64>,
    bounds: Array2<f64>,
}

impl Expected {
    /// Every version sums up k products of the type's numbers in some order: in the type itself the
    /// error is at most f·Σ|a|·|b|, f being [`MatMul::error_factor`]. The reference and Σ|a|·|b|
    /// are in `f64` and each have the factor g of that: f·Σ + g·Σ, and as f is below 1, another g·Σ
    /// for what the computed Σ lacks.
    pub fn new<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>) -> Expected {
        let k = a.ncols();
        let factor =
            MatMul::new().error_factor::<T>(k) + 2.0 * MatMul::new().error_factor::<f64>(k);
        Expected {
            product: reference::matmul(a, b),
            bounds: reference::magnitudes(a, b) * factor,
        }
    }

    /// Fails at the first element that is further off than it may be.
    pub fn check<T: Copy + Into<f64>>(&self, found: &[T]) -> Result<String> {
        self.check_rows(self.product.nrows(), found)
    }

    /// The same for the first rows alone.
    pub fn check_rows<T: Copy + Into<f64>>(&self, rows: usize, found: &[T]) -> Result<String> {
        let columns = self.product.ncols();
        ensure!(
            found.len() == rows * columns,
            "it has {} elements, not {rows}×{columns}",
            found.len()
        );
        for (((place, expected), bound), &found) in
            self.product.indexed_iter().zip(&self.bounds).zip(found)
        {
            let found: f64 = found.into();
            // Not `>`: NaN is wrong too.
            ensure!(
                (found - expected).abs() <= *bound,
                "element {place:?} is {found}, but {expected} was expected, and at most {bound:e} from it"
            );
        }
        Ok(String::new())
    }
}
