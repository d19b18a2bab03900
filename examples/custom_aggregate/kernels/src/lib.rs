//! The geometric mean of the values in each bucket, and how many there are: written once, for the
//! CPU, the simulator and GPUs.
#![no_std]

use cuda_std::DeviceParam;
use cuda_std::warp::WarpValue;
use time_series_kernels::{Aggregate, Point, aggregate_kernels};

/// The n-th root of the product of n values. Those below `least`, and with them 0 and negative
/// ones, are left out.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct GeometricMean {
    /// The least value that counts, above 0.
    pub least: f64,
}

/// What is known of some values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Logarithms {
    sum: f64,
    count: u64,
}

/// Threads hand states to each other word by word.
impl WarpValue for Logarithms {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Logarithms {
            sum: self.sum.map_words(&mut f),
            count: self.count.map_words(f),
        }
    }
}

/// The result for a bucket.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The geometric mean, NaN without values.
    pub mean: f64,
    /// How many values it is of.
    pub count: u64,
}

// SAFETY: `repr(C)` of numbers of 64 bits; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Mean {}
// SAFETY: `repr(C)` of numbers of 64 bits, without padding; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Mean {}

impl Aggregate for GeometricMean {
    type State = Logarithms;
    type Output = Mean;

    #[inline(always)]
    fn empty(&self) -> Logarithms {
        Logarithms { sum: 0.0, count: 0 }
    }

    #[inline(always)]
    fn push(&self, state: Logarithms, point: Point) -> Logarithms {
        if point.value < self.least {
            return state;
        }
        Logarithms {
            sum: state.sum + libm::log(point.value),
            count: state.count + 1,
        }
    }

    #[inline(always)]
    fn merge(&self, earlier: Logarithms, later: Logarithms) -> Logarithms {
        Logarithms {
            sum: earlier.sum + later.sum,
            count: earlier.count + later.count,
        }
    }

    #[inline(always)]
    fn finish(&self, state: Logarithms) -> Mean {
        Mean {
            mean: libm::exp(state.sum / state.count as f64),
            count: state.count,
        }
    }
}

aggregate_kernels! {
    /// The kernels of [`GeometricMean`].
    pub static GEOMETRIC_MEAN: GeometricMean = geometric_mean_reduce, geometric_mean_join;
}
