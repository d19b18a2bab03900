//! The order in which boxes are put: neighbours in space become neighbours in memory.
//!
//! A key has, from its highest bit down: the set; the class of the box's size; the place of its
//! centre on Hilbert's curve (J. Skilling, 'Programming the Hilbert curve', AIP Conference
//! Proceedings 707, 2004). What follows each other there is next to each other in space, without
//! the jumps of a Morton curve: searches visit half as many nodes.
//!
//! Classes keep boxes that are many times larger than most apart: as they come before all others,
//! they get subtrees of their own, and the bounding boxes of all other nodes stay small. Without
//! that a few giants would make every query look at all their ancestors.

use cuda_std::prelude::*;

use crate::boxes::{BoxRow, Number, Sets};
use crate::curve::place_on_curve;
use crate::domain::{Domain, half_extent};

/// Arguments of the kernels that make keys.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Keys<T> {
    /// The boxes.
    pub sets: Sets<T>,
    /// The counters that `examine` has written.
    pub counters: DeviceSlice<u64>,
    /// The keys go where the sort's first pass reads them. Room for a key for each row of both
    /// sets, or of one if they are the same, if the first pass is even.
    pub keys: DeviceSliceMut<u64>,
    /// Room for as many rows' numbers.
    pub rows: DeviceSliceMut<u32>,
    /// Room for the keys if the first pass is odd.
    pub odd_keys: DeviceSliceMut<u64>,
    /// Room for the rows' numbers if the first pass is odd.
    pub odd_rows: DeviceSliceMut<u32>,
    /// Its element becomes the first pass of the sort that is needed.
    pub first_pass: DeviceSliceMut<u64>,
}

/// Bits of a whole key, of boxes with so many axes and with `bits` of each coordinate.
pub const fn key_bits(axes: u32, bits: u32) -> u32 {
    1 + CLASS_BITS + axes * bits
}

/// The passes of the sort that are left out, and the bits of a coordinate in the bits above them:
/// at least `useful`, which are `most` at most.
///
/// The sort has a pass for every 8 bits of a key with `most` bits of each coordinate.
#[inline(always)]
const fn pass_and_bits(axes: u32, most: u32, useful: u32) -> (u32, u32) {
    let all = key_bits(axes, most);
    let (mut pass, mut bits) = (0, most);
    loop {
        let behind = PASS_BITS * (pass + 1);
        if key_bits(axes, useful) + behind > all {
            return (pass, bits);
        }
        pass += 1;
        bits = (all - behind - key_bits(axes, 0)) / axes;
    }
}

/// Bits that a pass of the sort takes.
const PASS_BITS: u32 = 8;

const CLASS_BITS: u32 = 2;

/// Each class has boxes up to so many times larger than the one behind it, the last one up to so
/// many times larger than the mean.
const CLASS_RATIO: f64 = 8.0;

/// The class of a box's size, the largest ones first.
#[inline(always)]
fn class(extent: f64, mean: f64) -> u64 {
    let mut class = 0;
    if extent <= CLASS_RATIO * CLASS_RATIO * CLASS_RATIO * mean {
        class += 1;
    }
    if extent <= CLASS_RATIO * CLASS_RATIO * mean {
        class += 1;
    }
    if extent <= CLASS_RATIO * mean {
        class += 1;
    }
    class
}

/// Writes each row's key and number. Rows are counted through both sets; within one set each has a
/// single key, as one of the second.
///
/// # Safety
/// The contract of the kernels `keys_…`.
#[inline(always)]
unsafe fn make_keys<T: Number>(bits: u32, arguments: Keys<T>) {
    let Keys {
        sets,
        counters,
        keys,
        rows,
        odd_keys,
        odd_rows,
        first_pass,
    } = arguments;
    let count = keys.len();
    // SAFETY: by its documentation, `counters` is what `examine` has left. It is of `count` boxes,
    // since there is room for a key for each of them.
    let domain = unsafe { Domain::load(counters, count as u32) };
    // Enough for as many cells as there are boxes, too.
    let most = bits;
    let by_count = (u32::BITS - (count as u32 - 1).leading_zeros()).div_ceil(sets.axes);
    let useful = domain.useful_bits(most).max(by_count).min(most);
    let (pass, bits) = pass_and_bits(sets.axes, most, useful);
    if thread::global_index() == 0 {
        // SAFETY: it has an element, which this thread alone writes.
        unsafe { first_pass.set(0, pass as u64) };
    }
    let make_key = |is_second: bool, index: usize, row: BoxRow<T>| {
        let mut cell = [0; 3];
        unrolled! { axis in [0 1 2] {
            if axis < sets.axes as usize {
                let centre = 0.5 * row.low[axis] + 0.5 * row.high[axis];
                // In steps of the grid; NaN, of a box without a centre, becomes 0.
                let steps = domain.place(centre, axis) * (1u64 << bits) as f64;
                let last = (1u32 << bits) - 1;
                cell[axis] = if steps >= last as f64 { last } else { steps as u32 };
            }
        }}
        let curve = if sets.axes == 3 {
            place_on_curve::<3>(cell, bits)
        } else {
            place_on_curve::<2>(cell, bits)
        };
        let class = class(half_extent(&row.low, &row.high), domain.mean_extent);
        let is_of_tree = (is_second || sets.above != 0) as u64;
        let key = (is_of_tree << CLASS_BITS | class) << (sets.axes * bits) | curve;
        let key = key << (PASS_BITS * pass);
        let number = index + if is_second { sets.rows1 as usize } else { 0 };
        // The branches store in opposite order: LLVM would otherwise merge each pair of stores into
        // one through a selected pointer, and lose that it points to global memory.
        // SAFETY: an element for each row.
        unsafe {
            if pass.is_multiple_of(2) {
                keys.set(number, key);
                rows.set(number, number as u32);
            } else {
                odd_rows.set(number, number as u32);
                odd_keys.set(number, key);
            }
        }
    };
    // SAFETY: by the contract of this function, the slices of `sets` have the rows and axes that it
    // names.
    unsafe { sets.each_row(make_key) };
}

macro_rules! entries {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("The keys by which boxes of `", stringify!($type), "` are sorted, and the rows' numbers.")]
        ///
        /// # Safety
        /// The slices of `arguments` have the lengths that [`Keys`] documents, and there are boxes;
        /// a coordinate has `bits` bits in a key at most, and at most 20.
        #[kernel(max_block = 256)]
        pub unsafe fn $name(bits: u32, arguments: Keys<$type>) {
            // SAFETY: `make_keys` asks what this kernel asks: slices as `Keys` documents, at least
            // one box, and at most 20 bits of a coordinate.
            unsafe { make_keys(bits, arguments) }
        }
    )*};
}

entries! {
    f32, keys_f32;
    f64, keys_f64;
    i32, keys_i32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_left_out_that_are_not_needed() {
        assert_eq!(pass_and_bits(3, 15, 7), (3, 7));
        assert_eq!(pass_and_bits(3, 15, 8), (2, 9));
        assert_eq!(pass_and_bits(2, 18, 1), (4, 2));
        for (axes, most) in [(2, 18), (3, 15)] {
            for useful in 1..=most {
                let (pass, bits) = pass_and_bits(axes, most, useful);
                assert!((useful..=most).contains(&bits));
                let (whole, left) = (key_bits(axes, most), key_bits(axes, bits));
                assert!(left + PASS_BITS * pass <= whole);
                // Another pass less would leave too few.
                assert!(key_bits(axes, useful) + PASS_BITS * (pass + 1) > whole);
            }
        }
    }

    #[test]
    fn giants_come_first() {
        let extents = [
            f64::NAN,
            f64::INFINITY,
            600.0,
            500.0,
            65.0,
            64.0,
            9.0,
            8.0,
            0.0,
        ];
        let classes = extents.map(|extent| class(extent, 1.0));
        assert_eq!(classes, [0, 0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(class(0.0, 0.0), 3);
    }
}
