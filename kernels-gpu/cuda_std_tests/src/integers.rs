//! Operations on integers of all widths: those that wrap, saturate, are checked or overflow, and conversions.
//!
//! The functions run on the host too, which says what is right.

use cuda_std::prelude::*;

/// Names of results, and for each type a function of two numbers, and a kernel that calls it for every pair.
macro_rules! operations {
    (
        $(#[$doc:meta])*
        $names:ident ($a:ident, $b:ident, $count:ident, $some:ident, $pair:ident) $table:tt
        $($type:ident $kernel:ident,)*
    ) => {
        $(#[$doc])*
        pub const $names: &[&str] = &names!($table);

        $(
            #[doc = concat!("The results of two numbers of `", stringify!($type), "`.")]
            pub fn $type($a: $type, $b: $type) -> [$type; $names.len()] {
                let $count = $b as u32;
                // Whether there is a number, and whether it overflowed, changes the bits.
                let $some = |number: Option<$type>| number.map_or(85, |number| number ^ 21);
                let $pair = |(number, overflows): ($type, bool)| if overflows { !number } else { number };
                results!($type $table)
            }

            #[doc = concat!("Those of pairs of numbers of `", stringify!($type), "`.")]
            ///
            /// # Safety
            /// `numbers` and `out` have an element per thread.
            #[kernel(max_block = 128)]
            pub unsafe fn $kernel(numbers: DeviceSlice<[$type; 2]>, out: DeviceSliceMut<[$type; $names.len()]>) {
                let i = thread::global_index();
                // SAFETY: an element per thread.
                unsafe {
                    let [a, b] = numbers.at(i);
                    out.set(i, $type(a, b));
                }
            }
        )*
    };
}

macro_rules! names {
    ({ $($name:literal => $result:expr,)* }) => { [$($name),*] };
}

macro_rules! results {
    ($type:ident { $($name:literal => $result:expr,)* }) => { [$(($result) as $type),*] };
}

operations! {
    /// What signed numbers are asked for.
    SIGNED (a, b, count, some, pair) {
        "wrapping_add" => a.wrapping_add(b),
        "wrapping_sub" => a.wrapping_sub(b),
        "wrapping_mul" => a.wrapping_mul(b),
        "wrapping_neg" => a.wrapping_neg(),
        "wrapping_abs" => a.wrapping_abs(),
        "wrapping_shl" => a.wrapping_shl(count),
        "wrapping_shr" => a.wrapping_shr(count),
        "wrapping_pow" => a.wrapping_pow(count & 7),
        "saturating_add" => a.saturating_add(b),
        "saturating_sub" => a.saturating_sub(b),
        "saturating_mul" => a.saturating_mul(b),
        "saturating_neg" => a.saturating_neg(),
        "saturating_abs" => a.saturating_abs(),
        "saturating_pow" => a.saturating_pow(count & 7),
        "checked_add" => some(a.checked_add(b)),
        "checked_sub" => some(a.checked_sub(b)),
        "checked_mul" => some(a.checked_mul(b)),
        "checked_div" => some(a.checked_div(b)),
        "checked_rem" => some(a.checked_rem(b)),
        "checked_div_euclid" => some(a.checked_div_euclid(b)),
        "checked_rem_euclid" => some(a.checked_rem_euclid(b)),
        "checked_neg" => some(a.checked_neg()),
        "checked_abs" => some(a.checked_abs()),
        "checked_shl" => some(a.checked_shl(count)),
        "checked_shr" => some(a.checked_shr(count)),
        "checked_pow" => some(a.checked_pow(count & 7)),
        "overflowing_add" => pair(a.overflowing_add(b)),
        "overflowing_sub" => pair(a.overflowing_sub(b)),
        "overflowing_mul" => pair(a.overflowing_mul(b)),
        "overflowing_neg" => pair(a.overflowing_neg()),
        "overflowing_abs" => pair(a.overflowing_abs()),
        "overflowing_div" => if b == 0 { 0 } else { pair(a.overflowing_div(b)) },
        "overflowing_shl" => pair(a.overflowing_shl(count)),
        "saturating_div" => if b == 0 { 0 } else { a.saturating_div(b) },
        "unsigned_abs" => a.unsigned_abs(),
        "abs_diff" => a.abs_diff(b),
        "signum" => a.signum(),
        "midpoint" => a.midpoint(b),
        "min" => a.min(b),
        "max" => a.max(b),
        "<" => a < b,
        "cmp" => a.cmp(&b) as i8,
        "rotate_left" => a.rotate_left(count),
        "reverse_bits" => a.reverse_bits(),
        "swap_bytes" => a.swap_bytes(),
        "leading_zeros" => a.leading_zeros(),
        "trailing_zeros" => a.trailing_zeros(),
        "count_ones" => a.count_ones(),
        "negated below zero" => if a.wrapping_neg() < 0 { 1 } else { 0 },
        "difference below zero" => if a.wrapping_sub(b) < 0 { 1 } else { 0 },
        "absolute below one" => if a.wrapping_abs() < 1 { 1 } else { 0 },
    }
    i8 of_i8,
    i16 of_i16,
    i32 of_i32,
    i64 of_i64,
    i128 of_i128,
}

operations! {
    /// What unsigned numbers are asked for.
    UNSIGNED (a, b, count, some, pair) {
        "wrapping_add" => a.wrapping_add(b),
        "wrapping_sub" => a.wrapping_sub(b),
        "wrapping_mul" => a.wrapping_mul(b),
        "wrapping_neg" => a.wrapping_neg(),
        "wrapping_shl" => a.wrapping_shl(count),
        "wrapping_shr" => a.wrapping_shr(count),
        "wrapping_pow" => a.wrapping_pow(count & 7),
        "saturating_add" => a.saturating_add(b),
        "saturating_sub" => a.saturating_sub(b),
        "saturating_mul" => a.saturating_mul(b),
        "saturating_pow" => a.saturating_pow(count & 7),
        "checked_add" => some(a.checked_add(b)),
        "checked_sub" => some(a.checked_sub(b)),
        "checked_mul" => some(a.checked_mul(b)),
        "checked_div" => some(a.checked_div(b)),
        "checked_rem" => some(a.checked_rem(b)),
        "checked_neg" => some(a.checked_neg()),
        "checked_shl" => some(a.checked_shl(count)),
        "checked_shr" => some(a.checked_shr(count)),
        "checked_pow" => some(a.checked_pow(count & 7)),
        "checked_next_power_of_two" => some(a.checked_next_power_of_two()),
        "checked_next_multiple_of" => some(a.checked_next_multiple_of(b)),
        "overflowing_add" => pair(a.overflowing_add(b)),
        "overflowing_sub" => pair(a.overflowing_sub(b)),
        "overflowing_mul" => pair(a.overflowing_mul(b)),
        "overflowing_neg" => pair(a.overflowing_neg()),
        "overflowing_shl" => pair(a.overflowing_shl(count)),
        "abs_diff" => a.abs_diff(b),
        "midpoint" => a.midpoint(b),
        "isqrt" => a.isqrt(),
        "min" => a.min(b),
        "max" => a.max(b),
        "<" => a < b,
        "cmp" => a.cmp(&b) as i8,
        "rotate_left" => a.rotate_left(count),
        "reverse_bits" => a.reverse_bits(),
        "swap_bytes" => a.swap_bytes(),
        "leading_zeros" => a.leading_zeros(),
        "trailing_zeros" => a.trailing_zeros(),
        "count_ones" => a.count_ones(),
    }
    u8 of_u8,
    u16 of_u16,
    u32 of_u32,
    u64 of_u64,
    u128 of_u128,
}

/// What a number of 128 bits becomes: narrower integers, which are widened again, and the bits of floats.
pub fn conversions(x: u128) -> [u128; 26] {
    let signed = x as i128;
    let floats = |double: f64, single: f32| [u128::from(double.to_bits()), u128::from(single.to_bits())];
    let [a, b] = floats(x as f64, x as f32);
    let [c, d] = floats(signed as f64, signed as f32);
    let [e, f] = floats(x as u64 as f64, x as u64 as f32);
    let [g, h] = floats(x as i64 as f64, x as i64 as f32);
    let [i, j] = floats(x as u32 as f64, x as u32 as f32);
    let [k, l] = floats(x as i32 as f64, x as i32 as f32);
    let [m, n] = floats(f64::from(x as i16), f32::from(x as u16));
    let [o, p] = floats(f64::from(x as i8), f32::from(x as u8));
    let integers = [x as i8 as u128, x as u8 as u128, x as i16 as u128, x as u16 as u128];
    let [q, r, s, t] = integers;
    let [u, v, w, y] = [x as i32 as u128, x as u32 as u128, x as i64 as u128, x as u64 as u128];
    let [z, last] = [(x as i16 as i8) as u128, (x as u8 as i16) as u128];
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, last]
}

/// What a float of either precision becomes: integers of all widths, widened to 128 bits.
pub fn truncations(x: f64) -> [u128; 20] {
    let y = x as f32;
    [
        x as i8 as u128, x as u8 as u128, x as i16 as u128, x as u16 as u128, x as i32 as u128,
        x as u32 as u128, x as i64 as u128, x as u64 as u128, x as i128 as u128, x as u128,
        y as i8 as u128, y as u8 as u128, y as i16 as u128, y as u16 as u128, y as i32 as u128,
        y as u32 as u128, y as i64 as u128, y as u64 as u128, y as i128 as u128, y as u128,
    ]
}

/// The conversions of integers.
///
/// # Safety
/// `numbers` and `out` have an element per thread.
#[kernel(max_block = 128)]
pub unsafe fn conversions_of_integers(numbers: DeviceSlice<u128>, out: DeviceSliceMut<[u128; 26]>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { out.set(i, conversions(numbers.at(i))) };
}

/// The conversions of floats.
///
/// # Safety
/// `numbers` and `out` have an element per thread.
#[kernel(max_block = 128)]
pub unsafe fn truncations_of_floats(numbers: DeviceSlice<f64>, out: DeviceSliceMut<[u128; 20]>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { out.set(i, truncations(numbers.at(i))) };
}
