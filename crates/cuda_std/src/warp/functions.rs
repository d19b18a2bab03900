//! The functions of a warp under Rust-CUDA's names: shuffles that tell whether the source lane
//! exists, votes, matches and reductions.

use super::{FULL_MASK, WARP_SIZE, WarpNumber, WarpValue, ballot, lane_id, match_any, shuffle_idx};

/// The types that a shuffle moves; see [`WarpValue`].
pub use super::WarpValue as WarpShuffleValue;

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpShuffleMode {
    /// The lane `b` below.
    Up,
    /// The lane `b` above.
    Down,
    /// Lane `b`.
    Idx,
    /// The lane whose number is this one's exclusive or with `b`.
    Xor,
}

impl WarpShuffleMode {
    /// Returns the lane that `lane` reads in groups of `width` lanes, and whether its group has it.
    /// A lane whose group lacks it reads itself.
    fn source(self, lane: u32, b: u32, width: u32) -> (u32, bool) {
        let (first, b) = (lane & !(width - 1), b % WARP_SIZE);
        let last = first + width - 1;
        let source = match self {
            Self::Up => lane.checked_sub(b).filter(|&source| source >= first),
            Self::Down => Some(lane + b).filter(|&source| source <= last),
            Self::Idx => Some(first | (b & (width - 1))),
            Self::Xor => Some(lane ^ b).filter(|&source| source <= last),
        };
        (source.unwrap_or(lane), source.is_some())
    }
}

/// Returns the value of another lane in groups of `width` lanes, and whether there is such a lane:
/// else the value is this lane's.
///
/// # Panics
/// If `width` is not a power of two up to 32.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn shuffle<T: WarpValue>(
    mode: WarpShuffleMode,
    mask: u32,
    value: T,
    b: u32,
    width: u32,
) -> (T, bool) {
    assert!(
        width.is_power_of_two() && width <= WARP_SIZE,
        "the width of a shuffle is a power of two up to 32"
    );
    let (source, is_there) = mode.source(lane_id(), b, width);
    (shuffle_idx(mask, value, source), is_there)
}

macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($argument:ident) = $mode:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Groups have `width` lanes, a power of two up to 32. The second result tells whether the
        /// lane is in the group; if it is not, the first is this lane's `value`.
        ///
        /// # Panics
        /// If `width` is not a power of two up to 32.
        ///
        /// # Safety
        /// All lanes of `mask`, the caller among them, call this with the same mask.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name<T: WarpShuffleValue>(
            mask: u32,
            value: T,
            $argument: u32,
            width: u32,
        ) -> (T, bool) {
            shuffle(WarpShuffleMode::$mode, mask, value, $argument, width)
        }
    )*};
}

shuffles! {
    /// Returns the value of the lane `delta` (modulo 32) above in this lane's group.
    warp_shuffle_down(delta) = Down;
    /// Returns the value of the lane `delta` (modulo 32) below in this lane's group.
    warp_shuffle_up(delta) = Up;
    /// Returns the value of lane `idx` (modulo `width`) of this lane's group.
    warp_shuffle_idx(idx) = Idx;
    /// Returns the value of the lane whose number is this one's exclusive or with `lane_mask`
    /// (modulo 32). A lane of an earlier group is read too, and counts as one of the group.
    warp_shuffle_xor(lane_mask) = Xor;
}

/// Whether `predicate` holds in every lane of the mask.
///
/// # Safety
/// All lanes of `mask`, the caller among them, call this with the same mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) == mask
}

/// Whether `predicate` holds in some lane of the mask.
///
/// # Safety
/// As of [`warp_vote_all`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) != 0
}

/// Returns a bit for every lane of the mask whose `predicate` holds.
///
/// # Safety
/// As of [`warp_vote_all`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    ballot(mask, predicate)
}

/// A number of 32 or 64 bits, which lanes compare by its bits.
pub trait WarpMatchValue: Copy {
    /// The low and the high word, equal for numbers of 32 bits.
    #[doc(hidden)]
    fn words(self) -> [u32; 2];
}

macro_rules! match_values {
    ($($type:ty, $bits:expr;)*) => {$(
        impl WarpMatchValue for $type {
            #[inline(always)]
            fn words(self) -> [u32; 2] {
                let bits: u64 = $bits(self);
                [bits as u32, (bits >> 32) as u32]
            }
        }
    )*};
}

match_values! {
    i32, |value| value as u32 as u64;
    u32, u64::from;
    i64, |value| value as u64;
    u64, |value| value;
    f32, |value: f32| u64::from(value.to_bits());
    f64, f64::to_bits;
}

/// Returns a bit for every lane of the mask that holds the same `value` as this one, by its bits.
///
/// # Safety
/// As of [`warp_vote_all`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    let [low, high] = value.words();
    let lanes = match_any(mask, low);
    if size_of::<T>() == 4 {
        return lanes;
    }
    lanes & match_any(mask, high)
}

/// Returns the mask if all its lanes hold the same `value`, by its bits.
///
/// # Safety
/// As of [`warp_vote_all`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: by the contract of this function, all lanes of the mask call it together.
    let lanes = unsafe { warp_match_any(mask, value) };
    (lanes == mask).then_some(mask)
}

/// Returns the lanes of the warp that run together at this moment. It says nothing about a moment
/// later: functions that take a mask bring its lanes together.
///
/// The simulator runs lanes in turn: each sees itself alone.
#[inline(always)]
pub fn activemask() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mask: u32;
        // SAFETY: it reads which lanes are active, and touches no memory.
        unsafe { core::arch::asm!("activemask.b32 {};", out(reg32) mask) };
        mask
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1 << lane_id()
    }
}

/// The way in which [`warp_reduce`] combines values.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, which wraps.
    Add,
    /// The smallest.
    Min,
    /// The greatest.
    Max,
    /// The bits that are set in all.
    And,
    /// The bits that are set in some.
    Or,
    /// The bits that are set in an odd number.
    Xor,
}

/// The types that [`warp_reduce`] combines: `u32` and `i32`.
pub trait WarpReduceValue: WarpNumber {
    #[doc(hidden)]
    fn combined(self, other: Self, op: WarpReductionOp) -> Self;
}

macro_rules! reduce_values {
    ($($type:ty)*) => {$(
        impl WarpReduceValue for $type {
            #[inline(always)]
            fn combined(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self.wrapping_add(other),
                    WarpReductionOp::Min => self.min(other),
                    WarpReductionOp::Max => self.max(other),
                    WarpReductionOp::And => self & other,
                    WarpReductionOp::Or => self | other,
                    WarpReductionOp::Xor => self ^ other,
                }
            }
        }
    )*};
}
reduce_values! { u32 i32 }

/// Combines the values of all lanes of the mask, and gives each of them the result.
///
/// # Safety
/// As of [`warp_vote_all`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    if mask == FULL_MASK {
        return super::reduce(value, |a, b| a.combined(b, op));
    }
    let mut lanes = mask & (mask - 1);
    let mut result = shuffle_idx(mask, value, mask.trailing_zeros());
    while lanes != 0 {
        result = result.combined(shuffle_idx(mask, value, lanes.trailing_zeros()), op);
        lanes &= lanes - 1;
    }
    result
}
