//! What a caller may choose of a multiplication.

/// The precision of products of `f32`. Other types have a single one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Products and sums in the type of C.
    #[default]
    Full,
    /// Reads the upper 19 bits of each `f32` of A and B, of which 10 are behind the binary point, and sums in `f32`.
    /// This runs on tensor cores, from compute capability 8.0 on, and is several times as fast. On other devices, and
    /// with [`Instructions::Fma`], it is the same as `Full`. A NaN whose upper bits are all zero becomes infinite.
    Tf32,
}

/// Which instructions multiply on a GPU; the CPU has no choice.
///
/// A type without kernels of these instructions uses the next simpler ones: `f64` has no kernels of warp groups, and `f32`
/// in [`Precision::Full`] has only fused multiply-adds. Products of `f32` and `f64` with at most 16 rows or columns of C
/// always use fused multiply-adds, which are as fast as memory there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// The fastest that the device has.
    #[default]
    Auto,
    /// Fused multiply-adds, on every device.
    Fma,
    /// Matrix instructions of warps, from compute capability 8.0 on.
    Warp,
    /// Matrix instructions of warp groups, on compute capability 9.0.
    WarpGroup,
}

/// A matrix multiplication with options. [`matmul()`](super::matmul()) and [`gemm`](super::gemm) use the defaults.
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
