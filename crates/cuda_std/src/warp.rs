//! Operations among the 32 lanes of a warp.
//!
//! Each takes a mask with a bit for every lane that takes part. Every lane named in the mask must
//! call the same operation with the same mask, and the caller must be one of them: otherwise the
//! result is undefined on a GPU, and an error in the simulator.

mod functions;
#[cfg(not(target_arch = "nvptx64"))]
mod operation;
mod size;

pub use functions::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use operation::WarpOperation;
pub use size::WARP_SIZE;

/// The mask of all 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;

#[cfg(target_arch = "nvptx64")]
mod intrinsics {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
        pub fn shuffle_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
        pub fn shuffle_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        pub fn shuffle_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
        pub fn shuffle_xor(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        pub fn ballot(mask: u32, predicate: bool) -> u32;
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        pub fn match_any(mask: u32, value: u32) -> u32;
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        pub fn sync(mask: u32);
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        pub fn lane_id() -> u32;
    }
}

macro_rules! collective {
    ($($(#[$doc:meta])* $name:ident, $intrinsic:ident, $operation:ident, $clamp:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name<T: WarpValue>(mask: u32, value: T, argument: u32) -> T {
            #[cfg(target_arch = "nvptx64")]
            {
                // SAFETY: a shuffle touches no memory.
                value.map_words(|word| unsafe {
                    intrinsics::$intrinsic(mask, word, argument, $clamp)
                })
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let site = core::panic::Location::caller();
                value.map_words(|word| {
                    crate::host::lane().warp(WarpOperation::$operation, mask, word, argument, site)
                })
            }
        }
    )*};
}

collective! {
    /// The value that lane `argument` (modulo 32) holds.
    shuffle_idx, shuffle_idx, ShuffleIdx, 31;
    /// The value of the lane `argument` (modulo 32) below; a lane with none there keeps its own.
    shuffle_up, shuffle_up, ShuffleUp, 0;
    /// The value of the lane `argument` (modulo 32) above; a lane with none there keeps its own.
    shuffle_down, shuffle_down, ShuffleDown, 31;
    /// The value of the lane whose number is this one's exclusive or with `argument` (modulo 32).
    shuffle_xor, shuffle_xor, ShuffleXor, 31;
}

/// A bit for every lane of the mask whose `predicate` holds.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: a vote touches no memory.
        unsafe { intrinsics::ballot(mask, predicate) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let site = core::panic::Location::caller();
        crate::host::lane().warp(WarpOperation::Ballot, mask, u32::from(predicate), 0, site)
    }
}

/// Whether `predicate` holds in every lane of the mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn all(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) == mask
}

/// Whether `predicate` holds in some lane of the mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn any(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) != 0
}

/// A bit for every lane of the mask that holds the same `value` as this one.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn match_any(mask: u32, value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: a vote touches no memory.
        unsafe { intrinsics::match_any(mask, value) }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let site = core::panic::Location::caller();
        crate::host::lane().warp(WarpOperation::MatchAny, mask, value, 0, site)
    }
}

/// Waits for the lanes of the mask and makes their earlier memory accesses visible to each other.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_warp(mask: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier touches no memory.
    unsafe {
        intrinsics::sync(mask)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::lane().warp(
        WarpOperation::Sync,
        mask,
        0,
        0,
        core::panic::Location::caller(),
    );
}

/// The lane's number in its warp, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: reading a special register has no preconditions.
        unsafe { intrinsics::lane_id() }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::thread::index_in_block() % WARP_SIZE
    }
}

/// Combines the values of all 32 lanes with `combine`, and gives every lane the result.
///
/// The order is that of a butterfly (lanes 16 apart first), the same on every run; `combine` must
/// be commutative for all lanes to agree to the last bit. All 32 lanes must take part.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn reduce<T: WarpValue>(mut value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        value = combine(value, shuffle_xor(FULL_MASK, value, distance));
        distance /= 2;
    }
    value
}

/// The sum over all 32 lanes, in every lane; integers wrap. All 32 lanes must take part.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn reduce_sum<T: WarpNumber>(value: T) -> T {
    reduce(value, T::sum)
}

/// The minimum over all 32 lanes, in every lane; NaN is passed over, −0 is below 0. All 32 lanes
/// must take part.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn reduce_min<T: WarpNumber>(value: T) -> T {
    reduce(value, T::minimum)
}

/// The maximum over all 32 lanes, in every lane; NaN is passed over, −0 is below 0. All 32 lanes
/// must take part.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn reduce_max<T: WarpNumber>(value: T) -> T {
    reduce(value, T::maximum)
}

/// The types that a shuffle moves: numbers of 32 or 64 bits (the latter take two shuffles), pairs and
/// arrays of such, and structs that say how.
///
/// ```
/// use cuda_std::warp::WarpValue;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Mean {
///     sum: f64,
///     count: u32,
/// }
///
/// impl WarpValue for Mean {
///     fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
///         Mean { sum: self.sum.map_words(&mut f), count: self.count.map_words(f) }
///     }
/// }
/// # let mean = Mean { sum: 2.0, count: 3 };
/// # assert_eq!(mean.map_words(|word| word), mean);
/// ```
pub trait WarpValue: Copy {
    /// Applies `f` to each 32-bit word, the low one first.
    fn map_words(self, f: impl FnMut(u32) -> u32) -> Self;
}

impl<A: WarpValue, B: WarpValue> WarpValue for (A, B) {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        (self.0.map_words(&mut f), self.1.map_words(f))
    }
}

impl<T: WarpValue, const N: usize> WarpValue for [T; N] {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        self.map(|element| element.map_words(&mut f))
    }
}

/// The types that [`reduce_sum`], [`reduce_min`] and [`reduce_max`] combine.
pub trait WarpNumber: WarpValue {
    /// The sum; integers wrap.
    fn sum(self, other: Self) -> Self;
    /// The smaller one; a NaN gives way to a number, and −0 is below 0.
    fn minimum(self, other: Self) -> Self;
    /// The larger one; a NaN gives way to a number, and 0 is above −0.
    fn maximum(self, other: Self) -> Self;
}

macro_rules! warp_value {
    ($($type:ty, $to:expr, $from:expr, $bits:ty, $sum:expr, $min:expr, $max:expr;)*) => {$(
        impl WarpValue for $type {
            #[inline(always)]
            fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
                let bits: $bits = $to(self);
                let mut result: $bits = 0;
                let mut shift = 0;
                while shift < <$bits>::BITS {
                    result |= (f((bits >> shift) as u32) as $bits) << shift;
                    shift += 32;
                }
                $from(result)
            }
        }
        impl WarpNumber for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                $sum(self, other)
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                $min(self, other)
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                $max(self, other)
            }
        }
    )*};
}

macro_rules! float_order {
    ($($type:ident, $smaller:ident, $larger:ident;)*) => {$(
        #[inline(always)]
        fn $smaller(a: $type, b: $type) -> $type {
            // The GPU's instruction orders the zeros; the standard library leaves that open, so
            // that lanes could disagree on the host. Equal numbers have equal bits otherwise.
            #[cfg(not(target_arch = "nvptx64"))]
            if a == b {
                return $type::from_bits(a.to_bits() | b.to_bits());
            }
            a.min(b)
        }

        #[inline(always)]
        fn $larger(a: $type, b: $type) -> $type {
            #[cfg(not(target_arch = "nvptx64"))]
            if a == b {
                return $type::from_bits(a.to_bits() & b.to_bits());
            }
            a.max(b)
        }
    )*};
}

float_order! {
    f32, smaller_f32, larger_f32;
    f64, smaller_f64, larger_f64;
}

macro_rules! narrow_value {
    ($($type:ty, $to:expr, $from:expr;)*) => {$(
        impl WarpValue for $type {
            #[inline(always)]
            fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
                $from(f($to(self)))
            }
        }
    )*};
}

narrow_value! {
    u8, u32::from, |word| word as u8;
    i8, |value| value as u32, |word| word as i8;
    u16, u32::from, |word| word as u16;
    i16, |value| value as u32, |word| word as i16;
    bool, u32::from, |word| word != 0;
}

#[cfg(feature = "half")]
narrow_value! {
    half::f16, |value: half::f16| u32::from(value.to_bits()), |word| half::f16::from_bits(word as u16);
    half::bf16, |value: half::bf16| u32::from(value.to_bits()), |word| half::bf16::from_bits(word as u16);
}

macro_rules! wide_value {
    ($($type:ty)*) => {$(
        impl WarpValue for $type {
            #[inline(always)]
            fn map_words(self, f: impl FnMut(u32) -> u32) -> Self {
                let [low, high] = [self as u64, (self as u128 >> 64) as u64].map_words(f);
                (u128::from(high) << 64 | u128::from(low)) as $type
            }
        }
    )*};
}
wide_value! { u128 i128 }

warp_value! {
    u32, |v| v, |v| v, u32, u32::wrapping_add, Ord::min, Ord::max;
    i32, |v| v as u32, |v| v as i32, u32, i32::wrapping_add, Ord::min, Ord::max;
    u64, |v| v, |v| v, u64, u64::wrapping_add, Ord::min, Ord::max;
    i64, |v| v as u64, |v| v as i64, u64, i64::wrapping_add, Ord::min, Ord::max;
    f32, f32::to_bits, f32::from_bits, u32, |a: f32, b| a + b, smaller_f32, larger_f32;
    f64, f64::to_bits, f64::from_bits, u64, |a: f64, b| a + b, smaller_f64, larger_f64;
}
