//! The calls: products of host arrays, and of arrays in a device's memory.

use ndarray::{Array, ArrayView, ArrayViewMut, Dimension};
use num_traits::{one, zero};

use super::element::{Dispatch, ResultIn, Scalar};
use super::input::{
    DeviceProduct, MatrixDimension, Product, Vector, require_product, result_elements, sizes,
};
use super::options::{MatMul, Precision};
use crate::device::{DeviceArray, DeviceView, zeroed};
use crate::error::During;
use crate::{DeviceSet, Number, Real, Result};

const MATMUL: &str = "matmul";
const MATMUL_DEVICE: &str = "matmul_device";

/// Multiplies A by B with the default options, as [`MatMul::matmul`]: M×K · K×N → M×N, M×K · K → M,
/// K · K×N → N, or for each matrix of a batch B×M×K · B×K×N → B×M×N.
///
/// ```
/// use gridstride::{Device, matmul::matmul};
/// use ndarray::array;
///
/// let a = array![[1.0f32, 2.0]];
/// assert_eq!(matmul(&Device::auto(), a.view(), a.t())?, array![[5.0]]);
/// assert_eq!(matmul(&Device::auto(), a.view(), a.row(0))?, array![5.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn matmul<T: Scalar, DA: MatrixDimension<DB>, DB: Dimension>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView<T, DA>,
    b: ArrayView<T, DB>,
) -> Result<Array<T::Sum, DA::Product>> {
    MatMul::new().matmul(devices, a, b)
}

/// Computes C = α·A·B + β·C with the default options, as [`MatMul::gemm`].
///
/// ```
/// use gridstride::{Device, matmul::gemm};
/// use ndarray::array;
///
/// let (a, b) = (array![[1.0, 2.0]], array![[3.0], [4.0]]);
/// let mut c = array![[1.0]];
/// gemm(&Device::auto(), 10.0, a.view(), b.view(), 1.0, c.view_mut())?;
/// assert_eq!(c, array![[111.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn gemm<T: Scalar + ResultIn<C>, C: Number, DA: MatrixDimension<DB>, DB: Dimension>(
    devices: &(impl DeviceSet + ?Sized),
    alpha: T::Sum,
    a: ArrayView<T, DA>,
    b: ArrayView<T, DB>,
    beta: T::Sum,
    c: ArrayViewMut<C, DA::Product>,
) -> Result<()> {
    MatMul::new().gemm(devices, alpha, a, b, beta, c)
}

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
    /// - [`Error::Shape`](crate::Error::Shape) if A's columns and B's rows, or the batches, differ.
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for a size above 2³¹ − 1 in kernels,
    ///   and for a set of no devices.
    /// - [`Error::Unavailable`](crate::Error::Unavailable) if the device lacks the instructions.
    /// - [`Error::Allocation`](crate::Error::Allocation) if the memory does not suffice.
    /// - On GPUs, [`Error::Driver`](crate::Error::Driver) if the driver fails and
    ///   [`Error::Load`](crate::Error::Load) if it rejects the kernels; in the simulator,
    ///   [`Error::Simulation`](crate::Error::Simulation) for a mistake in them.
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
        self.product(MATMUL, devices, a, b)
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
    ///
    /// # Errors
    /// The errors of [`matmul`](Self::matmul), and [`Error::Shape`](crate::Error::Shape) if C does
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
    /// All views may have any strides. Memory between the elements of C is not written.
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

    /// As [`matmul`](Self::matmul), but of arrays in a device's memory, or views of them, which are
    /// read in place. The result stays there.
    ///
    /// The work is ordered on the stream of A's handle, by default the device's main stream, and
    /// may still run when the call returns. On the CPU the matrices are copied once.
    ///
    /// # Errors
    /// The errors of [`matmul`](Self::matmul), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices).
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0f32, 2.0], [3.0, 4.0]])?;
    /// let v = device.upload(&array![1.0f32, 10.0])?;
    /// let c = MatMul::new().matmul_device(&a, a.view().t())?;
    /// assert_eq!(c.download()?, array![[5.0, 11.0], [11.0, 25.0]]);
    /// assert_eq!(MatMul::new().matmul_device(&a, &v)?.download()?, array![21.0, 43.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul_device<'a, 'b, T: Scalar, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        a: impl Into<DeviceView<'a, T, DA>>,
        b: impl Into<DeviceView<'b, T, DB>>,
    ) -> Result<DeviceArray<T::Sum, DA::Product>> {
        self.device_product(MATMUL_DEVICE, a.into(), b.into())
    }

    /// As [`matmul_device`](Self::matmul_device), with elements of C of the type `C`, as
    /// [`matmul_as`](Self::matmul_as).
    ///
    /// # Errors
    /// The errors of [`matmul_device`](Self::matmul_device).
    ///
    /// ```
    /// use gridstride::{Device, half::f16, matmul::MatMul};
    /// use ndarray::array;
    ///
    /// let a = Device::auto().upload(&array![[1.0f32, 2.0], [3.0, 4.0]].mapv(f16::from_f32))?;
    /// let square = MatMul::new().matmul_device_as::<f16, _, _, _>(&a, &a)?;
    /// let cube = MatMul::new().matmul_device(&square, &a)?;
    /// assert_eq!(cube.download()?, array![[37.0, 54.0], [81.0, 118.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul_device_as<
        'a,
        'b,
        C: Number,
        T: Scalar + ResultIn<C>,
        DA: MatrixDimension<DB>,
        DB: Dimension,
    >(
        &self,
        a: impl Into<DeviceView<'a, T, DA>>,
        b: impl Into<DeviceView<'b, T, DB>>,
    ) -> Result<DeviceArray<C, DA::Product>> {
        self.device_product("matmul_device_as", a.into(), b.into())
    }

    fn device_product<
        C: Number,
        T: Scalar + ResultIn<C>,
        DA: MatrixDimension<DB>,
        DB: Dimension,
    >(
        &self,
        operation: &'static str,
        a: DeviceView<T, DA>,
        b: DeviceView<T, DB>,
    ) -> Result<DeviceArray<C, DA::Product>> {
        a.device().require_same(b.device(), operation)?;
        let sizes = sizes(operation, a.shape(), b.shape())?;
        let elements = result_elements(operation, sizes)?;
        let buffer = a.device().alloc(elements).during(operation)?;
        let mut c = DeviceArray::from_buffer(buffer, DA::product(sizes))?;
        self.device(operation, (one(), zero()), a, b, &mut c)?;
        Ok(c)
    }

    /// As [`matmul_device`](Self::matmul_device), but writes the product to C.
    ///
    /// # Errors
    /// The errors of [`matmul_device`](Self::matmul_device) and [`matmul_into`](Self::matmul_into).
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0, 2.0], [3.0, 4.0]])?;
    /// let mut c = device.upload(&array![[f64::NAN, 0.0], [0.0, 0.0]])?;
    /// MatMul::new().matmul_device_into(&a, &a, &mut c)?;
    /// assert_eq!(c.download()?, array![[7.0, 10.0], [15.0, 22.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul_device_into<
        'a,
        'b,
        T: Scalar + ResultIn<C>,
        C: Number,
        DA: MatrixDimension<DB>,
        DB: Dimension,
    >(
        &self,
        a: impl Into<DeviceView<'a, T, DA>>,
        b: impl Into<DeviceView<'b, T, DB>>,
        c: &mut DeviceArray<C, DA::Product>,
    ) -> Result<()> {
        self.device("matmul_device_into", (one(), zero()), a.into(), b.into(), c)
    }

    /// As [`gemm`](Self::gemm), but of arrays in a device's memory, and ordered like
    /// [`matmul_device`](Self::matmul_device). On the CPU all three matrices are copied once.
    ///
    /// # Errors
    /// The errors of [`matmul_device_into`](Self::matmul_device_into).
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0, 2.0], [3.0, 4.0]])?;
    /// let mut c = device.upload(&array![[1.0, 0.0], [0.0, 1.0]])?;
    /// MatMul::new().gemm_device(0.5, &a, &a, 1.0, &mut c)?;
    /// assert_eq!(c.download()?, array![[4.5, 5.0], [7.5, 12.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn gemm_device<
        'a,
        'b,
        T: Scalar + ResultIn<C>,
        C: Number,
        DA: MatrixDimension<DB>,
        DB: Dimension,
    >(
        &self,
        alpha: T::Sum,
        a: impl Into<DeviceView<'a, T, DA>>,
        b: impl Into<DeviceView<'b, T, DB>>,
        beta: T::Sum,
        c: &mut DeviceArray<C, DA::Product>,
    ) -> Result<()> {
        self.device("gemm_device", (alpha, beta), a.into(), b.into(), c)
    }

    fn device<T: Scalar + ResultIn<C>, C: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        operation: &'static str,
        (alpha, beta): (T::Sum, T::Sum),
        a: DeviceView<T, DA>,
        b: DeviceView<T, DB>,
        c: &mut DeviceArray<C, DA::Product>,
    ) -> Result<()> {
        a.device().require_same(b.device(), operation)?;
        a.device().require_same(c.device(), operation)?;
        let sizes = sizes(operation, a.shape(), b.shape())?;
        require_product(operation, DA::product(sizes).slice(), c.shape())?;
        let device = a.device().clone();
        let _ordered = device.ordered_with(&[b.device(), c.device()])?;
        let product = DeviceProduct {
            device: &device,
            operation,
            alpha,
            a: Vector::Row.device_batch(a),
            b: Vector::Column.device_batch(b),
            beta,
            c: c.buffer_mut(),
            sizes,
        };
        <T as Dispatch<C>>::device(*self, product).during(operation)
    }

    /// Returns the factor f for which |C − (α·A·B + β·C₀)| ≤ f·(|α|·|A|·|B| + |β|·|C₀|) for each
    /// element, on every device, unless numbers overflow or underflow.
    ///
    /// Whatever the order of additions, each product takes part in at most k roundings, one more
    /// for α and one for β: f is γ_{k+2}, with γ_n = n·u / (1 − n·u) (Higham, 'Accuracy and
    /// Stability of Numerical Algorithms', section 3.5). u is 2⁻⁵³ for `f64`, 2⁻²⁴ for `f32`, and
    /// 2⁻²³ if tensor cores sum in `f32`: an instruction shifts its products and the previous sum
    /// to the largest exponent among them and truncates to the 24 bits of `f32` and at least one
    /// more, as measured for all generations (Fasi et al., 'Numerical behavior of NVIDIA tensor
    /// cores', 2021). The error is 2⁻²⁴ for each product, and 2⁻²⁴ for each of fewer than k sums.
    /// [`Precision::Tf32`] first truncates A and B, with relative errors of at most 2⁻¹⁰. A C of
    /// `f16` or `bf16` is rounded once more, with a relative error of at most u = 2⁻¹¹ or 2⁻⁸: its
    /// factor is (1 + f)·(1 + u) − 1.
    ///
    /// ```
    /// use gridstride::matmul::MatMul;
    ///
    /// assert!(MatMul::new().error_factor::<f64>(1000) < 1.2e-13);
    /// ```
    pub fn error_factor<T: Scalar>(&self, k: usize) -> f64 {
        let is_tf32 = size_of::<T>() == size_of::<f32>() && self.precision == Precision::Tf32;
        let uses_tensor_cores = is_tf32 || size_of::<T>() < size_of::<f32>();
        let u = T::Sum::UNIT_ROUNDOFF * if uses_tensor_cores { 2.0 } else { 1.0 };
        let roundings = (k as f64 + 2.0) * u;
        if roundings >= 1.0 {
            return f64::INFINITY;
        }
        let sums = roundings / (1.0 - roundings);
        let cut = if is_tf32 { 2f64.powi(-10) } else { 0.0 };
        (1.0 + cut).powi(2) * (1.0 + sums) - 1.0
    }
}
