//! GPU architectures and PTX versions.

use std::fmt;

macro_rules! architectures {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, ($major:literal, $minor:literal);)+) => {
        /// The GPU architecture that PTX is made for.
        ///
        /// PTX for `sm_XY` runs on every GPU of compute capability X.Y or later; the driver
        /// compiles it for the GPU at hand. An architecture with a letter (`sm_90a`) runs on that
        /// compute capability alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Arch {
            $($(#[$doc])* $variant,)+
        }

        impl Arch {
            /// Every architecture that the builder knows, oldest first.
            pub const ALL: &[Arch] = &[$(Arch::$variant),+];

            /// The name that compilers and assemblers take, such as `sm_70`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Arch::$variant => $name),+ }
            }

            /// The oldest PTX version that has this architecture (7.0 at least): the older the
            /// PTX, the more drivers accept it.
            #[must_use]
            pub const fn default_ptx_version(self) -> PtxVersion {
                match self { $(Arch::$variant => PtxVersion::new($major, $minor)),+ }
            }
        }
    };
}

architectures! {
    /// Volta: the baseline, the oldest architecture that CUDA 12 serves.
    Sm70 = "sm_70", (7, 0);
    /// Turing.
    Sm75 = "sm_75", (7, 0);
    /// Ampere: A100.
    Sm80 = "sm_80", (7, 0);
    /// Ampere: RTX 30, A10, A40.
    Sm86 = "sm_86", (7, 1);
    /// Ampere: Jetson Orin.
    Sm87 = "sm_87", (7, 4);
    /// Ada: RTX 40, L4, L40.
    Sm89 = "sm_89", (7, 8);
    /// Hopper.
    Sm90 = "sm_90", (7, 8);
    /// Hopper with its warp-group instructions, on compute capability 9.0 alone.
    Sm90a = "sm_90a", (8, 0);
    /// Blackwell: B100, B200.
    Sm100 = "sm_100", (8, 6);
    /// Blackwell with its own instructions, on compute capability 10.0 alone.
    Sm100a = "sm_100a", (8, 6);
    /// Blackwell Ultra: B300.
    Sm103 = "sm_103", (8, 8);
    /// Blackwell Ultra with its own instructions, on compute capability 10.3 alone.
    Sm103a = "sm_103a", (8, 8);
    /// Blackwell: Jetson Thor.
    Sm110 = "sm_110", (9, 0);
    /// Blackwell: RTX 50.
    Sm120 = "sm_120", (8, 7);
    /// Blackwell: RTX 50 with its own instructions, on compute capability 12.0 alone.
    Sm120a = "sm_120a", (8, 7);
    /// Blackwell: DGX Spark.
    Sm121 = "sm_121", (8, 8);
}

impl Arch {
    /// Whether PTX for this architecture runs on its own compute capability alone.
    #[must_use]
    pub fn is_specific(self) -> bool {
        self.name().ends_with('a')
    }

    /// Whether PTX made for `self` can be assembled for `gpu`.
    #[must_use]
    pub fn runs_on(self, gpu: Arch) -> bool {
        if self.is_specific() {
            self == gpu
        } else {
            self.number() <= gpu.number()
        }
    }

    /// 10 × major + minor of the compute capability.
    fn number(self) -> u32 {
        let digits = self.name().trim_start_matches("sm_").trim_end_matches('a');
        digits.parse().unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A version of the PTX language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    major: u8,
    minor: u8,
}

impl PtxVersion {
    /// PTX `major.minor`.
    #[must_use]
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The first version in which kernels may have more bytes of parameters.
    pub(crate) const MORE_PARAMETERS: Self = Self::new(8, 1);

    /// Bytes of parameters that a kernel can have. (PTX ISA, "Kernel Function Parameter Attributes".)
    pub(crate) fn parameter_bytes(self) -> usize {
        match self >= Self::MORE_PARAMETERS {
            true => 32_764,
            false => 4352,
        }
    }

    /// LLVM's name for the version: `ptx70` for 7.0.
    #[must_use]
    pub fn llvm_feature(self) -> String {
        format!("ptx{}{}", self.major, self.minor)
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for &arch in Arch::ALL {
            assert_eq!(arch.to_string().parse::<Arch>().unwrap(), arch);
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        let message = "sm_13".parse::<Arch>().unwrap_err().to_string();
        assert!(
            message.contains("sm_13") && message.contains("sm_70"),
            "{message}"
        );
    }

    #[test]
    fn specific_architectures_run_on_themselves_alone() {
        assert!(Arch::Sm70.runs_on(Arch::Sm120));
        assert!(Arch::Sm70.runs_on(Arch::Sm90a));
        assert!(!Arch::Sm80.runs_on(Arch::Sm75));
        assert!(Arch::Sm90a.runs_on(Arch::Sm90a));
        assert!(!Arch::Sm90a.runs_on(Arch::Sm100));
        assert!(!Arch::Sm90a.runs_on(Arch::Sm90));
    }

    #[test]
    fn versions_print_as_llvm_and_people_write_them() {
        let version = Arch::Sm90a.default_ptx_version();
        assert_eq!(version.to_string(), "8.0");
        assert_eq!(version.llvm_feature(), "ptx80");
    }
}
