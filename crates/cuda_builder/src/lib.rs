//! Compiles kernels in Rust to PTX, without a CUDA toolkit.
//!
//! Kernels are functions that are marked `#[kernel]` (from `cuda_std`), in a module of a package or
//! in a kernel crate, a `no_std` library. [`CudaBuilder`] compiles them with rustc's own
//! `nvptx64-nvidia-cuda` target, puts into the IR what rustc cannot say (shared memory,
//! convergence, launch bounds, the scope of atomics, where pointers in structs point), and lets
//! LLVM make PTX of it.
//!
//! # What it needs
//!
//! A [`DeviceCompiler`]: a rustc from 1.95 on with the sources of `core`, and LLVM's `opt` and
//! `llc` of the same LLVM. On Debian that is
//! `apt-get install rustc-web cargo-web rust-web-src rust-web-llvm`, after `apt-get update`: older
//! package lists have rustc 1.85. Elsewhere it is
//! `rustup toolchain install nightly -c rust-src -c llvm-tools`. The environment variables
//! `CUDA_BUILDER_RUSTC`, `CUDA_BUILDER_CARGO` and `CUDA_BUILDER_LLVM_BIN` name another one. The
//! compiler that they name is the only one that is tried: with `CUDA_BUILDER_RUSTC=/nonexistent`
//! every build that needs a device compiler fails.
//!
//! # In a build script
//!
//! ```no_run
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! // In the `main` of build.rs:
//! CudaBuilder::module("src/kernels.rs").arch(Arch::Sm70).build_script("kernels.ptx");
//! ```
//!
//! and in the crate, `mod kernels;` and
//! `static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));`. For a kernel crate
//! in the folder `kernels`, write `CudaBuilder::new("kernels")`.
//!
//! # PTX that is checked in
//!
//! A library can carry its PTX, so that its users need no device compiler:
//! [`CudaBuilder::checked_in`]. [`Record`] keeps what each PTX was made from and by what; see there
//! for how it is checked.

#![forbid(unsafe_code)]

mod arch;
mod builder;
mod checked_in;
mod complaints;
mod discover;
mod environment;
mod error;
mod ir;
mod memory;
mod module;
mod narrow_negation;
mod nvvm_arch;
mod options;
mod parse;
mod ptx;
mod ptxas;
mod record;
mod report;
mod setters;
mod sources;
mod tested;

pub use arch::{Arch, PtxVersion};
pub use builder::{Build, CudaBuilder};
pub use checked_in::{CheckedIn, Provided};
pub use discover::{CARGO_VARIABLE, DeviceCompiler, LLVM_BIN_VARIABLE, RUSTC_VARIABLE};
pub use error::BuildError;
pub use nvvm_arch::NvvmArch;
pub use options::DebugInfo;
pub use ptx::PtxSummary;
pub use ptxas::{PTXAS_VARIABLE, Ptxas, Resources};
pub use record::{CheckError, CrateRecord, PtxRecord, Record, Verdict, ptx_file_name};
pub use sources::{KernelCrate, Sources, source_hash};
pub use tested::Rejected;

/// Rewrites LLVM IR as a build does; `constant_memory`: with immutable statics in constant memory.
///
/// Exists only for the fuzz targets of this repository.
///
/// # Errors
/// If a static or a launch bound in the IR cannot be compiled.
#[cfg(fuzzing)]
pub fn rewrite_ir(ir: &str, constant_memory: bool) -> Result<String, BuildError> {
    ir::rewrite(ir, constant_memory)
}

/// Checks that the statics of a PTX text fit into shared and constant memory, as a build does.
///
/// Exists only for the fuzz targets of this repository.
///
/// # Errors
/// If they do not fit.
#[cfg(fuzzing)]
pub fn check_memory(package: &str, ptx: &str) -> Result<(), BuildError> {
    memory::check(package, ptx, Arch::Sm70.default_ptx_version())
}

/// rustc's name for the GPU.
const TARGET: &str = "nvptx64-nvidia-cuda";
