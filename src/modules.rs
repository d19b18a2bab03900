//! The PTX of the chosen kernels, embedded by build.rs.

#[cfg(any(
    feature = "distances",
    feature = "matmul",
    feature = "primitives",
    feature = "stream",
    feature = "tensor-sketch"
))]
use crate::device::{Image, Module};

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
