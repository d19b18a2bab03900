//! The GPU kernels of gridstride's matrix multiplication. `gridstride::matmul` launches them and
//! states what a product is.
//!
//! A block computes a tile of C. It brings tiles of A and B to shared memory by asynchronous
//! copies, a few steps of k ahead of those that its threads multiply:
//! - `fma`: by fused multiply-adds, with a part of the tile in each thread's registers;
//! - `mma`: by the matrix instructions of warps (compute capability 8.0);
//! - `half`: the same of 16-bit numbers, whole tiles of which are read from shared memory at once;
//! - `small` and `tiny_f64`: by the same instructions, in tiles for small matrices and batches of
//!   them;
//! - `wgmma`: by those of warp groups, straight from shared memory (compute capability 9.0 alone);
//! - `mixed`: by the same in tf32, with one factor in registers;
//! - `persistent`: the same of 16-bit numbers, in blocks that stay for many tiles. The `ring` of
//!   stages is that of `mixed` too.
//!
//! Seven more serve beside these: `skinny`, `thin` and `vector` where one factor has few columns or
//! one, `parts` to add up parts of k, `pack` to lay out factors as the others need them, `split` to
//! write factors of f32 as sums of bf16, and `cast` to convert results to the type of the next
//! product's factors.
#![no_std]

mod cast;
mod fma;
mod grid;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod half;
mod loader;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod mixed;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod mma;
mod pack;
mod parts;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod persistent;
mod piece;
mod product;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod results;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod ring;
mod skinny;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod small;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod split;
mod stages;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod swizzled;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod thin;
mod tile;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
mod tiny_f64;
mod vector;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod wgmma;

pub use cast::*;
pub use fma::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use half::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use mixed::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use mma::*;
pub use pack::*;
pub use parts::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use persistent::*;
pub use product::{Factor, Product};
pub use skinny::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use small::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use split::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use thin::*;
pub use tile::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub use tiny_f64::*;
pub use vector::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use wgmma::*;
