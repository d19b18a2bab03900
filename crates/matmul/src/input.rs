//! The factors and the result of a product, and the checks of their shapes.

use gridstride_runtime::device::{Buffer, DeviceView, Element, is_countable};
use gridstride_runtime::{Device, Error, Result};
use ndarray::{
    ArrayBase, ArrayView3, ArrayViewMut3, Axis, Dimension, Ix1, Ix2, Ix3, RawData, ShapeBuilder,
};

use num_traits::Zero;

use super::options::Instructions;

/// The sizes of a batch of products: C is batch × m × n, summed over k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub batch: usize,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Whether A and B are single matrices, which are combined with the whole batch.
    pub singles: [bool; 2],
}

/// C = α·A·B + β·C of host arrays, as batches: a factor with a single matrix is combined with every
/// matrix of the other factor.
pub struct Product<'a, T, S, C> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub alpha: S,
    pub a: ArrayView3<'a, T>,
    pub b: ArrayView3<'a, T>,
    pub beta: S,
    pub c: ArrayViewMut3<'a, C>,
}

impl Sizes {
    /// Whether A and B are read. Otherwise C = β·C.
    pub fn reads_factors<S: Zero>(self, alpha: S) -> bool {
        self.k > 0 && !alpha.is_zero()
    }

    /// Checks that kernels can count rows, columns and k, in 32 bits.
    pub fn require_kernels(self, operation: &'static str) -> Result<()> {
        for (name, size) in [("m", self.m), ("n", self.n), ("k", self.k)] {
            if size > i32::MAX as usize {
                let message = format!("{name} is {size}; kernels count to {}", i32::MAX);
                return Err(Error::input(operation, message));
            }
        }
        Ok(())
    }
}

/// Fails unless all devices have the instructions.
pub fn require_instructions(devices: &[Device], asked: Instructions) -> Result<()> {
    for device in devices {
        let (major, minor) = device.compute_capability();
        if asked.allowed((major, minor)).is_empty() {
            let reason = format!(
                "its compute capability {major}.{minor} lacks the instructions {asked:?}: take \
                 Instructions::Auto"
            );
            let device = device.to_string();
            return Err(Error::Unavailable { device, reason });
        }
    }
    Ok(())
}

impl<T, S: Copy, C> Product<'_, T, S, C> {
    pub fn sizes(&self) -> Sizes {
        let (batch, m, n) = self.c.dim();
        let (of_a, _, k) = self.a.dim();
        Sizes {
            batch,
            m,
            n,
            k,
            singles: [of_a, self.b.dim().0].map(|matrices| matrices == 1),
        }
    }

    pub fn reborrow(&mut self) -> Product<'_, T, S, C> {
        Product {
            a: self.a.view(),
            b: self.b.view(),
            c: self.c.view_mut(),
            ..*self
        }
    }
}

/// C = α·A·B + β·C of arrays in the memory of C's device.
pub struct DeviceProduct<'a, T: Element, S, C: Element> {
    /// The public operation, for errors.
    pub operation: &'static str,
    /// The handle on whose stream the work is ordered.
    pub device: &'a Device,
    pub alpha: S,
    pub a: DeviceMatrices<'a, T>,
    pub b: DeviceMatrices<'a, T>,
    pub beta: S,
    /// In row-major order, from element `start_of_c` on.
    pub c: &'a mut Buffer<C>,
    pub start_of_c: usize,
    pub sizes: Sizes,
}

impl<T: Element, S: Copy, C: Element> DeviceProduct<'_, T, S, C> {
    /// Copies the elements of A, B and C to the host.
    pub fn download(&self) -> Result<(Vec<T>, Vec<T>, Vec<C>)> {
        Ok((
            self.a.elements.to_vec()?,
            self.b.elements.to_vec()?,
            self.c.to_vec()?,
        ))
    }

    /// Returns the product of such copies.
    pub fn of_copies<'b>(&self, a: &'b [T], b: &'b [T], c: &'b mut [C]) -> Product<'b, T, S, C> {
        let Sizes { batch, m, n, .. } = self.sizes;
        Product {
            operation: self.operation,
            alpha: self.alpha,
            a: self.a.host_view(a),
            b: self.b.host_view(b),
            beta: self.beta,
            c: ArrayViewMut3::from_shape((batch, m, n), c).expect("the shape of C"),
        }
    }
}

/// The dimension of A, for products with a B of dimension `B`:
///
/// | A | B | A·B |
/// |---|---|---|
/// | [`Ix2`](type@Ix2), M×K | [`Ix2`](type@Ix2), K×N | [`Ix2`](type@Ix2), M×N |
/// | [`Ix2`](type@Ix2), M×K | [`Ix1`](type@Ix1), K | [`Ix1`](type@Ix1), M |
/// | [`Ix1`](type@Ix1), K | [`Ix2`](type@Ix2), K×N | [`Ix1`](type@Ix1), N |
/// | [`Ix3`](type@Ix3), B×M×K | [`Ix3`](type@Ix3), B×K×N | [`Ix3`](type@Ix3), B×M×N |
///
/// These are the products of ndarray's [`Dot`](ndarray::linalg::Dot), except the product of two
/// vectors, and the products of batches.
pub trait MatrixDimension<B: Dimension = Self>: Dimension + sealed::Sealed {
    /// The dimension of A·B.
    type Product: Dimension;
    /// The shape of A·B.
    #[doc(hidden)]
    fn product(sizes: Sizes) -> Self::Product;
}

macro_rules! products {
    ($($a:ident * $b:ident = $c:ident: |$sizes:ident| $shape:expr;)*) => {$(
        impl MatrixDimension<$b> for $a {
            type Product = $c;

            fn product($sizes: Sizes) -> $c {
                $shape
            }
        }
    )*};
}
products! {
    Ix2 * Ix2 = Ix2: |sizes| Ix2(sizes.m, sizes.n);
    Ix2 * Ix1 = Ix1: |sizes| Ix1(sizes.m);
    Ix1 * Ix2 = Ix1: |sizes| Ix1(sizes.n);
    Ix3 * Ix3 = Ix3: |sizes| Ix3(sizes.batch, sizes.m, sizes.n);
}

/// The matrix that a vector stands for.
#[derive(Clone, Copy)]
pub(super) enum Vector {
    Row,
    Column,
}

impl Vector {
    /// Returns the vector that a product with A or B is, if it is a vector: a row if A is one.
    pub(super) fn product<DA: Dimension>() -> Vector {
        match DA::NDIM {
            Some(1) => Vector::Row,
            _ => Vector::Column,
        }
    }

    /// Returns an array of up to three axes as a batch.
    pub(super) fn batch<S: RawData, D: Dimension>(
        self,
        array: ArrayBase<S, D>,
    ) -> ArrayBase<S, Ix3> {
        let mut array = array.into_dyn();
        if array.ndim() == 1 {
            array = array.insert_axis(Axis(self as usize));
        }
        if array.ndim() == 2 {
            array = array.insert_axis(Axis(0));
        }
        array.into_dimensionality().expect("three axes")
    }

    /// Returns a shape or strides of up to three axes as those of a batch; new axes get `new`.
    fn axes(self, axes: &[usize], new: usize) -> [usize; 3] {
        match (axes, self) {
            (&[axis], Vector::Row) => [new, new, axis],
            (&[axis], Vector::Column) => [new, axis, new],
            (&[rows, columns], _) => [new, rows, columns],
            _ => [axes[0], axes[1], axes[2]],
        }
    }

    /// Returns a view of an array in a device's memory as a batch.
    pub(super) fn device_batch<T: Element, D: Dimension>(
        self,
        view: DeviceView<T, D>,
    ) -> DeviceMatrices<T> {
        let (elements, start, shape, strides) = view.parts();
        DeviceMatrices {
            elements,
            start,
            shape: self.axes(shape.slice(), 1),
            strides: self.axes(strides.slice(), 0),
        }
    }
}

/// A batch of matrices in a device's memory.
pub struct DeviceMatrices<'a, T: Element> {
    pub(super) elements: &'a Buffer<T>,
    pub(super) start: usize,
    pub(super) shape: [usize; 3],
    pub(super) strides: [usize; 3],
}

impl<T: Element> DeviceMatrices<'_, T> {
    /// Returns a view of the matrices, given a copy of all elements of the buffer.
    fn host_view<'b>(&self, elements: &'b [T]) -> ArrayView3<'b, T> {
        if self.shape.contains(&0) {
            return ArrayView3::from_shape(self.shape, &[]).expect("no elements");
        }
        ArrayView3::from_shape(self.shape.strides(self.strides), &elements[self.start..])
            .expect("a view is within its array")
    }
}

/// Returns the sizes of a product of factors of these shapes, of up to three axes. A batch of one
/// matrix is combined with every matrix of the other batch.
pub(super) fn sizes(operation: &'static str, a: &[usize], b: &[usize]) -> Result<Sizes> {
    let fail = |what: &str| {
        let message = format!("A is {} and B is {}: {what}", text(a), text(b));
        Err(Error::Shape { operation, message })
    };
    let [batch_a, m, k] = Vector::Row.axes(a, 1);
    let [batch_b, k_of_b, n] = Vector::Column.axes(b, 1);
    if k != k_of_b {
        return fail(match (a, b) {
            ([_], _) => "A must have as many elements as B has rows",
            (_, [_]) => "A must have as many columns as B has elements",
            _ => "A must have as many columns as B has rows",
        });
    }
    let batch = match (batch_a, batch_b) {
        (of_a, of_b) if of_a == of_b => of_a,
        (1, batch) | (batch, 1) => batch,
        _ => return fail("A and B must have equally many matrices, or one of them a single one"),
    };
    Ok(Sizes {
        batch,
        m,
        n,
        k,
        singles: [batch_a, batch_b].map(|matrices| matrices == 1),
    })
}

/// Returns the number of elements of C. Fails if no array can have C's shape.
pub(super) fn result_elements(operation: &'static str, sizes: Sizes) -> Result<usize> {
    let Sizes { batch, m, n, .. } = sizes;
    if is_countable(&[batch, m, n]) {
        return Ok(batch * m * n);
    }
    let message = format!("the result, {batch}×{m}×{n}, has more elements than can be counted");
    Err(Error::Shape { operation, message })
}

/// Fails with [`Error::Shape`] if C does not have the shape of the product.
pub(super) fn require_product(
    operation: &'static str,
    product: &[usize],
    c: &[usize],
) -> Result<()> {
    if c == product {
        return Ok(());
    }
    let message = format!("the product is {}, but C is {}", text(product), text(c));
    Err(Error::Shape { operation, message })
}

/// `batch×m×n`, `m×n`, or `a vector of n`.
fn text(shape: &[usize]) -> String {
    match shape {
        [length] => format!("a vector of {length}"),
        _ => shape
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join("×"),
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for ndarray::Ix1 {}
    impl Sealed for ndarray::Ix2 {}
    impl Sealed for ndarray::Ix3 {}
}
