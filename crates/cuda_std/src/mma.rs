//! Matrix instructions of a warp: D = A·B + D of small tiles, spread over its 32 lanes.
//!
//! All 32 lanes must call the same function at the same place. With lane = 4·g + t (g below 8, t
//! below 4), A has rows g and g + 8 and B column g in each lane, D rows g and g + 8 and columns 2t
//! and 2t + 1; each function says which elements exactly.

macro_rules! mma {
    ($(#[$doc:meta])* $name:ident, $feature:literal, $kind:ident, $instruction:literal,
     $number:ty, $register:ident, $input:ty, $input_register:ident,
     [$($d:ident $di:literal)*], [$($a:ident $ai:literal)*], [$($b:ident $bi:literal)*]) => {
        $(#[$doc])*
        #[cfg(any(not(target_arch = "nvptx64"), target_feature = $feature))]
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name(
            d: &mut [$number; [$($di),*].len()],
            a: [$input; [$($ai),*].len()],
            b: [$input; [$($bi),*].len()],
        ) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: registers only; that all lanes are here is the caller's part, whose breach
            // gives undefined numbers.
            unsafe {
                core::arch::asm!(
                    concat!($instruction,
                        " {{", mma!(@list $($d)*), "}}, {{", mma!(@list $($a)*), "}}, {{", mma!(@list $($b)*), "}}, {{",
                        mma!(@list $($d)*), "}};"),
                    $($d = inout($register) d[$di],)*
                    $($a = in($input_register) a[$ai],)*
                    $($b = in($input_register) b[$bi],)*
                    options(nomem, nostack),
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::host::mma::$name(d, a, b, core::panic::Location::caller());
        }
    };
    (@list $first:ident $($rest:ident)*) => {
        concat!("{", stringify!($first), "}", $(", {", stringify!($rest), "}",)*)
    };
}

mma! {
    /// 8×8×4 in f64, for compute capability 8.0: A (g, t), B (t, g), D (g, 2t) and (g, 2t + 1).
    m8n8k4_f64, "sm_80", f64, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    f64, reg64, f64, reg64, [d0 0 d1 1], [a0 0], [b0 0]
}
mma! {
    /// 16×8×4 in f64, for compute capability 9.0: A (g, t), (g + 8, t); B (t, g); D (g, 2t),
    /// (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
    m16n8k4_f64, "sm_90", f64, "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
    f64, reg64, f64, reg64, [d0 0 d1 1 d2 2 d3 3], [a0 0 a1 1], [b0 0]
}
mma! {
    /// 16×8×8 in f64, for compute capability 9.0: A (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4);
    /// B (t, g), (t + 4, g); D (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
    m16n8k8_f64, "sm_90", f64, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
    f64, reg64, f64, reg64, [d0 0 d1 1 d2 2 d3 3], [a0 0 a1 1 a2 2 a3 3], [b0 0 b1 1]
}
mma! {
    /// 16×8×8 of the bits of f32 of which the upper 19 are taken (tf32), with sums in f32, for
    /// compute capability 8.0; elements as in [`m16n8k8_f64`].
    m16n8k8_tf32, "sm_80", tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    f32, reg32, u32, reg32, [d0 0 d1 1 d2 2 d3 3], [a0 0 a1 1 a2 2 a3 3], [b0 0 b1 1]
}
mma! {
    /// 16×8×16 of pairs of f16 with sums in f32, for compute capability 8.0. The lower half of a
    /// word is the element with the lower k: A (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8);
    /// B (2t, g), (2t + 8, g); D as in [`m16n8k8_f64`].
    m16n8k16_f16, "sm_80", f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    f32, reg32, u32, reg32, [d0 0 d1 1 d2 2 d3 3], [a0 0 a1 1 a2 2 a3 3], [b0 0 b1 1]
}
mma! {
    /// [`m16n8k16_f16`] of pairs of bf16.
    m16n8k16_bf16, "sm_80", bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    f32, reg32, u32, reg32, [d0 0 d1 1 d2 2 d3 3], [a0 0 a1 1 a2 2 a3 3], [b0 0 b1 1]
}

/// Four 8×8 tiles of 16-bit numbers from shared memory: lane 8i + r gives the address of row r of
/// tile i, 16 bytes that start at a multiple of 16, and word i of a lane has the two elements 2t
/// and 2t + 1 of row g of tile i; with `TRANSPOSED`, those rows of column g. For compute capability
/// 7.5.
///
/// # Safety
/// Every lane's address must be 16 initialised bytes of the block's dynamic shared memory that
/// nobody writes meanwhile.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_75"))]
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_tiles<const TRANSPOSED: bool>(row: crate::shared::SharedAddress) -> [u32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: by the contract of this function, every lane's address must be 16 initialised
        // bytes of the block's dynamic shared memory that nobody writes meanwhile.
        unsafe {
            if TRANSPOSED {
                core::arch::asm!(
                    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{a}, {b}, {c}, {d}}}, [{row}];",
                    a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                    row = in(reg32) row.bits(),
                );
            } else {
                core::arch::asm!(
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{a}, {b}, {c}, {d}}}, [{row}];",
                    a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                    row = in(reg32) row.bits(),
                );
            }
        }
        [a, b, c, d]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::mma::load_tiles(row, TRANSPOSED, core::panic::Location::caller())
}
