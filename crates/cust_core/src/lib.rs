//! The trait [`DeviceCopy`] of [cust_core], which kernel crates derive for their structs and hosts
//! ask of the elements of their buffers: this repository's `cust` has the same trait.
//!
//! Types of the crates glam and half have it behind the features of these names. `Mat2` and
//! `Affine2` of glam lack it, because their alignment on the host is that of SIMD registers, and so
//! do its vectors of `bool`, and the types of vek, mint and num-complex.
//!
//! cust_core is by Riccardo D'Ambrosio and Brook Heisler, under MIT or Apache-2.0, see LICENSE-MIT
//! and LICENSE-APACHE.
//!
//! [cust_core]: https://docs.rs/cust_core/0.1.1
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

#[doc(hidden)]
pub mod device_copy;

/// Implements [`DeviceCopy`](trait@DeviceCopy) for a struct, an enum or a union whose fields all
/// implement it.
pub use cust_derive::DeviceCopyCore as DeviceCopy;
pub use device_copy::DeviceCopy;
