//! Errors between a kernel crate and its PTX.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::limits::{MORE_PARAMETERS, PARAMETER_LIMITS};
use crate::tested::{Rejected, TESTED, is_tested};
use crate::{Arch, NvvmArch, PtxVersion};

/// Why a kernel crate did not become PTX.
///
/// `Debug` gives the same text as `Display`, so that `unwrap` and a `main` that returns the error
/// print the message. The message includes the cause, so that
/// [`source`](std::error::Error::source) has nothing to add, and returns `None`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler for the GPU was found. Every place that was looked at is listed.
    #[error("no device compiler was found.{}", list_rejected(.rejected))]
    NoDeviceCompiler {
        /// The candidates, in the order in which they were looked at, with the reason against each.
        rejected: Vec<Rejected>,
    },

    /// A file cannot be the module of [`CudaBuilder::module`](crate::CudaBuilder::module).
    #[error("{} cannot be a module of kernels: {message}", .file.display())]
    Module {
        /// The file.
        file: PathBuf,
        /// The rest of the sentence.
        message: String,
    },

    /// The name is not one of [`Arch::ALL`].
    #[error(
        "`{given}` is not a known architecture; known are {}",
        known_architectures()
    )]
    UnknownArch {
        /// The requested name.
        given: String,
    },

    /// Rust-CUDA's name of an architecture that the builder does not compile for.
    #[error("cuda_builder does not compile for {given}; {}", instead_of(*.given))]
    UnsupportedArch {
        /// The architecture.
        given: NvvmArch,
    },

    /// An option of Rust-CUDA's builder that this one does not have.
    #[error("cuda_builder cannot compile with `{option}`: OptiX is not supported")]
    Unsupported {
        /// The option.
        option: &'static str,
    },

    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// The attempt, such as `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },

    /// A program could not be started.
    #[error("cannot run {}: {error}", .program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },

    /// cargo cannot describe the kernel crate.
    #[error("cargo cannot describe the kernel crate {}: {message}", .manifest.display())]
    Manifest {
        /// The crate's Cargo.toml.
        manifest: PathBuf,
        /// The reason.
        message: String,
    },

    /// rustc refused the kernel crate.
    #[error("the kernel crate `{package}` does not compile for {arch} with {compiler}{}:\n{stderr}", untested(.compiler))]
    Compile {
        /// The kernel crate.
        package: String,
        /// The architecture that it was compiled for.
        arch: Arch,
        /// The rustc, by its first line about itself.
        compiler: String,
        /// The output of cargo and rustc.
        stderr: String,
    },

    /// Two kernels of a crate have one name.
    #[error(
        "the kernel crate `{package}` has two kernels of the name `{name}`, but the modules of a \
         crate share one list of kernels in the PTX: rename one{}\n{stderr}",
        in_places(.places)
    )]
    KernelNames {
        /// The kernel crate.
        package: String,
        /// The name.
        name: String,
        /// The kernels of this name in the sources, as `file:line`. Macros may make others.
        places: Vec<String>,
        /// rustc's error.
        stderr: String,
    },

    /// LLVM cannot compile a function for the GPU.
    #[error(
        "LLVM cannot compile the function `{function}` of the kernel crate `{package}` for the GPU: \
         the function, or one that is inlined into it, has an operation that GPUs lack, which the \
         message below names. Write it with other operations, for example the functions of \
         `cuda_std` or of the crate `libm`.\n{} printed:\n{stderr}",
        .program.display()
    )]
    Llvm {
        /// The kernel crate.
        package: String,
        /// The function, by its path in the source.
        function: String,
        /// `opt` or `llc`.
        program: PathBuf,
        /// The output, without the addresses of the program.
        stderr: String,
    },

    /// rustc's LLVM IR is not where or what the builder expects.
    #[error("the compiler's LLVM IR cannot be used: {message}")]
    Ir {
        /// The reason.
        message: String,
    },

    /// A shared static has an initial value. Shared memory starts undefined.
    ///
    /// Zeros are accepted for `#[address_space(shared)]`, since a type without `MaybeUninit` needs
    /// some value.
    #[error(
        "the shared static `{name}` has an initial value, but shared memory starts undefined: \
         initialise it with zeros or `MaybeUninit::uninit()`, and write to it in the kernel"
    )]
    SharedInitialiser {
        /// The static, by its symbol.
        name: String,
    },

    /// A kernel has more static shared memory than the driver's assembler accepts.
    #[error(
        "the kernel `{kernel}` has {bytes} bytes of static shared memory, and the limit is {limit}: \
         use dynamic shared memory (`shared::dynamic_shared_mem`), whose size the launch gives, in \
         place of the largest statics: {}",
        sized(.largest)
    )]
    SharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes of the shared statics that the kernel and the functions that it calls use.
        bytes: usize,
        /// The most bytes that a kernel can have.
        limit: usize,
        /// The largest of the statics, by their symbols in the PTX, and their bytes.
        largest: Vec<(String, usize)>,
    },

    /// A kernel has more bytes of parameters than the PTX version allows.
    #[error(
        "the parameters of the kernel `{kernel}` have {bytes} bytes together, and the limit of PTX \
         {version} is {limit}: pass a pointer to a value in a buffer{}",
        more_parameters(*.version)
    )]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Bytes of its parameters.
        bytes: usize,
        /// The most bytes that a kernel can have.
        limit: usize,
        /// The version of the PTX.
        version: PtxVersion,
    },

    /// A kernel crate has more statics in constant memory than fit there.
    #[error(
        "the statics of `{package}` in constant memory have {bytes} bytes, and the limit is \
         {limit}: put the largest into global memory with `#[address_space(global)]`: {}",
        sized(.largest)
    )]
    ConstantMemory {
        /// The kernel crate.
        package: String,
        /// Bytes of all statics in constant memory, whether kernels use them or not.
        bytes: usize,
        /// The most bytes that a PTX can have.
        limit: usize,
        /// The largest of the statics, by their symbols in the PTX, and their bytes.
        largest: Vec<(String, usize)>,
    },

    /// Two statics that the host sets have one name and one module, such as statics in two
    /// functions.
    #[error(
        "two `#[address_space(constant)] static mut` have the name `{path}`, in lines {} and {}: \
         the host could not tell them apart, so give one another name",
        .lines.0, .lines.1
    )]
    ConstantNames {
        /// Crate, modules and name of the statics.
        path: String,
        /// The lines of their attributes.
        lines: (u32, u32),
    },

    /// A launch-bounds marker cannot be understood.
    #[error("the launch bounds `{marker}` in `{function}` cannot be used: {message}")]
    LaunchBounds {
        /// The function that holds the marker.
        function: String,
        /// The marker's text.
        marker: String,
        /// The reason.
        message: String,
    },

    /// `opt`, `llc` or `ptxas` failed.
    #[error("{} failed:\n{stderr}", .program.display())]
    Tool {
        /// The program.
        program: PathBuf,
        /// The output.
        stderr: String,
    },

    /// The PTX calls or reads something that nothing defines.
    #[error(
        "the PTX of `{package}` refers to {}, which nothing defines: \
         a kernel can only use what is in its own crates and in `core`",
        quoted(.names)
    )]
    Undefined {
        /// The kernel crate.
        package: String,
        /// The missing symbols.
        names: Vec<String>,
    },

    /// The kernel crate has no kernel.
    #[error("the kernel crate `{package}` has no kernel: mark one with `#[kernel]`")]
    NoKernels {
        /// The kernel crate.
        package: String,
    },

    /// ptxas is not on this machine.
    #[error(
        "ptxas was not found: set CUDA_BUILDER_PTXAS to it, put it on PATH, or unzip it from the \
         wheel nvidia-cuda-nvcc"
    )]
    NoPtxas,

    /// No PTX is checked in for the sources of a kernel crate and the architecture, and the sources
    /// do not compile here.
    #[error(
        "the PTX of `{name}` in {} {reason}, and the sources do not compile here: {error}",
        .folder.display()
    )]
    Outdated {
        /// The kernel crate's name in the record.
        name: String,
        /// The folder of the PTX.
        folder: PathBuf,
        /// Why the PTX in the folder is not used, as the rest of a sentence.
        reason: String,
        /// Why the sources were not compiled.
        error: Box<BuildError>,
    },

    /// A function for build scripts was called by another program.
    #[error("OUT_DIR is not set: only build scripts, which cargo runs, can write there")]
    NotABuildScript,

    /// The record file cannot be used.
    #[error("the record {} cannot be used: {message}", .path.display())]
    Record {
        /// The record's path.
        path: PathBuf,
        /// The reason.
        message: String,
    },
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl BuildError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io {
            action,
            path,
            error,
        }
    }

    pub(crate) fn run(program: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let program = program.to_owned();
        move |error| Self::Run { program, error }
    }
}

fn list_rejected(rejected: &[Rejected]) -> String {
    rejected
        .iter()
        .map(|candidate| format!("\n- {candidate}"))
        .collect()
}

/// Returns a remark about a rustc that is outside of the tested range.
fn untested(rustc_version: &str) -> String {
    if is_tested(rustc_version) {
        return String::new();
    }
    format!(" (known to work are {TESTED})")
}

fn known_architectures() -> String {
    let names: Vec<_> = Arch::ALL.iter().map(|arch| arch.name()).collect();
    names.join(", ")
}

/// Returns the advice which architectures to use.
fn instead_of(given: NvvmArch) -> String {
    let (oldest, number) = (NvvmArch::Compute70, given.number());
    if number < oldest.number() {
        return format!(
            "the oldest is {oldest} ({}), and its PTX runs on every GPU from Volta on",
            Arch::Sm70
        );
    }
    format!("known are {}", known_architectures())
}

/// Returns the advice to take a version of PTX that allows more bytes of parameters.
fn more_parameters(version: PtxVersion) -> String {
    if version >= MORE_PARAMETERS {
        return String::new();
    }
    format!(
        ", or ask for `ptx_version` {MORE_PARAMETERS}, whose limit is {}, for drivers of CUDA 12.1 \
         and later",
        PARAMETER_LIMITS[1]
    )
}

fn in_places(places: &[String]) -> String {
    match places {
        [] => String::new(),
        places => format!(". They are in {}", places.join(", ")),
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn sized(statics: &[(String, usize)]) -> String {
    let one = |(name, bytes): &(String, usize)| {
        let unit = if *bytes == 1 { "byte" } else { "bytes" };
        format!("`{name}` ({bytes} {unit})")
    };
    let sized: Vec<_> = statics.iter().map(one).collect();
    sized.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_the_message() {
        let error = BuildError::NoKernels {
            package: "kernels".to_owned(),
        };
        assert_eq!(
            format!("{error:?}"),
            "the kernel crate `kernels` has no kernel: mark one with `#[kernel]`"
        );
        assert_eq!(format!("{error:#?}"), error.to_string());
    }

    #[test]
    fn a_cause_is_printed_once() {
        let io = || std::io::Error::other("the disk is gone");
        let written = BuildError::io("write", Path::new("kernels.ptx"))(io());
        let outdated = BuildError::Outdated {
            name: "kernels".to_owned(),
            folder: PathBuf::from("ptx"),
            reason: "is older than they are".to_owned(),
            error: Box::new(BuildError::run(Path::new("rustc"))(io())),
        };
        for error in [written, outdated] {
            assert!(error.to_string().ends_with(": the disk is gone"), "{error}");
            assert!(std::error::Error::source(&error).is_none(), "{error}");
        }
    }
}
