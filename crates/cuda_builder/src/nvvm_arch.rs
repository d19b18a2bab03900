//! Architectures under the names of Rust-CUDA.

use std::fmt;

use crate::Arch;

macro_rules! names {
    (supported { $($compute:ident = $arch:ident,)+ } unsupported { $($other:ident,)+ }) => {
        /// The names that Rust-CUDA gives to architectures, for
        /// [`CudaBuilder::arch`](crate::CudaBuilder::arch).
        ///
        /// Each name stands for the [`Arch`] of the same number. The names of architectures that
        /// `cuda_builder` does not compile for exist too, and
        /// [`CudaBuilder::build`](crate::CudaBuilder::build) refuses them with
        /// [`BuildError::UnsupportedArch`](crate::BuildError::UnsupportedArch): those before [`Arch::Sm70`], which Rust-CUDA compiles
        /// for by default, those with the letter f, and `Compute72`, `Compute101`, `Compute101a` and
        /// `Compute121a`.
        ///
        /// ```
        /// use cuda_builder::{Arch, NvvmArch};
        ///
        /// assert_eq!(Arch::try_from(NvvmArch::Compute86)?, Arch::Sm86);
        /// assert!(Arch::try_from(NvvmArch::Compute61).is_err());
        /// # Ok::<(), cuda_builder::BuildError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum NvvmArch {
            $(
                #[doc = concat!("[`Arch::", stringify!($arch), "`].")]
                $compute,
            )+
            $(
                /// Unsupported.
                $other,
            )+
        }

        impl NvvmArch {
            const ALL: &[Self] = &[$(Self::$compute,)+ $(Self::$other,)+];

            /// The architecture of this name, if `cuda_builder` compiles for it.
            pub(crate) fn supported(self) -> Option<Arch> {
                match self {
                    $(Self::$compute => Some(Arch::$arch),)+
                    $(Self::$other)|+ => None,
                }
            }

            /// The variant's name.
            const fn variant(self) -> &'static str {
                match self {
                    $(Self::$compute => stringify!($compute),)+
                    $(Self::$other => stringify!($other),)+
                }
            }
        }

        impl From<Arch> for NvvmArch {
            fn from(arch: Arch) -> Self {
                match arch {
                    $(Arch::$arch => Self::$compute,)+
                }
            }
        }
    };
}

names! {
    supported {
        Compute70 = Sm70,
        Compute75 = Sm75,
        Compute80 = Sm80,
        Compute86 = Sm86,
        Compute87 = Sm87,
        Compute89 = Sm89,
        Compute90 = Sm90,
        Compute90a = Sm90a,
        Compute100 = Sm100,
        Compute100a = Sm100a,
        Compute103 = Sm103,
        Compute103a = Sm103a,
        Compute110 = Sm110,
        Compute120 = Sm120,
        Compute120a = Sm120a,
        Compute121 = Sm121,
    }
    unsupported {
        Compute35,
        Compute37,
        Compute50,
        Compute52,
        Compute53,
        Compute60,
        Compute61,
        Compute62,
        Compute72,
        Compute100f,
        Compute101,
        Compute101f,
        Compute101a,
        Compute103f,
        Compute120f,
        Compute121f,
        Compute121a,
    }
}

impl NvvmArch {
    /// Returns the part of the name after `Compute`, such as `70` or `100a`.
    fn suffix(self) -> &'static str {
        self.variant().trim_start_matches("Compute")
    }

    /// 10 × major + minor of the compute capability.
    pub(crate) fn number(self) -> u32 {
        let digits = self.suffix().trim_end_matches(['a', 'f']);
        digits.parse().unwrap_or(u32::MAX)
    }

    /// The value of `target_feature` in `#[cfg(…)]`, such as `compute_70`.
    pub(crate) fn feature(self) -> String {
        format!("compute_{}", self.suffix())
    }

    /// The values of `target_feature` that hold in kernels for this architecture: every base
    /// architecture up to it; with the letter a also itself and its family.
    pub(crate) fn features(self) -> impl Iterator<Item = String> {
        let holds = move |other: Self| {
            let is_specific = self.suffix().ends_with('a');
            match other.suffix().as_bytes() {
                [.., b'a'] => other == self,
                [.., b'f'] => {
                    is_specific
                        && other.number() / 10 == self.number() / 10
                        && other.number() <= self.number()
                }
                _ => other.number() <= self.number(),
            }
        };
        let all = Self::ALL.iter().copied();
        all.filter(move |&other| holds(other)).map(Self::feature)
    }

    /// Every value that `target_feature` may have in kernels.
    pub(crate) fn all_features() -> impl Iterator<Item = String> {
        Self::ALL.iter().copied().map(Self::feature)
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.feature())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_architectures_have_the_same_numbers() {
        for &arch in Arch::ALL {
            let name = NvvmArch::from(arch);
            assert_eq!(Arch::try_from(name).unwrap(), arch);
            assert_eq!(name.to_string().replace("compute", "sm"), arch.name());
        }
    }

    #[test]
    fn older_architectures_are_refused() {
        let message = Arch::try_from(NvvmArch::Compute61).unwrap_err().to_string();
        assert!(
            message.contains("compute_61") && message.contains("sm_70"),
            "{message}"
        );
    }

    #[test]
    fn features_are_those_of_what_the_architecture_includes() {
        let features = |arch: NvvmArch| arch.features().collect::<Vec<_>>();
        let turing = features(NvvmArch::Compute75);
        for (feature, holds) in [
            ("compute_35", true),
            ("compute_72", true),
            ("compute_75", true),
            ("compute_80", false),
        ] {
            assert_eq!(
                turing.iter().any(|name| name == feature),
                holds,
                "{feature}"
            );
        }
        let specific = features(NvvmArch::Compute103a);
        for (feature, holds) in [
            ("compute_103", true),
            ("compute_103a", true),
            ("compute_100f", true),
            ("compute_103f", true),
            ("compute_100a", false),
            ("compute_90a", false),
            ("compute_120f", false),
        ] {
            assert_eq!(
                specific.iter().any(|name| name == feature),
                holds,
                "{feature}"
            );
        }
    }
}
