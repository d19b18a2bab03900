//! Hilbert's curve (J. Skilling, 'Programming the Hilbert curve', AIP Conference Proceedings 707,
//! 2004).

use cuda_std::prelude::*;

/// The place on Hilbert's curve of a cell whose `AXES` coordinates have `bits` bits each.
#[inline(always)]
pub fn place_on_curve<const AXES: usize>(mut x: [u32; 3], bits: u32) -> u64 {
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
}
