//! The GPU kernels of gridstride's tensor sketch. `gridstride::tensor_sketch` launches them and
//! states what a sketch is.
#![no_std]

mod direct;
pub mod fourier;

pub use direct::{Arrays, NEGATIVE, Parameters, TILE, shared_words};
pub use direct::{
    direct_1, direct_2, direct_3, direct_4, direct_6, direct_8, direct_12, direct_16, direct_24,
    direct_32,
};
