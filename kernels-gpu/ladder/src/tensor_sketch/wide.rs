//! The first forms: rows of `f32`, and tables of 64-bit integers.
//!
//! In Python's arithmetic, and in that of Numba, an `i64` times an `f32` is an `f64`. So each step
//! converts both factors, multiplies and adds in `f64`, and rounds the sum to the `f32` of the row.
//! GPUs for games have 1/32 or 1/64 of the units for `f64` that they have for `f32`.
//!
//! Rows go from one array of shared memory to another and back.

use cuda_std::prelude::*;

use super::{DIM, LAYER, TUPLE};

/// V3 and V4: a launch for each sequence, one block, a thread for each place of T\[1\] to T\[t\].
/// Two barriers a letter: after the new rows are written, and after they are copied back. Rows run
/// along x.
///
/// # Safety
/// Letters are below 4, hashes below 96, 4 tables' entries for each letter, and the sketch has 96
/// numbers.
#[kernel(block = (4, 96))]
pub unsafe fn sketch_sequence(
    sequence: DeviceSlice<u8>,
    hashes: DeviceSlice<i64>,
    signs: DeviceSlice<i64>,
    sketch: DeviceSliceMut<f32>,
) {
    // SAFETY: by the contract of this kernel, letters, hashes and tables are as `sketch_wide` asks,
    // and the only sketch begins at 0. The range is that of the whole sequence.
    unsafe { sketch_wide(sequence, 0..sequence.len(), hashes, signs, sketch, 0) };
}

/// V5: one launch for all sequences, which stand one after the other, a block for each.
/// The GPU has all blocks to choose from, and the host waits once.
///
/// # Safety
/// As of [`sketch_sequence`]; a block and 96 numbers for each sequence, from one offset to the
/// next.
#[kernel(block = (4, 96))]
pub unsafe fn sketch_all(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i64>,
    signs: DeviceSlice<i64>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    // SAFETY: `offsets` has both ends of the block's sequence, and `sketches` DIM numbers for it
    // from its number times DIM on. Letters, hashes and tables are as `sketch_wide` asks.
    unsafe {
        let range = offsets.at(sequence) as usize..offsets.at(sequence + 1) as usize;
        sketch_wide(letters, range, hashes, signs, sketches, sequence * DIM);
    }
}

/// # Safety
/// The letters of `range` are below the alphabet, the tables have an entry for each letter, and the
/// sketch begins at `out`.
#[inline(always)]
unsafe fn sketch_wide(
    letters: DeviceSlice<u8>,
    range: core::ops::Range<usize>,
    hashes: DeviceSlice<i64>,
    signs: DeviceSlice<i64>,
    sketches: DeviceSliceMut<f32>,
    out: usize,
) {
    let rows_in = shared_array![f32; LAYER];
    let rows_out = shared_array![f32; LAYER];
    let row = thread::thread_idx_x() as usize;
    let position = thread::thread_idx_y() as usize;
    let own = (row + 1) * DIM + position;
    // SAFETY: rows and places are below their numbers, barriers separate what one thread writes
    // from what another reads, and slices are what the caller says.
    unsafe {
        rows_in.add(own).write(0.0);
        if row == 0 {
            rows_in.add(position).write((position == 0) as u32 as f32);
        }
        thread::sync_threads();
        for i in range {
            let entry = letters.at(i) as usize * TUPLE + row;
            let mut from = position as i64 - hashes.at(entry);
            if from < 0 {
                from += DIM as i64;
            }
            let rolled = rows_in.add(row * DIM + from as usize).read() as f64;
            let sum = rows_in.add(own).read() as f64;
            let sum = float::fma_f64(signs.at(entry) as f64, rolled, sum);
            rows_out.add(own).write(sum as f32);
            thread::sync_threads();
            rows_in.add(own).write(rows_out.add(own).read());
            thread::sync_threads();
        }
        if row == TUPLE - 1 {
            sketches.set(out + position, rows_in.add(own).read());
        }
    }
}
