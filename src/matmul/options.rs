//! The options of a multiplication.

/// The precision of products of `f32`. Other types have only one precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Products and sums in the type of C.
    #[default]
    Full,
    /// Products of the upper 19 bits of each `f32` of A and B, which have 10 bits behind the binary
    /// point, and sums in `f32`: on tensor cores, from compute capability 8.0 on, and several times
    /// as fast. On other devices, and with [`Instructions::Fma`], the same as `Full`. A NaN whose
    /// upper bits are all zero becomes infinite.
    Tf32,
}

/// The instructions that multiply on a GPU.
///
/// A type without kernels for these instructions uses the next simpler ones: `f64` has no kernels
/// for warp groups, and `f32` in [`Precision::Full`] has only fused multiply-adds. Products of
/// `f32` and `f64` with at most 16 rows or columns of C always use fused multiply-adds, because
/// memory bandwidth limits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// The fastest instructions of the device.
    #[default]
    Auto,
    /// Fused multiply-adds, on every device.
    Fma,
    /// Matrix instructions of warps, from compute capability 8.0 on.
    Warp,
    /// Matrix instructions of warp groups, on compute capability 9.0.
    WarpGroup,
}

/// A configurable matrix multiplication. [`matmul()`](super::matmul()) and [`gemm`](super::gemm)
/// use the defaults.
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
    pub(super) precision: Precision,
    pub(super) instructions: Instructions,
}

impl MatMul {
    /// Returns a multiplication with the default options.
    pub fn new() -> MatMul {
        MatMul::default()
    }

    /// Sets the precision of products of `f32`. The default is [`Precision::Full`].
    pub fn precision(self, precision: Precision) -> MatMul {
        MatMul { precision, ..self }
    }

    /// Sets the instructions that multiply on a GPU. The default is [`Instructions::Auto`].
    pub fn instructions(self, instructions: Instructions) -> MatMul {
        MatMul {
            instructions,
            ..self
        }
    }
}
