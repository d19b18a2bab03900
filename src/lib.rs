//! GPU kernels written in Rust, over [`ndarray`] views.
//!
//! A call runs natively on the CPU, on an NVIDIA GPU, or in a simulator that runs the GPU's kernels
//! on the CPU: the [`Device`] is an argument. GPUs need their driver, but no CUDA toolkit.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::tensor_sketch::{Alphabet, Sequences, Tables, TensorSketch, Unknown};
//!
//! let dna = Alphabet::dna();
//! let mut sequences = Sequences::new();
//! sequences.push(dna.encode(b"GATTACAGATTACA", Unknown::Error)?.codes)?;
//! let sketcher = TensorSketch::new(Tables::from_seed(dna.size(), 4, 96, 1)?);
//! let sketches = sketcher.sketch(&Device::auto(), &sequences)?; // 1 × 96
//! # assert_eq!(sketches.dim(), (1, 96));
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Features
//! Devices beside the CPU, off by default:
//! - `cuda`: NVIDIA GPUs. Programs also start without a driver; [`Device::auto`] is then the CPU.
//! - `simulator`: the simulator, for tests and custom kernels.
//! - `race-detector`: the simulator's race detector, with a compiler wrapper.
//!
//! Kernels, on by default:
//!
//! | feature | module | includes |
//! |---|---|---|
//! | `matmul` | [`matmul`] | [`half`] |
//! | `tensor-sketch` | [`tensor_sketch`], [`sequences`] | |
//! | `distances` | [`distances`] | |
//! | `edit-distance` | [`edit_distance`], [`sequences`] | |
//! | `box-overlap` | [`box_overlap`] | `primitives` |
//! | `time-series` | [`time_series`] | `primitives` |
//! | `pipeline` | [`pipeline`] | |
//! | `primitives` | [`primitives`] | |
//!
//! With `default-features = false` only the chosen kernels are compiled. Without kernels,
//! gridstride is the device layer: a crate with custom kernels compiles in one to two minutes on
//! two cores.
//!
//! `stream` is the former name of `pipeline`, and deprecated.
//!
//! `serde` makes options and results of calls serializable by serde's traits: option enums as their
//! names, builders and results as structs. What is read is checked. JSON has no NaN, and no number
//! can be read from the `null` that is written instead: take another format for columns with NaN.
//!
//! `build-ptx` compiles the kernels' sources during the build instead of embedding the crate's PTX.
//!
//! # Determinism
//! Each call returns the same bits in every run on the same device, except calls with user-defined
//! aggregates, whose operations decide. A table in `docs/guide/calls.md` says which calls also
//! return the same bits over several devices, within little memory, and on the CPU, in the simulator
//! and on a GPU.
//!
//! # Versions
//! Arguments and results are arrays of ndarray 0.17; numbers of half precision are types of half 2.
//! Both crates are re-exported, for programs to use the same versions: [`ndarray`], and [`half`]
//! with the feature `matmul`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(test)]
mod choices;
mod float;
#[cfg(feature = "pipeline")]
pub mod pipeline;

pub use float::Float;
#[cfg(feature = "box-overlap")]
#[doc(inline)]
pub use gridstride_box_overlap as box_overlap;
#[cfg(feature = "distances")]
#[doc(inline)]
pub use gridstride_distances as distances;
#[cfg(feature = "edit-distance")]
#[doc(inline)]
pub use gridstride_edit_distance as edit_distance;
#[cfg(feature = "matmul")]
#[doc(inline)]
pub use gridstride_matmul as matmul;
#[cfg(feature = "primitives")]
#[doc(inline)]
pub use gridstride_primitives as primitives;
/// For `serialize_by_name!` in other crates.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use gridstride_runtime::__serde;
#[doc(inline)]
pub use gridstride_runtime::{
    Choice, Device, DeviceSet, Error, LoadError, Number, Real, Result, choice, device,
};
#[cfg(any(feature = "edit-distance", feature = "tensor-sketch"))]
#[doc(inline)]
pub use gridstride_sequences as sequences;
#[cfg(feature = "tensor-sketch")]
#[doc(inline)]
pub use gridstride_tensor_sketch as tensor_sketch;
#[cfg(feature = "time-series")]
#[doc(inline)]
pub use gridstride_time_series as time_series;
/// The version of the crate half that matrices use. Types of other versions are different types.
#[cfg(feature = "matmul")]
pub use half;
/// The version of ndarray that the calls use. Types of other versions are different types.
pub use ndarray;

/// The programs of the README run as tests.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Programs of the guide; `cargo xtask guide` tests those that are crates of several files.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../docs/guide/calls.md")]
#[doc = include_str!("../docs/guide/coming-from-rust-cuda.md")]
#[doc = include_str!("../docs/guide/matmul.md")]
#[doc = include_str!("../docs/guide/profiling.md")]
#[doc = include_str!("../docs/guide/streaming.md")]
struct Guide;
