//! Box overlap: all pairs of axis-aligned boxes of two sets that overlap.
//!
//! A box is a row of 6 numbers, minX, minY, minZ, maxX, maxY, maxZ, or of 4 without Z, of type
//! `f32`, `f64` or `i32`. Two boxes overlap when min₁ ≤ max₂ and max₁ ≥ min₂ on every axis:
//! touching counts, and a box may be a point. The result is exact, without a tolerance: the same
//! pairs in the same order on every device, with every algorithm and in every run. Infinite limits
//! are valid. NaN and a minimum above its maximum are errors.
//!
//! ```
//! use gridstride::{Device, box_overlap::overlaps};
//! use ndarray::array;
//!
//! let welds = array![[0.9f32, 0.0, 0.0, 1.1, 0.2, 0.2], [4.0, 4.0, 4.0, 4.1, 4.1, 4.1]];
//! let pipes = array![[0.0f32, 0.0, 0.0, 1.0, 0.1, 0.1], [1.0, 0.0, 0.0, 2.0, 0.1, 0.1]];
//! let found = overlaps(&Device::auto(), welds.view(), pipes.view())?;
//! assert_eq!(found.pairs()?, array![[0, 0], [0, 1]]);
//! assert_eq!(found.counts(), array![2, 0]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Sets in a device's memory
//! Each call over host arrays has a form over arrays in a device's memory, whose name ends in
//! `_device`, except [`slices`](BoxOverlap::slices) and [`self_slices`](BoxOverlap::self_slices).
//! Calls whose names end in `_into` write counts to existing memory.
//!
//! # Several devices
//! Over a [set](gridstride_runtime::DeviceSet) of devices the rows of the first set are divided, and each device
//! searches the whole second set. Pairs within one set are found in ranges of rows, and between
//! each range and the rows after it.
//!
//! # Memory
//! A GPU needs memory for the boxes, for the [`Algorithm`], and at least 4 bytes per pair. If the
//! memory of the device, or its [limit](gridstride_runtime::Device::with_memory_limit), does not suffice for the
//! pairs, they are fetched for some rows at a time. If it does not suffice for the search, the
//! search is partitioned into rows of the first set × rows of the second, halved until they fit:
//! each partition is a separate search. All pairs are joined in the host's memory, except in
//! [slices](BoxOverlap::slices).
//!
//! The pairs and their order are always the same.

mod calls;
mod cpu;
mod device_output;
mod dispatch;
mod element;
mod gpu;
mod input;
mod options;
mod output;
mod partition;
pub mod reference;
mod slices;
mod tuning;
mod workspace;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::{overlaps, self_overlaps};
pub use device_output::{DeviceOverlapMatrix, DeviceOverlaps};
pub use element::Coordinate;
pub use options::{Algorithm, BoxOverlap};
pub use output::{OverlapMatrix, Overlaps};
pub use slices::{OverlapSlice, OverlapSlices};
