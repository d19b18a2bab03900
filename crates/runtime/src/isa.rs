//! Loops that are compiled for each instruction set, and run with the best one of the CPU.
//!
//! A program has to run on every CPU of its architecture. On x86-64, code is therefore compiled for
//! vectors of two `f64`, and most CPUs have vectors of four or eight. On other architectures every
//! CPU has the vectors that loops need, such as Neon on aarch64.

/// An instruction set that the CPU has.
#[derive(Clone, Copy, Debug)]
pub enum Isa {
    /// What every CPU of the architecture has.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Isa {
    /// Returns the best instruction set of this CPU. A call takes nanoseconds, since the standard
    /// library asks the CPU only once.
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(avx512) = Avx512::detect() {
                return Isa::Avx512(avx512);
            }
            if let Some(avx2) = Avx2::detect() {
                return Isa::Avx2(avx2);
            }
        }
        Isa::Baseline
    }

    /// Calls `work` with the instructions of this set. `work` is compiled once for each set.
    ///
    /// Only what is inlined into the caller is compiled for its instructions. So `work` has to be a
    /// closure with `#[inline(always)]`, and so do the functions with its loops:
    ///
    /// ```
    /// use gridstride_runtime::isa::Isa;
    ///
    /// #[inline(always)]
    /// fn double(numbers: &mut [f32]) {
    ///     numbers.iter_mut().for_each(|number| *number *= 2.0);
    /// }
    ///
    /// let mut numbers = [1.0, 2.0, 3.0];
    /// Isa::detect().run(
    ///     #[inline(always)]
    ///     || double(&mut numbers),
    /// );
    /// assert_eq!(numbers, [2.0, 4.0, 6.0]);
    /// ```
    #[inline(always)]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            Isa::Baseline => work(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(avx2) => avx2.run(work),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(avx512) => avx512.run(work),
        }
    }
}

/// Defines a type whose values prove that the CPU has all of some features.
#[cfg(target_arch = "x86_64")]
macro_rules! instruction_set {
    ($(#[$doc:meta])* $set:ident: $($feature:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $set(());

        impl $set {
            /// Returns a value if the CPU has these instructions.
            pub fn detect() -> Option<$set> {
                let has_all = true $(&& is_x86_feature_detected!($feature))*;
                has_all.then_some($set(()))
            }

            /// As [`Isa::run`], with these instructions.
            #[inline(always)]
            pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
                #[inline]
                $(#[target_feature(enable = $feature)])*
                fn run<R>(work: impl FnOnce() -> R) -> R {
                    work()
                }
                // SAFETY: the CPU has these features, since only `detect` makes values of this type.
                unsafe { run(work) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instruction_set! {
    /// AVX2 and what all CPUs with it have: the microarchitecture level x86-64-v3 without F16C and
    /// MOVBE.
    Avx2: "avx2" "bmi1" "bmi2" "fma" "lzcnt" "popcnt"
}

#[cfg(target_arch = "x86_64")]
instruction_set! {
    /// AVX-512 as in the microarchitecture level x86-64-v4.
    Avx512: "avx2" "bmi1" "bmi2" "fma" "lzcnt" "popcnt"
        "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"
}

#[cfg(target_arch = "x86_64")]
impl Isa {
    /// Returns AVX2 if it is among these instructions.
    #[inline(always)]
    pub fn avx2(self) -> Option<Avx2> {
        match self {
            Isa::Baseline => None,
            Isa::Avx2(avx2) => Some(avx2),
            Isa::Avx512(_) => Some(Avx2(())),
        }
    }
}
