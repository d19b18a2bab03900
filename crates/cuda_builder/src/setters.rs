//! The options of a build as methods of the builder.

use std::path::Path;

use crate::CudaBuilder;
use crate::options::{DebugInfo, EmitOption};

/// The options of Rust-CUDA's `CudaBuilder`.
///
/// Options that change code are `false` by default. A build with other options has its own folder
/// below the target folder.
impl CudaBuilder {
    /// Whether the kernels are compiled without debug assertions and overflow checks; `true` by
    /// default.
    ///
    /// Also sets [`nvvm_opts`](Self::nvvm_opts), and `release(false)` gives line information, see
    /// [`generate_line_info`](Self::generate_line_info).
    pub fn release(mut self, release: bool) -> Self {
        self.options.release = release;
        self.options.nvvm_opts = release;
        self
    }

    /// Debug information about the source in the PTX; [`DebugInfo::None`] by default.
    ///
    /// With [`DebugInfo::LineTables`], ncu and compute-sanitizer show Rust's source lines. The
    /// driver drops them unless the program that loads the PTX sets its option
    /// `CU_JIT_GENERATE_LINE_INFO` (cust's `ModuleJitOption::GenerateLineInfo(true)`). `ptxas
    /// -lineinfo` keeps them in a cubin. The instructions stay the same. The PTX then contains
    /// the paths of the sources on this machine.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.options.debug = debug;
        self
    }

    /// Whether a build with `release(false)` has line information; `true` by default.
    ///
    /// In a release build only [`debug`](Self::debug) gives line information.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.options.generate_line_info = generate_line_info;
        self
    }

    /// Whether LLVM optimises; `true` by default. The last call of this and of
    /// [`release`](Self::release) counts.
    ///
    /// Without it LLVM only removes functions that nothing calls.
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.options.nvvm_opts = nvvm_opts;
        self
    }

    /// Whether operations on `f32` take denormal numbers as zeros and return zeros in place of
    /// denormal numbers; `false` by default.
    ///
    /// Functions that cuda_std makes of inline assembly say themselves what they do.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.options.ftz = ftz;
        self
    }

    /// Whether the square root of an `f32` is `sqrt.approx`, of relative error at most 2⁻²³,
    /// instead of the correctly rounded `sqrt.rn`; `false` by default.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.options.fast_sqrt = fast_sqrt;
        self
    }

    /// Whether a division of `f32` is `div.full`, of error at most 2 ulp, instead of the correctly
    /// rounded `div.rn`; `false` by default.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.options.fast_div = fast_div;
        self
    }

    /// Whether a product and a sum become one `fma`, which rounds once; `false` by default.
    ///
    /// Rust-CUDA's default is `true`. Here the default keeps the results those of the CPU and of
    /// the simulator, bit for bit. `mul_add` is an `fma` either way.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.options.fma_contraction = fma_contraction;
        self
    }

    /// Whether rustc's LLVM IR of the whole program is written beside the PTX, with the extension
    /// `ll`; `false` by default. The last call of this and of
    /// [`emit_llvm_bitcode`](Self::emit_llvm_bitcode) counts.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.options.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Whether rustc's LLVM IR is written beside the PTX as bitcode of the device compiler's LLVM,
    /// with the extension `bc`; `false` by default.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.options.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// A file for the LLVM IR that goes to LLVM's optimiser: rustc's with shared memory,
    /// convergence, launch bounds and the scopes of atomics in it.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.options.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Further arguments of the `cargo rustc` that compiles the kernel crate, such as
    /// `["--features", "double"]`.
    pub fn build_args(mut self, arguments: &[impl AsRef<str>]) -> Self {
        let arguments = arguments
            .iter()
            .map(|argument| argument.as_ref().to_owned());
        self.options.build_args.extend(arguments);
        self
    }

    /// Whether immutable statics go to constant memory, in the order of the IR and up to its 64
    /// KiB; `false` by default, which leaves them in global memory.
    ///
    /// Constant memory is fast if all lanes of a warp read the same address, and slow if they do
    /// not. Statics that hold pointers to other statics stay in global memory.
    /// `#[address_space(constant)]` places a single static.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.options.constant_memory = use_constant_memory_space;
        self
    }

    /// Has no effect: calls of the crate `libm` are compiled from its sources.
    ///
    /// Rust-CUDA replaces them with calls of NVIDIA's libdevice, which is part of the CUDA
    /// toolkit. Without it their results are those of the CPU, bit for bit.
    pub fn override_libm(self, _: bool) -> Self {
        self
    }

    /// Unsupported: [`build`](Self::build) returns [`BuildError::Unsupported`](crate::BuildError::Unsupported)
    /// after `optix(true)`.
    pub fn optix(mut self, optix: bool) -> Self {
        self.options.optix = optix;
        self
    }
}
