//! Products of arrays in a device's memory.

use gridstride_runtime::device::{DeviceArray, DeviceView};
use gridstride_runtime::error::During;
use gridstride_runtime::{Number, Result};
use ndarray::Dimension;
use num_traits::{one, zero};

use crate::element::{Dispatch, ResultIn, Scalar};
use crate::input::{
    DeviceProduct, MatrixDimension, Vector, require_product, result_elements, sizes,
};
use crate::options::MatMul;

impl MatMul {
    /// As [`matmul`](Self::matmul), but of arrays in a device's memory, or views of them, which are
    /// read in place. The result stays there.
    ///
    /// The work is ordered on the stream of A's handle, by default the device's main stream, and
    /// may still run when the call returns. On the CPU the matrices are copied once.
    ///
    /// # Errors
    /// The errors of [`matmul`](Self::matmul), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices).
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
        self.device_product("matmul_device", a.into(), b.into())
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
        if c.is_empty() {
            return Ok(());
        }
        let device = a.device().clone();
        let _ordered = device.ordered_with(&[b.device(), c.device()])?;
        let product = DeviceProduct {
            device: &device,
            operation,
            alpha,
            a: Vector::Row.device_batch(a),
            b: Vector::Column.device_batch(b),
            beta,
            c: c.inner_mut(),
            start_of_c: 0,
            sizes,
        };
        <T as Dispatch<C>>::device(*self, product).during(operation)
    }
}
