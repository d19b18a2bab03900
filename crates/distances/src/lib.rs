//! Distances between rows: of all rows of a matrix to all rows of another matrix, or to each other.
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
//! The numbers are `f32` or `f64`, in views with any strides. The distances are always `f64`,
//! because the squares of large `f32` leave the range of `f32`. A distance beyond the range of
//! `f64` is infinite, a distance below it subnormal or zero.
//!
//! # Accuracy
//! Distances are sums of squared differences, without the cancellation of ‖a‖² + ‖b‖² − 2ab:
//! distances between close rows are as accurate as all others. The CPU computes in `f64`, GPUs and
//! the simulator in the type of the numbers. With the unit roundoff u of this type, 2⁻²⁴ for `f32`
//! and 2⁻⁵³ for `f64`, and γ_n = n·u / (1 − n·u), the error of a distance between rows of D numbers
//! is at most the sum of
//!
//! - γ_{D+4} times the distance: 6·10⁻⁶ for D = 96 and `f32`, and typically far less;
//! - in rows of up to 4096 numbers, 10⁻³⁵ times the largest magnitude in `a` and `b` (10⁻³⁰⁰ times
//!   for `f64`; for [`Metric::SquaredL2`] the square of this term), which only matters if numbers
//!   differ by more than 30 orders of magnitude.
//!
//! All numbers are scaled by a power of two, so that the squares of the largest numbers just stay
//! in range. Each rounding is a factor 1 + δ, |δ| ≤ u. Each term d² of a sum gets at most one
//! rounding from the scaled numbers, if they are subnormal, two from d, and one from each of D
//! fused multiply-adds; the terms are not negative, so the relative error of the sum is not larger.
//! The square root halves the error and adds one rounding. A subnormal sum loses at most D times
//! half the smallest number, scaled back; in `f32` its root may be zero.
//!
//! # Slide distances
//! The distance of two sequences by their [windows](Windows), such as sketches of windows of letters
//! (`TensorSketch::windows`):
//!
//! √Σ_w ‖a_w − b_w‖², over all windows w that both sequences have: window w of one is compared with
//! window w of the other, for w below the smaller number of windows.
//!
//! The sum is not divided by the number of windows. It is the tensor slide sketch's distance of A.
//! Joudaki, G. Rätsch and A. Kahles, 'Fast alignment-free similarity estimation by tensor
//! sketching', <https://doi.org/10.1101/2020.11.13.381814>. The distance to a sequence without
//! windows is NaN: 0, the empty sum, would say that a sequence shorter than a window equals all
//! others. The error bounds above hold with the numbers that both sequences have, windows times
//! numbers per window, in place of D; the second term grows by a factor of D / 4096 for longer
//! sequences.
//!
//! # Nearest rows
//! [`nearest`] finds the k rows of a database that are nearest to each query. It is exact, and the
//! distances have the bits of [`distances`]; over several devices or within little memory each
//! partition is scaled by its own largest magnitude, as below. [`slide_nearest`] finds the k
//! sequences of a database with the least slide distances to each query, with the bits of
//! [`slide_distances`].
//!
//! # Determinism
//! Results have the same bits for any number of threads. Kinds of devices differ within the bounds.
//!
//! # Several devices, and little memory
//! Over a [set](gridstride_runtime::DeviceSet) of devices, or if the memory of a device or its
//! [limit](gridstride_runtime::Device::with_memory_limit) does not suffice, calls with host arrays split the
//! rows of `a` or `b`. Each partition is scaled by its own largest magnitude, which changes only
//! the second term of the error.
//!
//! # Implementation
//! A block of threads computes a tile of the result from rows in shared memory; see
//! `kernels-gpu/distances`.

mod calls;
mod cpu;
mod device_output;
mod dispatch;
mod element;
mod gpu;
mod input;
mod merge;
mod options;
mod output;
mod partition;
pub mod reference;
mod rows;
mod windows;
mod workspace;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::{distances, nearest, pairwise, slide_distances, slide_nearest, slide_paired};
pub use device_output::DeviceNearest;
pub use element::Component;
pub use options::{Distances, Metric};
pub use output::Nearest;
pub use windows::{DeviceWindows, Windows};
