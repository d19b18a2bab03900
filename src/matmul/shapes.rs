//! The shapes of products.

use ndarray::{
    ArrayView, ArrayView3, ArrayViewMut, ArrayViewMut3, Axis, Dimension, Ix2, Ix3, ShapeBuilder,
};

use crate::device::{DeviceView, Element};
use crate::{Error, Result};

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

/// The dimension of a matrix, or of a batch of them: [`Ix2`](type@Ix2) or [`Ix3`](type@Ix3), whose first axis then is
/// the batch.
pub trait MatrixDimension: Dimension + sealed::Sealed {
    /// As a batch.
    #[doc(hidden)]
    fn batched<T>(view: ArrayView<'_, T, Self>) -> ArrayView3<'_, T>;
    /// As a batch.
    #[doc(hidden)]
    fn batched_mut<T>(view: ArrayViewMut<'_, T, Self>) -> ArrayViewMut3<'_, T>;
    /// Where the first element is, and shape and strides as a batch.
    #[doc(hidden)]
    fn of_device<'a, T: Element>(view: DeviceView<'a, T, Self>) -> DeviceMatrices<'a, T>;
    /// The shape of a result.
    #[doc(hidden)]
    fn result(sizes: Sizes) -> Self;
}

/// A batch of matrices in a device's memory.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceMatrices<'a, T: Element> {
    pub(super) elements: &'a crate::device::Buffer<T>,
    pub(super) start: usize,
    pub(super) shape: [usize; 3],
    pub(super) strides: [usize; 3],
}

impl<T: Element> DeviceMatrices<'_, T> {
    /// The matrices among elements that have been copied to the host.
    pub(super) fn on_host<'a>(&self, elements: &'a [T]) -> ArrayView3<'a, T> {
        if self.shape.contains(&0) {
            return ArrayView3::from_shape(self.shape, &[]).expect("no elements");
        }
        ArrayView3::from_shape(self.shape.strides(self.strides), &elements[self.start..])
            .expect("a view is within its array")
    }
}

impl MatrixDimension for Ix2 {
    fn batched<T>(view: ArrayView<'_, T, Self>) -> ArrayView3<'_, T> {
        view.insert_axis(Axis(0))
    }

    fn batched_mut<T>(view: ArrayViewMut<'_, T, Self>) -> ArrayViewMut3<'_, T> {
        view.insert_axis(Axis(0))
    }

    fn of_device<'a, T: Element>(view: DeviceView<'a, T, Self>) -> DeviceMatrices<'a, T> {
        let (elements, start, shape, strides) = view.parts();
        DeviceMatrices {
            elements,
            start,
            shape: [1, shape[0], shape[1]],
            strides: [0, strides[0], strides[1]],
        }
    }

    fn result(sizes: Sizes) -> Self {
        Ix2(sizes.m, sizes.n)
    }
}

impl MatrixDimension for Ix3 {
    fn batched<T>(view: ArrayView<'_, T, Self>) -> ArrayView3<'_, T> {
        view
    }

    fn batched_mut<T>(view: ArrayViewMut<'_, T, Self>) -> ArrayViewMut3<'_, T> {
        view
    }

    fn of_device<'a, T: Element>(view: DeviceView<'a, T, Self>) -> DeviceMatrices<'a, T> {
        let (elements, start, shape, strides) = view.parts();
        DeviceMatrices {
            elements,
            start,
            shape: [shape[0], shape[1], shape[2]],
            strides: [strides[0], strides[1], strides[2]],
        }
    }

    fn result(sizes: Sizes) -> Self {
        Ix3(sizes.batch, sizes.m, sizes.n)
    }
}

/// The sizes of a product of matrices of these shapes, a batch of 1 going with every matrix of the other.
///
/// # Errors
/// [`Error::Shape`] if they do not fit.
pub(super) fn sizes(operation: &'static str, a: [usize; 3], b: [usize; 3]) -> Result<Sizes> {
    let fail = |what: &str| {
        Err(Error::Shape {
            operation,
            message: format!("{what}: A is {}, B is {}", text(a), text(b)),
        })
    };
    if a[2] != b[1] {
        return fail("the columns of A are not as many as the rows of B");
    }
    let batch = match (a[0], b[0]) {
        (of_a, of_b) if of_a == of_b => of_a,
        (1, batch) | (batch, 1) => batch,
        _ => return fail("A and B are of different numbers of matrices"),
    };
    Ok(Sizes {
        batch,
        m: a[1],
        n: b[2],
        k: a[2],
    })
}

/// Whether C has the shape of the result.
///
/// # Errors
/// [`Error::Shape`] if it has not.
pub(super) fn require_result(operation: &'static str, sizes: Sizes, c: [usize; 3]) -> Result<()> {
    let expected = [sizes.batch, sizes.m, sizes.n];
    if c == expected {
        return Ok(());
    }
    Err(Error::Shape {
        operation,
        message: format!("the product is {}, but C is {}", text(expected), text(c)),
    })
}

/// `m×n`, behind the number of matrices if there are several.
fn text([batch, rows, columns]: [usize; 3]) -> String {
    match batch {
        1 => format!("{rows}×{columns}"),
        _ => format!("{batch}×{rows}×{columns}"),
    }
}

mod sealed {
    /// Keeps the trait to the two dimensions.
    pub trait Sealed {}
    impl Sealed for ndarray::Ix2 {}
    impl Sealed for ndarray::Ix3 {}
}
