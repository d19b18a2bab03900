//! The factors and the result of a product: their shapes, and whether they fit.

use ndarray::{
    ArrayBase, ArrayView, ArrayView3, ArrayViewMut, ArrayViewMut3, Axis, Dimension, Ix1, Ix2, Ix3,
    RawData, ShapeBuilder,
};

use crate::device::{Buffer, DeviceView, Element};
use crate::{Device, Error, Result};

/// Sizes of a batch of products: C is batch × m × n, summed over k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Products.
    pub batch: usize,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
}

/// C = α·A·B + β·C of arrays of the host, as batches: a factor with a single matrix goes with every matrix of the other.
pub struct Product<'a, T, S> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub alpha: S,
    pub a: ArrayView3<'a, T>,
    pub b: ArrayView3<'a, T>,
    pub beta: S,
    pub c: ArrayViewMut3<'a, S>,
}

impl<T, S: Copy> Product<'_, T, S> {
    pub fn sizes(&self) -> Sizes {
        let (batch, m, n) = self.c.dim();
        let k = self.a.dim().2;
        Sizes { batch, m, n, k }
    }

    /// Borrows the same product.
    pub fn reborrow(&mut self) -> Product<'_, T, S> {
        Product {
            a: self.a.view(),
            b: self.b.view(),
            c: self.c.view_mut(),
            ..*self
        }
    }
}

/// C = α·A·B + β·C of arrays in the memory of C's device.
pub struct DeviceProduct<'a, T: Element, S: Element> {
    /// The public operation, for errors.
    pub operation: &'static str,
    /// The handle on whose stream the work is ordered.
    pub device: &'a Device,
    pub alpha: S,
    pub a: DeviceMatrices<'a, T>,
    pub b: DeviceMatrices<'a, T>,
    pub beta: S,
    /// In row-major order.
    pub c: &'a mut Buffer<S>,
    pub sizes: Sizes,
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
/// These are the products of ndarray's [`Dot`](ndarray::linalg::Dot), without that of two vectors, and those of batches.
pub trait MatrixDimension<B: Dimension = Self>: Dimension + sealed::Sealed {
    /// The dimension of A·B.
    type Product: Dimension;
    /// A and B as batches.
    #[doc(hidden)]
    fn batched<'a, 'b, T>(
        a: ArrayView<'a, T, Self>,
        b: ArrayView<'b, T, B>,
    ) -> (ArrayView3<'a, T>, ArrayView3<'b, T>);
    /// C as a batch.
    #[doc(hidden)]
    fn batched_product<T>(c: ArrayViewMut<'_, T, Self::Product>) -> ArrayViewMut3<'_, T>;
    /// A and B in a device's memory as batches.
    #[doc(hidden)]
    fn batched_on_device<'a, 'b, T: Element>(
        a: DeviceView<'a, T, Self>,
        b: DeviceView<'b, T, B>,
    ) -> (DeviceMatrices<'a, T>, DeviceMatrices<'b, T>);
    /// The shape of A·B.
    #[doc(hidden)]
    fn product(sizes: Sizes) -> Self::Product;
}

/// A batch of matrices in a device's memory.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceMatrices<'a, T: Element> {
    pub(super) elements: &'a Buffer<T>,
    pub(super) start: usize,
    pub(super) shape: [usize; 3],
    pub(super) strides: [usize; 3],
}

impl<'a, T: Element> DeviceMatrices<'a, T> {
    /// A view as a batch, with what makes three numbers of its shape and strides.
    fn new<D: Dimension>(
        view: DeviceView<'a, T, D>,
        as_batch: impl Fn(&D, usize) -> [usize; 3],
    ) -> Self {
        let (elements, start, shape, strides) = view.parts();
        DeviceMatrices {
            elements,
            start,
            shape: as_batch(&shape, 1),
            strides: as_batch(&strides, 0),
        }
    }

    /// Returns a view of the matrices among elements that have been copied to the host.
    pub(super) fn host_view<'b>(&self, elements: &'b [T]) -> ArrayView3<'b, T> {
        if self.shape.contains(&0) {
            return ArrayView3::from_shape(self.shape, &[]).expect("no elements");
        }
        ArrayView3::from_shape(self.shape.strides(self.strides), &elements[self.start..])
            .expect("a view is within its array")
    }
}

/// A dimension whose arrays stand for batches of matrices.
trait Batched: Dimension {
    /// As a batch, in which a vector is a row.
    fn of_rows<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3>;

    /// As a batch, in which a vector is a column.
    fn of_columns<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3>;

    /// A shape, or strides, as those of a batch in which a vector is a row; `one` is for axes of length 1.
    fn rows(&self, one: usize) -> [usize; 3];

    /// The same where a vector is a column.
    fn columns(&self, one: usize) -> [usize; 3];
}

impl Batched for Ix1 {
    fn of_rows<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3> {
        array.insert_axis(Axis(0)).insert_axis(Axis(0))
    }

    fn of_columns<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3> {
        array.insert_axis(Axis(1)).insert_axis(Axis(0))
    }

    fn rows(&self, one: usize) -> [usize; 3] {
        [one, one, self[0]]
    }

    fn columns(&self, one: usize) -> [usize; 3] {
        [one, self[0], one]
    }
}

impl Batched for Ix2 {
    fn of_rows<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3> {
        array.insert_axis(Axis(0))
    }

    fn of_columns<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3> {
        array.insert_axis(Axis(0))
    }

    fn rows(&self, one: usize) -> [usize; 3] {
        [one, self[0], self[1]]
    }

    fn columns(&self, one: usize) -> [usize; 3] {
        self.rows(one)
    }
}

impl Batched for Ix3 {
    fn of_rows<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3> {
        array
    }

    fn of_columns<S: RawData>(array: ArrayBase<S, Self>) -> ArrayBase<S, Ix3> {
        array
    }

    fn rows(&self, _: usize) -> [usize; 3] {
        [self[0], self[1], self[2]]
    }

    fn columns(&self, one: usize) -> [usize; 3] {
        self.rows(one)
    }
}

macro_rules! products {
    ($($a:ident * $b:ident = $c:ident by $c_as_batch:ident: |$sizes:ident| $shape:expr;)*) => {$(
        impl MatrixDimension<$b> for $a {
            type Product = $c;

            fn batched<'a, 'b, T>(
                a: ArrayView<'a, T, Self>,
                b: ArrayView<'b, T, $b>,
            ) -> (ArrayView3<'a, T>, ArrayView3<'b, T>) {
                (Self::of_rows(a), $b::of_columns(b))
            }

            fn batched_product<T>(c: ArrayViewMut<'_, T, $c>) -> ArrayViewMut3<'_, T> {
                $c::$c_as_batch(c)
            }

            fn batched_on_device<'a, 'b, T: Element>(
                a: DeviceView<'a, T, Self>,
                b: DeviceView<'b, T, $b>,
            ) -> (DeviceMatrices<'a, T>, DeviceMatrices<'b, T>) {
                (DeviceMatrices::new(a, Self::rows), DeviceMatrices::new(b, $b::columns))
            }

            fn product($sizes: Sizes) -> $c {
                $shape
            }
        }
    )*};
}
products! {
    Ix2 * Ix2 = Ix2 by of_rows: |sizes| Ix2(sizes.m, sizes.n);
    Ix2 * Ix1 = Ix1 by of_columns: |sizes| Ix1(sizes.m);
    Ix1 * Ix2 = Ix1 by of_rows: |sizes| Ix1(sizes.n);
    Ix3 * Ix3 = Ix3 by of_rows: |sizes| Ix3(sizes.batch, sizes.m, sizes.n);
}

/// The sizes of a product of factors of these shapes, of up to three axes. A batch of 1 goes with every matrix of the
/// other batch.
///
/// # Errors
/// [`Error::Shape`] if they do not fit.
pub(super) fn sizes(operation: &'static str, a: &[usize], b: &[usize]) -> Result<Sizes> {
    let fail = |what: &str| {
        Err(Error::Shape {
            operation,
            message: format!("A is {} and B is {}: {what}", text(a), text(b)),
        })
    };
    let (batch_a, m, k) = match *a {
        [k] => (1, 1, k),
        [m, k] => (1, m, k),
        _ => (a[0], a[1], a[2]),
    };
    let (batch_b, k_of_b, n) = match *b {
        [k] => (1, k, 1),
        [k, n] => (1, k, n),
        _ => (b[0], b[1], b[2]),
    };
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
    Ok(Sizes { batch, m, n, k })
}

/// Returns the number of elements of C.
///
/// # Errors
/// [`Error::Shape`] if no array can have that shape: ndarray counts the product of the axes that are not empty.
pub(super) fn result_elements(operation: &'static str, sizes: Sizes) -> Result<usize> {
    let Sizes { batch, m, n, .. } = sizes;
    let axes = [batch, m, n];
    let product = (axes.into_iter().filter(|&axis| axis > 0))
        .try_fold(1usize, |product, axis| product.checked_mul(axis));
    if product.is_some_and(|product| product <= isize::MAX as usize) {
        return Ok(batch * m * n);
    }
    Err(Error::Shape {
        operation,
        message: format!("the result, {batch}×{m}×{n}, has more elements than can be counted"),
    })
}

/// Whether C has the shape of the product.
///
/// # Errors
/// [`Error::Shape`] if it has not.
pub(super) fn require_product(
    operation: &'static str,
    product: &[usize],
    c: &[usize],
) -> Result<()> {
    if c == product {
        return Ok(());
    }
    Err(Error::Shape {
        operation,
        message: format!("the product is {}, but C is {}", text(product), text(c)),
    })
}

/// `m×n`, behind the number of matrices of a batch, or `a vector of n`.
fn text(shape: &[usize]) -> String {
    match shape {
        [length] => format!("a vector of {length}"),
        _ => {
            let lengths: Vec<_> = shape.iter().map(usize::to_string).collect();
            lengths.join("×")
        }
    }
}

mod sealed {
    /// Keeps the trait to these dimensions.
    pub trait Sealed {}
    impl Sealed for ndarray::Ix1 {}
    impl Sealed for ndarray::Ix2 {}
    impl Sealed for ndarray::Ix3 {}
}
