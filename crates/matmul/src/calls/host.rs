//! Products of host arrays.

use gridstride_runtime::device::zeroed;
use gridstride_runtime::error::During;
use gridstride_runtime::partition::require_devices;
use gridstride_runtime::{DeviceSet, Number, Result};
use ndarray::{Array, ArrayView, ArrayViewMut, Dimension};
use num_traits::{one, zero};

use crate::element::{Dispatch, ResultIn, Scalar};
use crate::input::{MatrixDimension, Product, Vector, require_product, result_elements, sizes};
use crate::options::MatMul;

impl MatMul {
    /// Multiplies A by B: M×K · K×N → M×N, or for each matrix of a batch B×M×K · B×K×N → B×M×N.
    ///
    /// A vector is a row if it is A, K · K×N → N, and a column if it is B, M×K · K → M, as with
    /// ndarray's [`dot`](ndarray::linalg::Dot).
    ///
    /// A batch of one matrix is combined with every matrix of the other batch. Views may have any
    /// strides. Views without gaps, in any order of axes, are copied to a GPU as they are; other
    /// views are packed on the host first.
    ///
    /// # Errors
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if A's columns and B's rows, or the batches, differ.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for a size above 2³¹ − 1 in kernels,
    ///   and for a set of no devices.
    /// - [`Error::Unavailable`](gridstride_runtime::Error::Unavailable) if the device lacks the instructions.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the memory does not suffice.
    /// - On GPUs, [`Error::Driver`](gridstride_runtime::Error::Driver) if the driver fails and
    ///   [`Error::Load`](gridstride_runtime::Error::Load) if it rejects the kernels; in the simulator,
    ///   [`Error::Simulation`](gridstride_runtime::Error::Simulation) for a mistake in them.
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use ndarray::{Array3, array};
    ///
    /// let batch = Array3::from_shape_fn((4, 2, 2), |(matrix, _, _)| matrix as f64);
    /// let c = MatMul::new().matmul(&Device::auto(), batch.view(), batch.view())?;
    /// assert_eq!(c.index_axis(ndarray::Axis(0), 3), array![[18.0, 18.0], [18.0, 18.0]]);
    ///
    /// let (a, v) = (array![[1.0, 2.0], [3.0, 4.0]], array![1.0, 10.0]);
    /// assert_eq!(MatMul::new().matmul(&Device::auto(), v.view(), a.view())?, array![31.0, 42.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul<T: Scalar, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
    ) -> Result<Array<T::Sum, DA::Product>> {
        self.product("matmul", devices, a, b)
    }

    /// As [`matmul`](Self::matmul), with elements of C of the type `C`: the type of the sums, or for
    /// `f16` and `bf16` also the type of A and B. Then the sums, in `f32`, are rounded at the end to
    /// the nearest number, ties to even. NaN stays NaN, with other bits.
    ///
    /// The calls that write to an existing C take either type too. C of 16 bits is as fast as can be
    /// on compute capability 9.0; elsewhere the product takes memory for the sums.
    ///
    /// # Errors
    /// The errors of [`matmul`](Self::matmul).
    ///
    /// ```
    /// use gridstride::{Device, half::bf16, matmul::MatMul};
    /// use ndarray::array;
    ///
    /// let a = array![[1.0f32, 2.0], [3.0, 0.5]].mapv(bf16::from_f32);
    /// let square = MatMul::new().matmul_as::<bf16, _, _, _>(&Device::auto(), a.view(), a.view())?;
    /// assert_eq!(square.mapv(bf16::to_f32), array![[7.0, 3.0], [4.5, 6.25]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul_as<C: Number, T: Scalar + ResultIn<C>, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
    ) -> Result<Array<C, DA::Product>> {
        self.product("matmul_as", devices, a, b)
    }

    fn product<C: Number, T: Scalar + ResultIn<C>, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
    ) -> Result<Array<C, DA::Product>> {
        let sizes = sizes(operation, a.shape(), b.shape())?;
        let elements = zeroed(result_elements(operation, sizes)?).during(operation)?;
        let c = Array::from_shape_vec(DA::product(sizes), elements);
        let mut c = c.expect("as many elements as the shape has");
        self.host(operation, devices, (one(), zero()), a, b, c.view_mut())?;
        Ok(c)
    }

    /// As [`matmul`](Self::matmul), but writes to C, a view with any strides, and does not read C.
    /// The content of C is unspecified after an error.
    ///
    /// From 32 MiB on, a GPU copies A and C in panels of rows while it multiplies others, if all
    /// matrices are [page-locked](gridstride_runtime::Device::pinned) and without gaps, and C is in row-major
    /// order. This does not change the result.
    ///
    /// # Errors
    /// The errors of [`matmul`](Self::matmul), and [`Error::Shape`](gridstride_runtime::Error::Shape) if C does
    /// not have the shape of the product.
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use ndarray::{Array2, array, s};
    ///
    /// let (a, mut c) = (array![[1.0, 2.0], [3.0, 4.0]], Array2::zeros((4, 2)));
    /// MatMul::new().matmul_into(&Device::auto(), a.view(), a.view(), c.slice_mut(s![..;2, ..]))?;
    /// assert_eq!(c, array![[7.0, 10.0], [0.0, 0.0], [15.0, 22.0], [0.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul_into<
        T: Scalar + ResultIn<C>,
        C: Number,
        DA: MatrixDimension<DB>,
        DB: Dimension,
    >(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
        c: ArrayViewMut<C, DA::Product>,
    ) -> Result<()> {
        self.host("matmul_into", devices, (one(), zero()), a, b, c)
    }

    /// Computes C = α·A·B + β·C for the shapes of [`matmul`](Self::matmul).
    ///
    /// All views may have any strides. Memory between the elements of C is not written. The content
    /// of C is unspecified after an error. Page-locked matrices are copied as in
    /// [`matmul_into`](Self::matmul_into).
    ///
    /// # Errors
    /// The errors of [`matmul_into`](Self::matmul_into).
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use ndarray::array;
    ///
    /// let (a, x, mut y) = (array![[1.0, 2.0], [3.0, 4.0]], array![1.0, 10.0], array![100.0, 200.0]);
    /// MatMul::new().gemm(&Device::auto(), 1.0, a.view(), x.view(), 0.5, y.view_mut())?;
    /// assert_eq!(y, array![71.0, 143.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn gemm<T: Scalar + ResultIn<C>, C: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        alpha: T::Sum,
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
        beta: T::Sum,
        c: ArrayViewMut<C, DA::Product>,
    ) -> Result<()> {
        self.host("gemm", devices, (alpha, beta), a, b, c)
    }

    fn host<T: Scalar + ResultIn<C>, C: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        (alpha, beta): (T::Sum, T::Sum),
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
        c: ArrayViewMut<C, DA::Product>,
    ) -> Result<()> {
        let sizes = sizes(operation, a.shape(), b.shape())?;
        require_product(operation, DA::product(sizes).slice(), c.shape())?;
        require_devices(devices.devices(), operation)?;
        if c.is_empty() {
            return Ok(());
        }
        let product = Product {
            operation,
            alpha,
            a: Vector::Row.batch(a),
            b: Vector::Column.batch(b),
            beta,
            c: Vector::product::<DA>().batch(c),
        };
        <T as Dispatch<C>>::host(*self, devices.devices(), product).during(operation)
    }
}
