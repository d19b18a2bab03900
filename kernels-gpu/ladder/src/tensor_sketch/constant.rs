//! V11 with tables in constant memory, which the article mentions.

use cuda_std::address_space;
use cuda_std::prelude::*;

use super::staged::sketch_with_entries;
use super::{DIM, LETTERS, TUPLE};

/// The hashes, with the entries of a letter side by side.
#[address_space(constant)]
pub static mut HASHES: [i32; LETTERS * TUPLE] = [0; LETTERS * TUPLE];

/// The signs, in the same order.
#[address_space(constant)]
pub static mut SIGNS: [f32; LETTERS * TUPLE] = [0.0; LETTERS * TUPLE];

/// V11 with the tables in constant memory: nothing is copied to shared memory first, and the
/// constants' cache serves a warp at once where all threads read the same entry. The 32 threads of
/// a warp belong to two rows here, which are two entries and two turns.
///
/// # Safety
/// Letters are below 4; a block and 96 numbers for each sequence, from one offset to the next. The
/// host has set [`HASHES`] and [`SIGNS`], hashes are below 96, and nothing sets them meanwhile.
#[kernel(block = (16, 4))]
pub unsafe fn sketch_constant_tables(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    let entry = |place: usize| {
        // Pointers, since an index would be checked. SAFETY: letters and rows are below 4.
        unsafe {
            (
                (&raw const HASHES).cast::<i32>().add(place).read(),
                (&raw const SIGNS).cast::<f32>().add(place).read(),
            )
        }
    };
    // SAFETY: `offsets` has both ends of the block's sequence, and `sketches` DIM numbers for it.
    // All threads of the block are here, once. Letters are below 4, so `entry` gets places inside
    // the tables, whose hashes are below DIM.
    unsafe {
        let (start, end) = (offsets.at(sequence), offsets.at(sequence + 1));
        let letter = |i| letters.at((start + i) as usize);
        sketch_with_entries(end - start, letter, entry, sketches, sequence * DIM);
    }
}
