//! Distances between rows of numbers: of all rows of one matrix to all rows of another, or to each
//! other.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::distances::{Distances, Metric, distances, pairwise};
//! use ndarray::array;
//!
//! let device = Device::auto();
//! let a = array![[0.0, 0.0], [3.0, 0.0]];
//! let b = array![[3.0, 4.0]];
//! assert_eq!(distances(&device, a.view(), b.view())?, array![[5.0], [4.0]]);
//! assert_eq!(pairwise(&device, a.view())?, array![[0.0, 3.0], [3.0, 0.0]]);
//!
//! let squared = Distances::new().metric(Metric::SquaredL2);
//! assert_eq!(squared.distances(&device, a.view(), b.view())?, array![[25.0], [16.0]]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! The numbers are `f32` or `f64`, in views with any strides. The distances are always `f64`: the
//! squares of large `f32` leave the range of `f32`. A distance beyond the range of `f64` is
//! infinite, one below it subnormal or zero.
//!
//! # Accuracy
//! Distances are sums of squared differences, without the cancellation of ‖a‖² + ‖b‖² − 2ab:
//! distances between close rows are as accurate as all others. The CPU computes in `f64`, GPUs and
//! the simulator in the type of the numbers. With the unit roundoff u of that arithmetic, 2⁻²⁴ for
//! `f32` and 2⁻⁵³ for `f64`, and γ_n = n·u / (1 − n·u), the error of a distance between rows of D
//! numbers is at most the sum of
//!
//! - γ_{D+4} times the distance; for D = 96 and `f32` that is 6·10⁻⁶, and typically it is far less;
//! - in rows of up to 4096 numbers, 10⁻³⁵ times the largest magnitude in `a` and `b` (10⁻³⁰⁰ times
//!   for `f64`; for [`Metric::SquaredL2`] the square of that): this term only matters where numbers
//!   differ by more than 30 orders of magnitude.
//!
//! All numbers are scaled by a power of two, so that the squares of the largest ones just stay in
//! range. With (1 + δ), |δ| ≤ u, for a rounding, each term d² of a sum then gets at most: one from
//! the scaled numbers, if they are subnormal, two from d, and one from each of D fused
//! multiplications and additions; the terms are not negative, so that the sum has no more than
//! that. The square root halves the error and adds one. What a sum loses where it is subnormal is D
//! times half the smallest number, scaled back.
//!
//! # Determinism
//! Results are the same from run to run, whatever the number of threads. Those of two kinds of
//! devices differ within the bounds above.
//!
//! # Several devices, and little memory
//! Over a [set](crate::DeviceSet) of devices, and where the memory of a device or its
//! [limit](crate::Device::with_memory_limit) does not suffice, calls over arrays of the host divide the
//! rows of `a` or `b`. Each part is scaled by its own largest magnitude: that changes the second
//! term of the error, and nothing else.
//!
//! # How it works
//! A block of threads computes a tile of the result from rows in shared memory; see
//! `kernels-gpu/distances`.

mod calls;
mod cpu;
mod dispatch;
mod element;
mod gpu;
mod input;
mod options;
mod partition;
pub mod reference;
mod scale;

pub use calls::{distances, pairwise};
pub use element::Component;
pub use options::{Distances, Metric};
