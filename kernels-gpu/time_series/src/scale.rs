//! Powers of two that keep sums and squares of very large and very small values within the range of
//! `f64`.

use core::hint::cold_path;

use cuda_std::warp::WarpValue;

/// The power of two by which a state multiplies the values that it adds.
///
/// Values from 2⁻⁴⁰⁰ to 2⁴⁷⁹ in magnitude are *ordinary*: the sum of fewer than 2³² deviations, each
/// below 2⁴⁸⁰, is below 2⁵¹², so that neither its square nor the squares' sum overflows, and
/// no square loses bits that matter, since two ordinary values differ by 2⁻⁴⁵³ at least. A state
/// with a larger value multiplies by 2⁻⁶⁰⁰, and one whose values are all smaller by 2⁶⁰⁰. The order
/// is that of the values, so a state that merges two takes the higher scale of both.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scale(u32);

// SAFETY: a number; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Scale {}
// SAFETY: `repr(transparent)` of a `u32`, all bits of which are values, and `Copy`.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Scale {}

/// 2⁶⁰⁰ and 2⁻⁶⁰⁰.
const LARGE: f64 = f64::from_bits((1023 + 600) << 52);
const SMALL: f64 = f64::from_bits((1023 - 600) << 52);

/// The upper halves of the smallest ordinary number and of the smallest one above all ordinary
/// ones.
const LOWEST: u32 = (1023 - 400) << 20;
const BEYOND: u32 = (1023 + 479) << 20;

/// The upper half of the absolute value.
#[inline(always)]
fn upper_half(value: f64) -> u32 {
    (value.to_bits() >> 32) as u32 & 0x7fff_ffff
}

/// Whether a value is too large to be ordinary, or not finite.
#[inline(always)]
pub(crate) fn is_large(value: f64) -> bool {
    upper_half(value) >= BEYOND
}

/// Whether a sum is finite, and so far from overflow that many like it can be added.
#[inline(always)]
pub(crate) fn has_room(sum: f64) -> bool {
    upper_half(sum) < (1023 + 900) << 20
}

/// Whether a value can be added without scaling: it is ordinary, or zero.
#[inline(always)]
pub(crate) fn is_ordinary(value: f64) -> bool {
    (upper_half(value).wrapping_sub(LOWEST) < BEYOND - LOWEST) | (value == 0.0)
}

impl Scale {
    /// 2⁶⁰⁰, where all values are small.
    pub const UP: Scale = Scale(0);
    /// 1, for ordinary values and zero.
    pub const ONE: Scale = Scale(1);
    /// 2⁻⁶⁰⁰, where there is a large value.
    pub const DOWN: Scale = Scale(2);

    /// The scale for a value.
    #[inline(always)]
    pub fn of(value: f64) -> Scale {
        if is_large(value) {
            Scale::DOWN
        } else if is_ordinary(value) {
            Scale::ONE
        } else {
            Scale::UP
        }
    }

    /// The higher one of two scales.
    #[inline(always)]
    pub fn max(self, other: Scale) -> Scale {
        if other.0 > self.0 { other } else { self }
    }

    /// The number at this scale.
    #[inline(always)]
    pub fn apply(self, number: f64) -> f64 {
        match self {
            Scale::UP => number * LARGE,
            Scale::DOWN => number * SMALL,
            _ => number,
        }
    }

    /// The number from which [`apply`](Self::apply) made this one.
    #[inline(always)]
    pub fn undo(self, number: f64) -> f64 {
        if self == Scale::ONE {
            return number;
        }
        cold_path();
        number * if self == Scale::UP { SMALL } else { LARGE }
    }

    /// The power of two that brings a number from this scale to another one.
    #[inline(always)]
    pub fn to(self, other: Scale) -> f64 {
        // A step back is for zeros alone. Two steps make zeros of numbers that are too small to
        // matter.
        match other.0.wrapping_sub(self.0) {
            1 => SMALL,
            2 => 0.0,
            _ => 1.0,
        }
    }
}

impl WarpValue for Scale {
    #[inline(always)]
    fn map_words(self, f: impl FnMut(u32) -> u32) -> Self {
        Scale(self.0.map_words(f))
    }
}
