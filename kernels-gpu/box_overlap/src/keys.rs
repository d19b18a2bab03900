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
use crate::domain::{Domain, half_extent};

/// Arguments of the kernels that make keys.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Keys<T> {
    /// The boxes.
    pub sets: Sets<T>,
    /// What `examine` has left.
    pub counters: DeviceSlice<u64>,
    /// Room for a key for each row of both sets, or of one if they are the same.
    pub keys: DeviceSliceMut<u64>,
    /// Room for as many rows' numbers.
    pub rows: DeviceSliceMut<u32>,
}

/// Bits of a whole key, of boxes with so many axes and with `bits` of each coordinate.
pub const fn key_bits(axes: u32, bits: u32) -> u32 {
    1 + CLASS_BITS + axes * bits
}

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

/// The place on Hilbert's curve of a cell whose `AXES` coordinates have `bits` bits each.
#[inline(always)]
fn place_on_curve<const AXES: usize>(mut x: [u32; 3], bits: u32) -> u64 {
    // From the coarsest grid to the finest but one: what lies in a cell is turned and mirrored as
    // the curve runs through it.
    let mut side = 1u32 << (bits - 1);
    while side > 1 {
        let within = side - 1;
        unrolled! { axis in [0 1 2] {
            if axis < AXES {
                if x[axis] & side != 0 {
                    x[0] ^= within;
                } else {
                    let different = (x[0] ^ x[axis]) & within;
                    x[0] ^= different;
                    x[axis] ^= different;
                }
            }
        }}
        side >>= 1;
    }
    // Along the curve neighbouring cells differ in one coordinate, as numbers of a Gray code in one
    // bit.
    x[1] ^= x[0];
    if AXES == 3 {
        x[2] ^= x[1];
    }
    let last = x[AXES - 1];
    let mut flips = 0;
    let mut side = 1u32 << (bits - 1);
    while side > 1 {
        if last & side != 0 {
            flips ^= side - 1;
        }
        side >>= 1;
    }
    let mut place = 0;
    unrolled! { axis in [0 1 2] {
        if axis < AXES {
            place |= spread(x[axis] ^ flips, AXES as u32) << (AXES - 1 - axis);
        }
    }}
    place
}

/// Every third bit is one of `value`, which has 20 at most; or every second one.
#[inline(always)]
fn spread(value: u32, axes: u32) -> u64 {
    let mut x = value as u64;
    if axes == 3 {
        x = (x | x << 32) & 0x001f_0000_0000_ffff;
        x = (x | x << 16) & 0x001f_0000_ff00_00ff;
        x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
        x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
        x = (x | x << 2) & 0x1249_2492_4924_9249;
    } else {
        x = (x | x << 16) & 0x0000_ffff_0000_ffff;
        x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
        x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        x = (x | x << 2) & 0x3333_3333_3333_3333;
        x = (x | x << 1) & 0x5555_5555_5555_5555;
    }
    x
}

/// Writes each row's key and number. Rows are counted through both sets; within one set each has a
/// single key, as one of the second.
///
/// # Safety
/// As of the kernels below.
#[inline(always)]
unsafe fn make_keys<T: Number>(bits: u32, arguments: Keys<T>) {
    let Keys {
        sets,
        counters,
        keys,
        rows,
    } = arguments;
    let count = keys.len();
    // SAFETY: passed on to the caller.
    let domain = unsafe { Domain::load(counters, count as u32) };
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
        let number = index + if is_second { sets.rows1 as usize } else { 0 };
        // SAFETY: an element for each row.
        unsafe {
            keys.set(number, key);
            rows.set(number, number as u32);
        }
    };
    // SAFETY: passed on to the caller.
    unsafe { sets.each_row(make_key) };
}

macro_rules! entries {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("The keys by which boxes of `", stringify!($type), "` are sorted, and the rows' numbers.")]
        ///
        /// # Safety
        /// The arguments are as they say; a coordinate has `bits` bits in a key, at most 20.
        #[kernel(max_block = 256)]
        pub unsafe fn $name(bits: u32, arguments: Keys<$type>) {
            // SAFETY: passed on to the caller.
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
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn bits_are_spread() {
        for value in [0, 1, 2, 0b1011, 0xf_ffff, 0xa_5a5a] {
            for axes in [2, 3] {
                let expected = (0..20).map(|bit| u64::from(value >> bit & 1) << (bit * axes));
                assert_eq!(spread(value, axes), expected.sum(), "{value:b}, {axes}");
            }
        }
    }

    /// All cells of a grid in the order of the curve.
    fn walk<const AXES: usize>(bits: u32) -> Vec<[u32; 3]> {
        let count = 1u32 << (bits * AXES as u32);
        let mut cells = vec![[u32::MAX; 3]; count as usize];
        for number in 0..count {
            let coordinate = |axis: u32| number >> (bits * axis) & ((1 << bits) - 1);
            let cell = [
                coordinate(0),
                coordinate(1),
                if AXES == 3 { coordinate(2) } else { 0 },
            ];
            let place = place_on_curve::<AXES>(cell, bits) as usize;
            assert_eq!(cells[place], [u32::MAX; 3], "two cells at {place}");
            cells[place] = cell;
        }
        cells
    }

    #[test]
    fn the_curve_goes_from_each_cell_to_a_neighbour() {
        for bits in 1..=4 {
            for cells in [walk::<2>(bits), walk::<3>(bits)] {
                for step in cells.windows(2) {
                    let distance: u32 = (0..3)
                        .map(|axis| step[0][axis].abs_diff(step[1][axis]))
                        .sum();
                    assert_eq!(distance, 1, "{step:?}");
                }
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
