//! The expected products of matrices, and how far a result may be from them.

use gridstride::matmul::{MatMul, Scalar, reference};
use gridstride::{Device, Number};
use ndarray::{Array2, ArrayView2, Axis};

/// The reference's product, and the magnitudes that bound its error.
pub struct Expected {
    pub exact: Array2<f64>,
    pub sizes: Array2<f64>,
}

impl Expected {
    pub fn new<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>) -> Expected {
        Expected {
            exact: reference::matmul(a, b),
            sizes: reference::magnitudes(a, b),
        }
    }

    /// Returns row or column `index`.
    pub fn part(&self, axis: Axis, index: usize) -> Expected {
        Expected {
            exact: self.exact.select(axis, &[index]),
            sizes: self.sizes.select(axis, &[index]),
        }
    }

    /// Returns the expected Bᵀ·Aᵀ.
    pub fn transposed(&self) -> Expected {
        Expected {
            exact: self.exact.t().to_owned(),
            sizes: self.sizes.t().to_owned(),
        }
    }

    /// Checks C, made of A and B in some layout, against the promised bound.
    pub fn check<T: Scalar>(
        &self,
        device: &Device,
        with: MatMul,
        a: ArrayView2<T>,
        b: ArrayView2<T>,
        c: ArrayView2<T::Sum>,
    ) {
        assert_eq!(c.dim(), self.exact.dim(), "{device}, {with:?}");
        let factor = with.error_factor::<T>(a.ncols());
        // The reference's own error.
        let factor = factor + MatMul::new().error_factor::<f64>(a.ncols());
        let expected = self.exact.iter().zip(&self.sizes);
        for ((place, c), (exact, size)) in c.indexed_iter().zip(expected) {
            let error = (c.to_f64() - exact).abs();
            assert!(
                error <= factor * size,
                "{device}, {with:?}, {} {:?}·{:?}, strides {:?} {:?}, at {place:?}: {c:?} instead of {exact}",
                std::any::type_name::<T>(),
                a.dim(),
                b.dim(),
                a.strides(),
                b.strides(),
            );
        }
    }
}
