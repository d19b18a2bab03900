//! Matrix multiplication: C = α·A·B + β·C of `f32`, `f64`, `f16` and `bf16`, of two matrices, a matrix and a vector, or
//! batches of matrices.
//!
//! Matrices and vectors are ndarray views with any strides (transposed, cut out of larger ones, reversed), or arrays and
//! views in a device's memory, which are read where they are. A and B of `f16` or `bf16` give a C of `f32`:
//! products are exact, unless they overflow or underflow, and are summed up in `f32`. [`DeviceArray::cast`] converts C to
//! the type of the next product's factors, on the device.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::matmul::matmul;
//! use ndarray::array;
//!
//! let a = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
//! let c = matmul(&Device::auto(), a.view(), a.t())?;
//! assert_eq!(c, array![[5.0, 11.0, 17.0], [11.0, 25.0, 39.0], [17.0, 39.0, 61.0]]);
//!
//! let v = array![1.0, -1.0];
//! assert_eq!(matmul(&Device::auto(), a.view(), v.view())?, array![-1.0, -1.0, -1.0]);
//! assert_eq!(matmul(&Device::auto(), v.view(), a.t())?, array![-1.0, -1.0, -1.0]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # As BLAS has it
//! If β is 0, C is not read: NaN in it does not matter. If α is 0 or k is 0, A and B are not read, and C becomes
//! β·C. Otherwise NaN and infinities in A and B go into C by the rules of IEEE 754; zeros are not skipped. Any
//! size may be 0.
//!
//! # Precision
//! `f32` is multiplied as `f32`, on tensor cores only if [`Precision::Tf32`] is asked for. `f64` is `f64` on
//! tensor cores too. How far a result can be from the exact one is what [`MatMul::error_factor`] says.
//!
//! # Determinism
//! The same call gives the same bits on the same device. Other devices, other sizes of a batch, other strides, or views
//! that start at other places may add in another order. (The simulator takes its number of processors from the threads
//! of the CPU.) Products of arrays on the host that are computed in parts, over several devices of a kind or within
//! little memory, are by the kernel for the whole, and have its bits if rows are cut (M ≥ N) and A and B are in row-major
//! order without gaps. Otherwise, and on the CPU, parts may be read in another way, and added in another order.
//!
//! # Memory
//! A product of arrays on the host that is larger than the memory of the device, or its
//! [limit](crate::Device::with_memory_limit), is cut into parts of C's matrices, rows or columns, whichever are more; k is not
//! cut.
//!
//! On GPUs a call may need memory besides A, B and C: for a copy of A or B that no kernel reads as it is (other strides
//! than those with rows or columns that are neighbours at multiples of 16 bytes; B in tf32 by rows), and up to 1 GiB for
//! parts of k.
//!
//! # How it works
//! Blocks of threads have tiles of C and bring tiles of A and B to shared memory by asynchronous copies, some steps
//! of k ahead of those that are multiplied; see `kernels-gpu/matmul`. The scheme of tiles in shared memory and
//! registers is that of CUTLASS (Thakkar et al., NVIDIA). If there are few tiles, k is cut into parts, which
//! are added in their order. On the CPU it is the crate `gemm`'s kernels.

mod cast;
mod cpu;
mod gpu;
mod number;
mod parts;
pub mod reference;
mod shapes;

use ndarray::{Array, ArrayView, ArrayViewMut, ArrayViewMut3, Dimension};

use crate::device::{DeviceArray, DeviceView, zeroed};
use crate::error::During;
use crate::{DeviceSet, Error, Result};
pub use cast::CastTo;
pub use number::{Number, Sum};
pub use shapes::MatrixDimension;
use shapes::{DeviceMatrices, Sizes, require_product, sizes};

const MATMUL: &str = "matmul";
const GEMM: &str = "gemm";

/// How exact products of `f32` are. Other types have one precision alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Products and sums in the type of C.
    #[default]
    Full,
    /// The upper 19 bits of each `f32` of A and B, 10 of them behind the binary point, and sums in `f32`: on tensor
    /// cores, from compute capability 8.0 on, several times as fast. Elsewhere, and with [`Instructions::Fma`], this is
    /// the same as `Full`. (A NaN that has nothing but zeros in its upper bits becomes infinite.)
    Tf32,
}

/// Which instructions multiply on a GPU; the CPU has no choice.
///
/// A type that has no kernels of those takes the next simpler ones: `f64` has none of warp groups, `f32` in
/// [`Precision::Full`] fused multiply-adds alone. `f32` and `f64` with at most 16 rows or columns of C are always
/// multiplied by those, at the speed of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// The fastest that the device has.
    #[default]
    Auto,
    /// Fused multiply-adds: on every device.
    Fma,
    /// Matrix instructions of warps, where there are such for the type: from compute capability 8.0 on.
    Warp,
    /// Matrix instructions of warp groups, where there are such for the type: on compute capability 9.0.
    WarpGroup,
}

/// A multiplication with settings of one's own; [`matmul()`] and [`gemm`] are ones with the defaults.
///
/// ```
/// use gridstride::Device;
/// use gridstride::matmul::{MatMul, Precision};
/// use ndarray::array;
///
/// let a = array![[1.5f32, 2.0], [3.0, 4.0]];
/// let c = MatMul::new().precision(Precision::Tf32).matmul(&Device::auto(), a.view(), a.view())?;
/// assert_eq!(c, array![[8.25, 11.0], [16.5, 22.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MatMul {
    precision: Precision,
    instructions: Instructions,
}

/// A·B: M×K · K×N → M×N, M×K · K → M, K · K×N → N, or for each matrix of a batch B×M×K · B×K×N → B×M×N.
///
/// # Errors
/// Those of [`MatMul::matmul`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::matmul::matmul;
/// use ndarray::array;
///
/// let a = array![[1.0f32, 2.0]];
/// assert_eq!(matmul(&Device::auto(), a.view(), a.t())?, array![[5.0]]);
/// assert_eq!(matmul(&Device::auto(), a.view(), a.row(0))?, array![5.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn matmul<T: Number, DA: MatrixDimension<DB>, DB: Dimension>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView<T, DA>,
    b: ArrayView<T, DB>,
) -> Result<Array<T::Sum, DA::Product>> {
    MatMul::new().matmul(devices, a, b)
}

/// C = α·A·B + β·C: M×K · K×N → M×N, M×K · K → M, K · K×N → N, or for each matrix of a batch B×M×K · B×K×N → B×M×N.
///
/// # Errors
/// Those of [`MatMul::gemm`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::matmul::gemm;
/// use ndarray::array;
///
/// let (a, b) = (array![[1.0, 2.0]], array![[3.0], [4.0]]);
/// let mut c = array![[1.0]];
/// gemm(&Device::auto(), 10.0, a.view(), b.view(), 1.0, c.view_mut())?;
/// assert_eq!(c, array![[111.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn gemm<T: Number, DA: MatrixDimension<DB>, DB: Dimension>(
    devices: &(impl DeviceSet + ?Sized),
    alpha: T::Sum,
    a: ArrayView<T, DA>,
    b: ArrayView<T, DB>,
    beta: T::Sum,
    c: ArrayViewMut<T::Sum, DA::Product>,
) -> Result<()> {
    MatMul::new().gemm(devices, alpha, a, b, beta, c)
}

impl MatMul {
    /// A multiplication with the defaults.
    pub fn new() -> MatMul {
        MatMul::default()
    }

    /// How exact products of `f32` are; by default [`Precision::Full`].
    pub fn precision(self, precision: Precision) -> MatMul {
        MatMul { precision, ..self }
    }

    /// Which instructions multiply on a GPU; by default [`Instructions::Auto`].
    pub fn instructions(self, instructions: Instructions) -> MatMul {
        MatMul {
            instructions,
            ..self
        }
    }

    /// A·B: M×K · K×N → M×N, or for each matrix of a batch B×M×K · B×K×N → B×M×N.
    ///
    /// A vector is a row as A, K · K×N → N, and a column as B, M×K · K → M: as with ndarray's
    /// [`dot`](ndarray::linalg::Dot).
    ///
    /// A batch of a single matrix goes with every matrix of the other batch. Views may have any strides; on a
    /// GPU, those whose elements fill their memory, in whatever order of axes, are copied there as they stand,
    /// and others are packed on the host first.
    ///
    /// # Errors
    /// - [`Error::Shape`] if A has not as many columns as B has rows, or the batches differ.
    /// - [`Error::InvalidInput`] for a size above 2³¹ − 1 on a device that runs kernels.
    /// - [`Error::Unavailable`] for instructions that the device does not have.
    /// - [`Error::Allocation`] if the memory does not suffice.
    /// - On GPUs [`Error::Driver`] if the driver fails and [`Error::Load`] if it does not accept the kernels; in the
    ///   simulator [`Error::Simulation`] if it finds a mistake in them.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::MatMul;
    /// use ndarray::{Array3, array};
    ///
    /// let batch = Array3::from_shape_fn((4, 2, 2), |(matrix, _, _)| matrix as f64);
    /// let c = MatMul::new().matmul(&Device::auto(), batch.view(), batch.view())?;
    /// assert_eq!(c.index_axis(ndarray::Axis(0), 3), array![[18.0, 18.0], [18.0, 18.0]]);
    ///
    /// let (a, v) = (array![[1.0, 2.0], [3.0, 4.0]], array![1.0, 10.0]);
    /// assert_eq!(MatMul::new().matmul(&Device::auto(), a.view(), v.view())?, array![21.0, 43.0]);
    /// assert_eq!(MatMul::new().matmul(&Device::auto(), v.view(), a.view())?, array![31.0, 42.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul<T: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
    ) -> Result<Array<T::Sum, DA::Product>> {
        let sizes = sizes(MATMUL, a.shape(), b.shape())?;
        let (a, b) = DA::batched(a, b);
        let elements = result_elements(MATMUL, sizes)?;
        let mut c = zeroed(elements).during(MATMUL)?;
        if elements > 0 {
            let shape = (sizes.batch, sizes.m, sizes.n);
            let view = ArrayViewMut3::from_shape(shape, &mut c).expect("as many as the shape has");
            let (one, zero) = (num_traits::one(), num_traits::zero());
            T::on_host(*self, devices.devices(), one, (a, b), zero, view).during(MATMUL)?;
        }
        Ok(Array::from_shape_vec(DA::product(sizes), c).expect("as many as the shape has"))
    }

    /// C = α·A·B + β·C: M×K · K×N → M×N, M×K · K → M, K · K×N → N, or for each matrix of a batch
    /// B×M×K · B×K×N → B×M×N.
    ///
    /// All may have any strides; C's memory is not touched where it has none of its elements.
    ///
    /// # Errors
    /// Those of [`matmul`](Self::matmul), and [`Error::Shape`] if C has not the shape of the product.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::MatMul;
    /// use ndarray::array;
    ///
    /// let (a, x, mut y) = (array![[1.0, 2.0], [3.0, 4.0]], array![1.0, 10.0], array![100.0, 200.0]);
    /// MatMul::new().gemm(&Device::auto(), 1.0, a.view(), x.view(), 0.5, y.view_mut())?;
    /// assert_eq!(y, array![71.0, 143.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn gemm<T: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        alpha: T::Sum,
        a: ArrayView<T, DA>,
        b: ArrayView<T, DB>,
        beta: T::Sum,
        c: ArrayViewMut<T::Sum, DA::Product>,
    ) -> Result<()> {
        let sizes = sizes(GEMM, a.shape(), b.shape())?;
        require_product(GEMM, DA::product(sizes).slice(), c.shape())?;
        if c.is_empty() {
            return Ok(());
        }
        let c = DA::batched_product(c);
        T::on_host(*self, devices.devices(), alpha, DA::batched(a, b), beta, c).during(GEMM)
    }

    /// [`matmul`](Self::matmul) of matrices and vectors in a device's memory, left there: arrays, or views of them, which
    /// are read where they are.
    ///
    /// It takes its turn on the device's main stream: the result may still be on its way when this returns, and what
    /// another stream writes to A or B has to be waited for before. Other streams wait for an event. On the CPU the
    /// matrices are copied once.
    ///
    /// # Errors
    /// Those of [`matmul`](Self::matmul), and [`Error::DifferentDevices`] for matrices on two devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::MatMul;
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0f32, 2.0], [3.0, 4.0]])?;
    /// let c = MatMul::new().matmul_device(&a, a.view().t())?;
    /// assert_eq!(c.download()?, array![[5.0, 11.0], [11.0, 25.0]]);
    ///
    /// let v = device.upload(&array![1.0f32, 10.0])?;
    /// assert_eq!(MatMul::new().matmul_device(&a, &v)?.download()?, array![21.0, 43.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matmul_device<'a, 'b, T: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        a: impl Into<DeviceView<'a, T, DA>>,
        b: impl Into<DeviceView<'b, T, DB>>,
    ) -> Result<DeviceArray<T::Sum, DA::Product>> {
        let (a, b) = (a.into(), b.into());
        a.device().require_same(b.device(), MATMUL)?;
        let sizes = sizes(MATMUL, a.shape(), b.shape())?;
        let elements = result_elements(MATMUL, sizes)?;
        let buffer = a.device().alloc(elements).during(MATMUL)?;
        let factors = DA::batched_on_device(a, b);
        let mut c = DeviceArray::from_buffer(buffer, DA::product(sizes))?;
        let (one, zero) = (num_traits::one(), num_traits::zero());
        T::on_device(*self, one, factors, zero, c.buffer_mut(), sizes).during(MATMUL)?;
        Ok(c)
    }

    /// [`gemm`](Self::gemm) of matrices and vectors in a device's memory.
    ///
    /// C may still be on its way when this returns, as with [`matmul_device`](Self::matmul_device). On the CPU all three
    /// are copied once.
    ///
    /// # Errors
    /// Those of [`gemm`](Self::gemm), and [`Error::DifferentDevices`] for matrices on different devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::MatMul;
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0, 2.0], [3.0, 4.0]])?;
    /// let mut c = device.upload(&array![[1.0, 0.0], [0.0, 1.0]])?;
    /// MatMul::new().gemm_device(0.5, &a, &a, 1.0, &mut c)?;
    /// assert_eq!(c.download()?, array![[4.5, 5.0], [7.5, 12.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn gemm_device<'a, 'b, T: Number, DA: MatrixDimension<DB>, DB: Dimension>(
        &self,
        alpha: T::Sum,
        a: impl Into<DeviceView<'a, T, DA>>,
        b: impl Into<DeviceView<'b, T, DB>>,
        beta: T::Sum,
        c: &mut DeviceArray<T::Sum, DA::Product>,
    ) -> Result<()> {
        let (a, b) = (a.into(), b.into());
        a.device().require_same(b.device(), GEMM)?;
        a.device().require_same(c.device(), GEMM)?;
        let sizes = sizes(GEMM, a.shape(), b.shape())?;
        require_product(GEMM, DA::product(sizes).slice(), c.shape())?;
        let factors = DA::batched_on_device(a, b);
        T::on_device(*self, alpha, factors, beta, c.buffer_mut(), sizes).during(GEMM)
    }

    /// The factor f for which |C − (α·A·B + β·C₀)| ≤ f·(|α|·|A|·|B| + |β|·|C₀|), for each element, on every
    /// device, unless numbers overflow or underflow.
    ///
    /// Whatever the order of additions, no product goes through more than k roundings on its way into an element,
    /// one more for α and one for β: f is γ_{k+2}, with γ_n = n·u / (1 − n·u) (Higham, 'Accuracy and Stability of
    /// Numerical Algorithms', section 3.5). u is 2⁻⁵³ for `f64`, 2⁻²⁴ for `f32`, and 2⁻²³ where tensor cores sum
    /// up in `f32`: an instruction shifts its products and the sum so far to the largest exponent among them and cuts
    /// off what is beyond the 24 bits of `f32` and at least one more, as has been measured for all generations (Fasi et
    /// al., 'Numerical behavior of NVIDIA tensor cores', 2021). That is 2⁻²⁴ for each product, and as much for each of
    /// fewer than k sums. In [`Precision::Tf32`] each number of A and B is 2⁻¹⁰ off at most before that.
    ///
    /// ```
    /// use gridstride::matmul::MatMul;
    ///
    /// assert!(MatMul::new().error_factor::<f64>(1000) < 1.2e-13);
    /// ```
    pub fn error_factor<T: Number>(&self, k: usize) -> f64 {
        let is_f64 = T::Sum::ROUNDOFF == f64::ROUNDOFF;
        let is_f32 = !is_f64 && size_of::<T>() == size_of::<f32>();
        let is_tf32 = is_f32 && self.precision == Precision::Tf32;
        let u = if is_f64 || is_f32 && !is_tf32 {
            T::Sum::ROUNDOFF
        } else {
            2.0 * T::Sum::ROUNDOFF
        };
        let roundings = (k as f64 + 2.0) * u;
        if roundings >= 1.0 {
            return f64::INFINITY;
        }
        let sums = roundings / (1.0 - roundings);
        let cut = if is_tf32 { 2f64.powi(-10) } else { 0.0 };
        (1.0 + cut).powi(2) * (1.0 + sums) - 1.0
    }
}

/// The number of elements of C, if an array can have its shape: also without elements, the product of the axes that
/// have a length is what ndarray counts.
fn result_elements(operation: &'static str, sizes: Sizes) -> Result<usize> {
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

mod sealed {
    use half::{bf16, f16};
    use ndarray::{ArrayView3, ArrayViewMut3};

    use super::gpu;
    use super::parts::PartOfProduct;
    use super::{DeviceMatrices, MATMUL, MatMul, Number, Sizes, cpu};
    use crate::device::{Buffer, DeviceKind};
    use crate::spread::spread;
    use crate::{Device, Result};

    /// What the devices need to know of the type.
    pub trait Sealed: Sized {
        /// The product of matrices on the host, whose shapes fit.
        fn on_host(
            with: MatMul,
            devices: &[Device],
            alpha: Self::Sum,
            factors: (ArrayView3<Self>, ArrayView3<Self>),
            beta: Self::Sum,
            c: ArrayViewMut3<Self::Sum>,
        ) -> Result<()>
        where
            Self: Number;
        /// The product of matrices in the memory of C's device, whose shapes fit.
        fn on_device(
            with: MatMul,
            alpha: Self::Sum,
            factors: (DeviceMatrices<Self>, DeviceMatrices<Self>),
            beta: Self::Sum,
            c: &mut Buffer<Self::Sum>,
            sizes: Sizes,
        ) -> Result<()>
        where
            Self: Number;
    }

    macro_rules! doors {
        ($($type:ident)*) => {$(
            impl Sealed for $type {
                fn on_host(
                    with: MatMul,
                    devices: &[Device],
                    alpha: <$type as Number>::Sum,
                    (a, b): (ArrayView3<$type>, ArrayView3<$type>),
                    beta: <$type as Number>::Sum,
                    c: ArrayViewMut3<<$type as Number>::Sum>,
                ) -> Result<()> {
                    let whole = PartOfProduct { a, b, c };
                    let sizes = whole.sizes();
                    let work = |device: &Device, part: &mut PartOfProduct<$type>| {
                        let factors = (part.a.view(), part.b.view());
                        match device.kind() {
                            DeviceKind::Cpu => on_cpu(alpha, factors, beta, part.c.view_mut()),
                            _ => gpu::on_host(with, device, sizes, alpha, factors, beta, part.c.view_mut()),
                        }
                    };
                    spread(devices, MATMUL, whole, work).map(|_| ())
                }

                fn on_device(
                    with: MatMul,
                    alpha: <$type as Number>::Sum,
                    (a, b): (DeviceMatrices<$type>, DeviceMatrices<$type>),
                    beta: <$type as Number>::Sum,
                    c: &mut Buffer<<$type as Number>::Sum>,
                    sizes: Sizes,
                ) -> Result<()> {
                    if c.device().kind() != DeviceKind::Cpu {
                        return gpu::on_device(with, alpha, (a, b), beta, c, (sizes, sizes));
                    }
                    let _ = with;
                    let (a_elements, b_elements) = (a.elements.to_vec()?, b.elements.to_vec()?);
                    let (a, b) = (a.on_host(&a_elements), b.on_host(&b_elements));
                    let mut elements = c.to_vec()?;
                    let shape = (sizes.batch, sizes.m, sizes.n);
                    let view = ArrayViewMut3::from_shape(shape, &mut elements).expect("as many as the shape has");
                    on_cpu(alpha, (a, b), beta, view)?;
                    c.copy_from(&elements)
                }
            }
        )*};
    }
    doors! { f32 f64 f16 bf16 }

    /// The product on the CPU, where a single matrix goes with all of the batch.
    fn on_cpu<T: cpu::CpuNumber>(
        alpha: T::Sum,
        (a, b): (ArrayView3<T>, ArrayView3<T>),
        beta: T::Sum,
        c: ArrayViewMut3<T::Sum>,
    ) -> Result<()> {
        let batch = c.dim().0;
        let of_batch = "the batch is the other's, or the only matrix is for all";
        let a = a.broadcast((batch, a.dim().1, a.dim().2)).expect(of_batch);
        let b = b.broadcast((batch, b.dim().1, b.dim().2)).expect(of_batch);
        cpu::gemm(alpha, a, b, beta, c)
    }
}
