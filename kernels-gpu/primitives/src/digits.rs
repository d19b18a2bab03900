//! The lanes of a warp whose keys have the same digit.

use cuda_std::warp::FULL_MASK;

/// A bit for every lane whose key has the same digit of 8 bits: a ballot for each bit.
///
/// LLVM makes two predicates of each bit, one for the ballot and one for what comes of it, and so
/// six instructions a bit. These are four.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn lanes_with(digit: u32) -> u32 {
    let mut lanes = FULL_MASK;
    cuda_std::unrolled! { bit in [0 1 2 3 4 5 6 7] {
        let with_same: u32;
        // SAFETY: all lanes are here, and a vote touches no memory.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred p; .reg .b32 t;",
                "and.b32 t, {digit}, {bit}; setp.ne.b32 p, t, 0;",
                "vote.sync.ballot.b32 {with_same}, p, 0xffffffff;",
                "@!p not.b32 {with_same}, {with_same}; }}",
                digit = in(reg32) digit,
                with_same = out(reg32) with_same,
                bit = in(reg32) 1u32 << bit,
            )
        };
        lanes &= with_same;
    }}
    lanes
}

/// A bit for every lane whose key has the same digit of 8 bits.
#[cfg(not(target_arch = "nvptx64"))]
pub fn lanes_with(digit: u32) -> u32 {
    let mut lanes = FULL_MASK;
    for bit in 0..crate::DIGIT_BITS {
        let is_set = digit >> bit & 1 != 0;
        let with_it = cuda_std::warp::ballot(FULL_MASK, is_set);
        lanes &= if is_set { with_it } else { !with_it };
    }
    lanes
}
