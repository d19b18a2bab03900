//! The options of a multiplication.

use std::ops::RangeInclusive;

gridstride_runtime::choice! {
    /// The precision of products of `f32`. Other types have only one precision.
    pub enum Precision("precision"), default Full {
        /// Products and sums in the type of C.
        Full("full"),
        /// Products of the upper 19 bits of each `f32` of A and B, which have 10 bits behind the binary
        /// point, and sums in `f32`: on tensor cores, from compute capability 8.0 on, and several times
        /// as fast. On other devices, and with [`Instructions::Fma`], the same as `Full`. A NaN whose
        /// upper bits are all zero becomes infinite.
        Tf32("tf32"),
        /// Products of `f32` with about the accuracy of `Full`, on tensor cores, from compute capability
        /// 8.0 on. Large matrices take half of the time on an H200.
        ///
        /// Each `f32` is split into three terms of `bf16`, x₁ + x₂ + x₃, which together have all of its 24
        /// bits. The sum a₁b₁ + a₁b₂ + a₂b₁ + a₁b₃ + a₂b₂ + a₃b₁ of six exact products differs from a·b by
        /// at most 2⁻²²·|a·b|. Tensor cores truncate sums. They therefore sum at most 2048 of the
        /// products a₁b₁ at a time, and these sums are added with rounding to the nearest. The smaller
        /// products belong to the first sum or have their own. [`MatMul::error_factor`] bounds
        /// the error: it is 2.1 times that of `Full` for k of 1024, 2.7 times for k of 16, and the same
        /// for k above 4400.
        ///
        /// NaN and infinities in A and B give what they give in `Full`, except that infinity times a
        /// number below 2⁻¹³³ may be NaN, as may a product with an infinite α. Results that overflow are
        /// infinite or NaN, and those within 1% of the largest `f32` may be infinite. Elements below
        /// 2⁻¹¹⁰ are rounded to multiples of 2⁻¹³³. The terms take 8 bytes of the device's memory for
        /// each element of A and B, for up to 4096 k at a time, the number of which is rounded up to a
        /// multiple of 64 on compute capability 9.0, else of 8.
        ///
        /// On other devices, with [`Instructions::Fma`], and with at most 16 rows or columns of C and at
        /// least 128 of the other, the same as `Full`. (The scheme is that of Henry, Tang and Heinecke,
        /// 'Leveraging the bfloat16 artificial intelligence datatype for higher-precision computations',
        /// 2019.)
        F32ByBf16x6("bf16x6" | "f32-by-bf16x6"),
    }
}

/// The k whose terms are in the device's memory at a time in [`Precision::F32ByBf16x6`].
pub const EMULATED_CHUNK: usize = 4096;
/// The most products of first terms that tensor cores sum.
pub const EMULATED_SUM: usize = 2048;
// A chunk begins with a sum.
const _: () = assert!(EMULATED_CHUNK.is_multiple_of(EMULATED_SUM));

gridstride_runtime::choice! {
    /// The instructions that multiply on a GPU.
    ///
    /// A type without kernels for these instructions uses the next simpler ones: `f64` has no kernels
    /// for warp groups, and `f32` in [`Precision::Full`] has only fused multiply-adds. Products of
    /// `f32` and `f64` with at most 16 rows or columns of C, and at least 128 of the other, use fused
    /// multiply-adds, because memory bandwidth limits them; only those of `f64` with at least 5 use matrix
    /// instructions of warps on compute capability 9.0, if a block has room for all k of the thin factor.
    /// Products of a matrix and a vector of `f16` and `bf16` use fused multiply-adds too, where they are
    /// faster.
    #[derive(PartialOrd, Ord)]
    pub enum Instructions("instructions"), default Auto {
        /// The fastest instructions of the device.
        Auto("auto"),
        /// Fused multiply-adds, on every device.
        Fma("fma"),
        /// Matrix instructions of warps, from compute capability 8.0 on.
        Warp("warp"),
        /// Matrix instructions of warp groups, on compute capability 9.0.
        WarpGroup("warp_group"),
    }
}

impl Instructions {
    /// Returns ranges of instructions: the model chooses among the first range, and if the GPU has
    /// no room for their kernels, among the next. Returns no range if the compute capability lacks
    /// these instructions.
    pub(super) fn allowed(
        self,
        compute_capability: (u32, u32),
    ) -> Vec<RangeInclusive<Instructions>> {
        use Instructions::{Auto, Fma, Warp, WarpGroup};

        let best = match compute_capability {
            (9, 0) => WarpGroup,
            capability if capability >= (8, 0) => Warp,
            _ => Fma,
        };
        match self {
            Auto if best == Fma => vec![Fma..=Fma],
            Auto => vec![Warp..=best, Fma..=Fma],
            asked if asked <= best => vec![asked..=asked],
            _ => vec![],
        }
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_of_the_capability() {
        use Instructions::{Auto, Fma, Warp, WarpGroup};

        assert_eq!(Auto.allowed((9, 0)), [Warp..=WarpGroup, Fma..=Fma]);
        assert_eq!(Auto.allowed((10, 0)), [Warp..=Warp, Fma..=Fma]);
        assert_eq!(Auto.allowed((7, 5)), [Fma..=Fma]);
        assert_eq!(Warp.allowed((7, 5)), []);
        assert_eq!(Fma.allowed((9, 0)), [Fma..=Fma]);
    }
}
