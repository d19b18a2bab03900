//! The ground that kernel libraries build on: devices, memory, streams and launches, partitions of work, and
//! parallel loops.
//!
//! The kernels of [gridstride](https://docs.rs/gridstride) are written on this crate, which its users
//! see as `gridstride::device`, `gridstride::Error` and so on. A program with its own kernels depends
//! on `gridstride` without its default features, which re-exports what it needs. A library of
//! kernels, whose calls run on any set of devices and within little memory, depends on this crate.
//!
//! - [`device`]: CPU, GPUs and the simulator behind one type, [`Device`]; buffers, arrays and views,
//!   streams and events, graphs, modules of PTX.
//! - [`partition`]: how a call runs over several devices, and over more data than a device has
//!   memory for.
//! - [`parallel`]: the loops of CPU versions over all threads.
//! - [`Number`] and [`Real`]: the types of elements. [`choice!`]: options with named values.
//!
//! # Features
//! `cuda` adds NVIDIA GPUs and `simulator` the simulator; without them the only device is the CPU.
//! `half` adds numbers of half precision, `serde` serializes options, and `race-detector` is the
//! simulator's race detector, with a compiler wrapper.
//!
//! # Hidden items
//! Items that are `pub` but not on these pages serve the crates of gridstride alone, which require
//! this crate in its exact version. They may change in any release:
//! - `error::During` and constructors of [`Error`], with which calls name their operation;
//! - `offsets`, the checks of offsets that several kernels take, and `short`, how their results are
//!   formatted;
//! - items of [`device`] that reserve memory on the host, and of [`parallel`], for CPU versions;
//! - `isa`, loops that are compiled for each instruction set, for CPU versions;
//! - `random` and `device::device_for_tests`, for unit tests;
//! - `__serde`, for a macro.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod by_name;
mod choice;
pub mod device;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod isa;
mod number;
#[doc(hidden)]
pub mod offsets;
pub mod parallel;
pub mod partition;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod short;
mod sync;

pub use choice::Choice;
pub use device::{Device, DeviceSet};
pub use error::{Error, LoadError, Result};
pub use number::{Number, Real};
/// For `serialize_by_name!` in other crates.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde as __serde;
