//! The module of the kernels: their PTX, which the build script embeds.

use gridstride_runtime::device::Module;

pub static MODULE: Module = include!(concat!(env!("OUT_DIR"), "/module.rs"));
