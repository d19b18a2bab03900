//! The target that a kernel is compiled for.

macro_rules! capabilities {
    ($($name:ident $feature:literal $arch:literal)*) => {
        /// A compute capability.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ComputeCapability {
            $(
                #[doc = concat!("Architecture `", $feature, "`.")]
                $name,
            )*
        }

        impl ComputeCapability {
            /// Returns the compute capability that the kernel is compiled for. On the host:
            /// `Compute70`, the lowest supported.
            #[inline(always)]
            pub fn from_cuda_arch_env() -> Self {
                let arch = match cfg!(target_arch = "nvptx64") {
                    true => option_env!("CUDA_ARCH"),
                    false => None,
                };
                match arch {
                    $(Some($arch) => Self::$name,)*
                    _ => Self::Compute70,
                }
            }
        }
    };
}

capabilities! {
    Compute35 "sm_35" "350"
    Compute37 "sm_37" "370"
    Compute50 "sm_50" "500"
    Compute52 "sm_52" "520"
    Compute53 "sm_53" "530"
    Compute60 "sm_60" "600"
    Compute61 "sm_61" "610"
    Compute62 "sm_62" "620"
    Compute70 "sm_70" "700"
    Compute72 "sm_72" "720"
    Compute75 "sm_75" "750"
    Compute80 "sm_80" "800"
    Compute86 "sm_86" "860"
    Compute87 "sm_87" "870"
    Compute89 "sm_89" "890"
    Compute90 "sm_90" "900"
    Compute100 "sm_100" "1000"
    Compute103 "sm_103" "1030"
    Compute110 "sm_110" "1100"
    Compute120 "sm_120" "1200"
    Compute121 "sm_121" "1210"
}
