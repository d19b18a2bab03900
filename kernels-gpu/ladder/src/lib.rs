//! Kernels to learn from: each is one step on the way from a plain version to a fast one.
//!
//! `learn` launches them in order, checks what they compute, and shows their times. They
//! are kept as simple as their step allows; the fast ones are in the other kernel crates.
//!
//! # Safety of all launches here
//! Slices are valid on the device and as long as the kernel says; nothing else uses what a kernel
//! writes until it has finished.
#![no_std]

pub mod box_overlap;
pub mod matmul;
pub mod tensor_sketch;
pub mod timestamps;
pub mod vector_add;
