//! Rust-CUDA's options of a build.

use std::fmt;
use std::path::PathBuf;

use crate::{Arch, BuildError, NvvmArch, PtxVersion, sources};

/// Debug information about the source in the PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugInfo {
    /// Nothing.
    #[default]
    None,
    /// The file and line of every instruction, as with nvcc's `-lineinfo`.
    LineTables,
}

/// The intermediate form that is written beside the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmitOption {
    LlvmIr,
    Bitcode,
}

/// The options of Rust-CUDA's builder.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) release: bool,
    pub(crate) debug: DebugInfo,
    pub(crate) generate_line_info: bool,
    pub(crate) nvvm_opts: bool,
    pub(crate) ftz: bool,
    pub(crate) fast_sqrt: bool,
    pub(crate) fast_div: bool,
    pub(crate) fma_contraction: bool,
    pub(crate) optix: bool,
    pub(crate) constant_memory: bool,
    pub(crate) ptx_version: Option<PtxVersion>,
    pub(crate) emit: Option<EmitOption>,
    pub(crate) final_module_path: Option<PathBuf>,
    pub(crate) build_args: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            release: true,
            debug: DebugInfo::None,
            generate_line_info: true,
            nvvm_opts: true,
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: false,
            optix: false,
            constant_memory: false,
            ptx_version: None,
            emit: None,
            final_module_path: None,
            build_args: Vec::new(),
        }
    }
}

impl Options {
    /// # Errors
    ///
    /// [`BuildError::Unsupported`] names an option that cannot be had.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        match self.optix {
            true => Err(BuildError::Unsupported { option: "optix" }),
            false => Ok(()),
        }
    }

    fn has_line_info(&self) -> bool {
        self.debug == DebugInfo::LineTables || (!self.release && self.generate_line_info)
    }

    /// The settings of cargo's release profile that a caller can change.
    pub(crate) fn profile(&self) -> [(&'static str, &'static str); 3] {
        let checks = if self.release { "false" } else { "true" };
        // Line tables would mark the PTX as compiled for a debugger; directives give the same
        // lines.
        let debug = match self.has_line_info() {
            true => "line-directives-only",
            false => "false",
        };
        [
            ("DEBUG", debug),
            ("DEBUG_ASSERTIONS", checks),
            ("OVERFLOW_CHECKS", checks),
        ]
    }

    /// The passes of LLVM's optimiser.
    pub(crate) fn passes(&self) -> &'static str {
        match self.nvvm_opts {
            true => "-passes=default<O3>",
            // Without a pass that removes them, all functions of `core` would be in the PTX.
            false => "-passes=globaldce,default<O0>",
        }
    }

    /// Flags of both LLVM's optimiser and its code generator.
    pub(crate) fn llvm_flags(&self) -> impl Iterator<Item = &'static str> {
        self.ftz
            .then_some("-denormal-fp-math-f32=preserve-sign")
            .into_iter()
    }

    /// Flags of LLVM's code generator.
    pub(crate) fn llc_flags(&self) -> impl Iterator<Item = &'static str> {
        let level = if self.nvvm_opts { "-O3" } else { "-O0" };
        let flags = [
            (true, level),
            (self.fast_sqrt, "-nvptx-prec-sqrtf32=0"),
            (self.fast_div, "-nvptx-prec-divf32=1"),
            (self.fma_contraction, "-fp-contract=fast"),
        ];
        flags
            .into_iter()
            .filter_map(|(is_set, flag)| is_set.then_some(flag))
    }

    /// The folder of builds that share what cargo compiled. It depends on the options that change
    /// `core` too.
    pub(crate) fn rust_folder(&self, arch: Arch) -> String {
        let mut name = arch.name().to_owned();
        if !self.release {
            name += "-checked";
        }
        if self.has_line_info() {
            name += "-lines";
        }
        name
    }

    /// The folder below it for files that depend on the other options too.
    pub(crate) fn llvm_folder(&self) -> String {
        let flags = [
            (!self.nvvm_opts, "unoptimised"),
            (self.ftz, "ftz"),
            (self.fast_sqrt, "fast_sqrt"),
            (self.fast_div, "fast_div"),
            (self.fma_contraction, "fma"),
            (self.constant_memory, "constant"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        let mut names: Vec<_> = set.map(|(_, name)| name.to_owned()).collect();
        names.extend(self.ptx_version.map(PtxVersion::llvm_feature));
        if !self.build_args.is_empty() {
            // With the quotes `["a b"]` and `["a", "b"]` differ.
            let hash = sources::text_hash(&format!("{:?}", self.build_args));
            names.push(hash[..16].to_owned());
        }
        names.join("-")
    }

    /// The hash of sources that are compiled with these options: `sources` if no option that
    /// changes the PTX is set.
    pub(crate) fn hash_with(&self, sources: String) -> String {
        let arch = Arch::Sm70;
        let folders = (self.rust_folder(arch), self.llvm_folder());
        let default = Self::default();
        if folders == (default.rust_folder(arch), default.llvm_folder()) {
            return sources;
        }
        sources::text_hash(&format!("{sources}\n{}\n{}", folders.0, folders.1))
    }
}

/// rustc's flags for `#[cfg(target_feature = "compute_70")]`.
pub(crate) fn capability_cfgs(arch: Arch) -> Vec<String> {
    let quoted: Vec<_> = NvvmArch::all_features()
        .map(|feature| format!("\"{feature}\""))
        .collect();
    let known = format!("cfg(target_feature, values({}))", quoted.join(", "));
    let mut flags = vec![
        "-Aexplicit_builtin_cfgs_in_flags".to_owned(),
        format!("--check-cfg={known}"),
    ];
    let features = NvvmArch::from(arch).features();
    flags.extend(features.map(|feature| format!("--cfg=target_feature=\"{feature}\"")));
    flags
}

/// The value of `CUDA_ARCH`, which `cuda_std::cfg` reads: 860 for [`Arch::Sm86`].
pub(crate) fn cuda_arch(arch: Arch) -> impl fmt::Display {
    NvvmArch::from(arch).number() * 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CudaBuilder;

    #[test]
    fn every_option_that_changes_the_ptx_changes_folder_and_hash() {
        let new = || CudaBuilder::new("kernels");
        let builders = [
            new(),
            new().release(false),
            new().release(false).generate_line_info(false),
            new().debug(DebugInfo::LineTables),
            new().nvvm_opts(false),
            new().ftz(true),
            new().fast_sqrt(true),
            new().fast_div(true),
            new().fma_contraction(true),
            new().use_constant_memory_space(true),
            new().build_args(&["--features", "a"]),
            new().build_args(&["--features a"]),
            new().ptx_version(PtxVersion::new(8, 0)),
            new().ptx_version(PtxVersion::new(8, 1)),
        ];
        let mut seen = Vec::new();
        for CudaBuilder { options, .. } in builders {
            let place = (
                options.rust_folder(Arch::Sm80),
                options.llvm_folder(),
                options.hash_with("sources".to_owned()),
            );
            for other in &seen {
                let (rust, llvm, hash): &(String, String, String) = other;
                assert_ne!((rust, llvm), (&place.0, &place.1));
                assert_ne!(hash, &place.2);
            }
            seen.push(place);
        }
        assert_eq!(seen[0].2, "sources");
    }

    #[test]
    fn line_information_is_for_checked_builds_and_on_request() {
        let debug = |builder: CudaBuilder| builder.options.profile()[0].1;
        let new = || CudaBuilder::new("kernels");
        assert_eq!(debug(new()), "false");
        assert_eq!(
            debug(new().debug(DebugInfo::LineTables)),
            "line-directives-only"
        );
        assert_eq!(debug(new().release(false)), "line-directives-only");
        assert_eq!(
            debug(new().release(false).generate_line_info(false)),
            "false"
        );
    }

    #[test]
    fn cuda_arch_is_what_cuda_std_reads() {
        assert_eq!(cuda_arch(Arch::Sm70).to_string(), "700");
        assert_eq!(cuda_arch(Arch::Sm90a).to_string(), "900");
        assert_eq!(cuda_arch(Arch::Sm121).to_string(), "1210");
    }
}
