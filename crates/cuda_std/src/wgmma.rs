//! Matrix instructions of a warp group, the 128 threads of four warps: D = A·B + D with A (64×K)
//! and B (K×N) in shared memory, for compute capability 9.0 alone.
//!
//! They run while the threads go on: a group of them begins with [`fence`], ends with [`commit`],
//! and its sums, and the memory of its A and B, may be touched after [`wait`]. What was written to
//! that memory, by stores or asynchronous copies, must be made visible with [`publish`] by the
//! threads that wrote it, before the barrier that precedes the instructions.
//!
//! All 128 threads must call the same functions at the same places. Warp w of the group has rows
//! 16w to 16w + 15 of D: with lane = 4·g + t, element 4j + 2h + i of a thread's sums is that of row
//! 16w + g + 8h and column 8j + 2t + i.
//!
//! # Operands
//! A tile consists of atoms of 1024 bytes, aligned to that: 8 rows of 128 bytes, whose eight pieces
//! of 16 bytes stand at places that are exclusive or'ed with the row's number. The rows run along k
//! (a row holds 128 bytes of k for one row of A or column of B), or across k (a row holds 128 bytes
//! of the rows of A or columns of B for one k). An [`Operand`] says where the first atom is and how
//! far the others are.
//!
//! On the host the instructions are performed at once; a wait checks that their operands have not
//! changed since.

pub use crate::operand::Operand;

/// Opens a group of instructions: orders earlier accesses to the sums' registers before it.
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only orders.
    unsafe {
        core::arch::asm!("wgmma.fence.sync.aligned;")
    };
}

/// Closes the instructions since the last call into a group.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only counts.
    unsafe {
        core::arch::asm!("wgmma.commit_group.sync.aligned;")
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::wgmma::commit();
}

/// Makes what this thread wrote to shared memory visible to the instructions.
#[inline(always)]
pub fn publish() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only orders.
    unsafe {
        core::arch::asm!("fence.proxy.async.shared::cta;")
    };
}

/// Waits until all but the latest `PENDING` groups of this warp group are finished. The sums of a
/// group that is not must not be touched.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        core::arch::asm!("wgmma.wait_group.sync.aligned {pending};", pending = const PENDING)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::wgmma::wait(PENDING, core::panic::Location::caller());
}

/// A thread's sums.
pub trait Sums {
    /// Keeps the compiler from moving uses of the sums across this place: call it before a group of
    /// instructions and after the wait for it.
    fn hold(&mut self);
}

/// Text of an asm template: the operands, separated by commas.
#[cfg(target_arch = "nvptx64")]
macro_rules! list {
    ($first:ident $($rest:ident)*) => {
        concat!("{", stringify!($first), "}", $(", {", stringify!($rest), "}",)*)
    };
}

macro_rules! instructions {
    ($length:literal $columns:literal
        f16 $f16:ident, bf16 $bf16:ident, tf32 $tf32:ident;
        $($d:ident $index:literal)*) => {
        impl Sums for [f32; $length] {
            #[inline(always)]
            fn hold(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: a comment does nothing.
                unsafe {
                    core::arch::asm!(
                        concat!("// ", list!($($d)*)),
                        $($d = inout(reg32) self[$index],)*
                        options(nomem, nostack),
                    );
                }
            }
        }

        instruction! {
            concat!("64×", $columns, "×16 of f16 with sums in f32; `A_ACROSS` and `B_ACROSS` say whether rows run across k."),
            $f16, $length, concat!("wgmma.mma_async.sync.aligned.m64n", $columns, "k16.f32.f16.f16"), F16,
            [A_ACROSS B_ACROSS], $($d $index)*
        }
        instruction! {
            concat!("64×", $columns, "×16 of bf16 with sums in f32; `A_ACROSS` and `B_ACROSS` say whether rows run across k."),
            $bf16, $length, concat!("wgmma.mma_async.sync.aligned.m64n", $columns, "k16.f32.bf16.bf16"), Bf16,
            [A_ACROSS B_ACROSS], $($d $index)*
        }
        instruction! {
            concat!("64×", $columns, "×8 of f32 of which the upper 19 bits are taken (tf32), with sums in f32; rows run along k."),
            $tf32, $length, concat!("wgmma.mma_async.sync.aligned.m64n", $columns, "k8.f32.tf32.tf32"), Tf32,
            [], $($d $index)*
        }
    };
}

macro_rules! instruction {
    ($doc:expr, $name:ident, $length:literal, $instruction:expr, $kind:ident, [$($across:ident)*],
        $($d:ident $index:literal)*) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// The operands must be initialised dynamic shared memory that nobody writes until the
        /// instruction has been waited for.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name<$(const $across: bool),*>(sums: &mut [f32; $length], a: Operand, b: Operand) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: by the contract of this function, the operands must be initialised dynamic
            // shared memory that nobody writes until the instruction has been waited for.
            unsafe {
                core::arch::asm!(
                    concat!(
                        "{{ .reg .pred %add; setp.ne.b32 %add, 1, 0; ",
                        $instruction, " {{", list!($($d)*), "}}, {a}, {b}, %add, 1, 1",
                        $(", {", stringify!($across), "}",)* "; }}"
                    ),
                    $($d = inout(reg32) sums[$index],)*
                    a = in(reg64) a.bits(),
                    b = in(reg64) b.bits(),
                    $($across = const $across as u32,)*
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::host::wgmma::multiply(
                crate::host::wgmma::Type::$kind, sums, a, b, [$($across),*].as_slice(),
                core::panic::Location::caller(),
            );
        }
    };
}

instructions! {
    32 "64"
    f16 m64n64k16_f16, bf16 m64n64k16_bf16, tf32 m64n64k8_tf32;
        d0 0 d1 1 d2 2 d3 3 d4 4 d5 5 d6 6 d7 7 d8 8 d9 9 d10 10 d11 11 d12 12 d13 13 d14 14 d15 15
        d16 16 d17 17 d18 18 d19 19 d20 20 d21 21 d22 22 d23 23 d24 24 d25 25 d26 26 d27 27 d28 28
        d29 29 d30 30 d31 31
}
instructions! {
    64 "128"
    f16 m64n128k16_f16, bf16 m64n128k16_bf16, tf32 m64n128k8_tf32;
        d0 0 d1 1 d2 2 d3 3 d4 4 d5 5 d6 6 d7 7 d8 8 d9 9 d10 10 d11 11 d12 12 d13 13 d14 14 d15 15 d16 16
        d17 17 d18 18 d19 19 d20 20 d21 21 d22 22 d23 23 d24 24 d25 25 d26 26 d27 27 d28 28 d29 29 d30 30
        d31 31 d32 32 d33 33 d34 34 d35 35 d36 36 d37 37 d38 38 d39 39 d40 40 d41 41 d42 42 d43 43 d44 44
        d45 45 d46 46 d47 47 d48 48 d49 49 d50 50 d51 51 d52 52 d53 53 d54 54 d55 55 d56 56 d57 57 d58 58
        d59 59 d60 60 d61 61 d62 62 d63 63
}
instructions! {
    128 "256"
    f16 m64n256k16_f16, bf16 m64n256k16_bf16, tf32 m64n256k8_tf32;
        d0 0 d1 1 d2 2 d3 3 d4 4 d5 5 d6 6 d7 7 d8 8 d9 9 d10 10 d11 11 d12 12 d13 13 d14 14 d15 15 d16 16
        d17 17 d18 18 d19 19 d20 20 d21 21 d22 22 d23 23 d24 24 d25 25 d26 26 d27 27 d28 28 d29 29 d30 30
        d31 31 d32 32 d33 33 d34 34 d35 35 d36 36 d37 37 d38 38 d39 39 d40 40 d41 41 d42 42 d43 43 d44 44
        d45 45 d46 46 d47 47 d48 48 d49 49 d50 50 d51 51 d52 52 d53 53 d54 54 d55 55 d56 56 d57 57 d58 58
        d59 59 d60 60 d61 61 d62 62 d63 63 d64 64 d65 65 d66 66 d67 67 d68 68 d69 69 d70 70 d71 71 d72 72
        d73 73 d74 74 d75 75 d76 76 d77 77 d78 78 d79 79 d80 80 d81 81 d82 82 d83 83 d84 84 d85 85 d86 86
        d87 87 d88 88 d89 89 d90 90 d91 91 d92 92 d93 93 d94 94 d95 95 d96 96 d97 97 d98 98 d99 99 d100 100
        d101 101 d102 102 d103 103 d104 104 d105 105 d106 106 d107 107 d108 108 d109 109 d110 110 d111 111
        d112 112 d113 113 d114 114 d115 115 d116 116 d117 117 d118 118 d119 119 d120 120 d121 121 d122 122
        d123 123 d124 124 d125 125 d126 126 d127 127
}
