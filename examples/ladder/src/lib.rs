//! Ladders: every step from a plain version of a computation to a fast one, as a kernel of its own.
//!
//! ```text
//! cargo run --release -p ladder -- matmul
//! cargo run --release -p ladder --features cuda -- matmul
//! ```
//!
//! A ladder runs its versions in order, compares each result with the reference, and tells how long
//! each took and what it changed. The last row is the library's own. The kernels are in
//! `kernels-gpu/ladder`.

pub mod block_shape;
pub mod box_overlap;
pub mod climb;
pub mod matmul;
pub mod plot;
pub mod table;
pub mod tensor_sketch;
pub mod timestamps;
pub mod vector_add;

#[path = "../../common/colors.rs"]
mod colors;
mod pipes;
mod products;
#[path = "../../common/random.rs"]
#[allow(dead_code, reason = "the examples use a part of it each")]
mod random;

use gridstride::device::{Image, Module};

/// What build.rs brought of the kernels. The simulator and the CPU do without.
#[cfg(feature = "cuda")]
const IMAGES: &[Image] = &[Image::new(
    "sm_70",
    include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")),
)];
#[cfg(not(feature = "cuda"))]
const IMAGES: &[Image] = &[];

static KERNELS: Module = Module::new("ladder", IMAGES);
