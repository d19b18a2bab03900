//! The next forms, with numbers of 32 bits and a thread for each place of T\[1\] to T\[t\].

use cuda_std::prelude::*;

use super::{DIM, LAYER, TUPLE};

/// V6: tables of `i32` and `f32`, sums in `f32`: no arithmetic of 64 bits but in addresses.
/// GPUs have units of 32 bits; those for more are few, or the work is done in several steps.
///
/// # Safety
/// Letters are below 4, hashes below 96, 4 tables' entries for each letter; a block and 96 numbers
/// for each sequence, from one offset to the next.
#[kernel(block = (4, 96))]
pub unsafe fn sketch_32_bits(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let rows_in = shared_array![f32; LAYER];
    let rows_out = shared_array![f32; LAYER];
    let sequence = thread::block_idx_x() as usize;
    let (row, position) = (thread::thread_idx_x(), thread::thread_idx_y());
    let own = ((row + 1) * DIM as u32 + position) as usize;
    // SAFETY: rows and places are below their numbers, barriers separate what one thread writes
    // from what another reads, and slices are what the caller says.
    unsafe {
        rows_in.add(own).write(0.0);
        if row == 0 {
            rows_in
                .add(position as usize)
                .write((position == 0) as u32 as f32);
        }
        thread::sync_threads();
        for i in offsets.at(sequence)..offsets.at(sequence + 1) {
            let entry = (letters.at(i as usize) as u32 * TUPLE as u32 + row) as usize;
            let from = row * DIM as u32 + before_roll(position, hashes.at(entry));
            let rolled = rows_in.add(from as usize).read();
            rows_out
                .add(own)
                .write(rows_in.add(own).read() + signs.at(entry) * rolled);
            thread::sync_threads();
            rows_in.add(own).write(rows_out.add(own).read());
            thread::sync_threads();
        }
        if row == TUPLE as u32 - 1 {
            sketches.set(sequence * DIM + position as usize, rows_in.add(own).read());
        }
    }
}

/// V7: two layers of rows, of which one is read and the other written, in turn.
/// Nothing is copied back, and one barrier a letter is enough. Rows still run along x.
///
/// # Safety
/// As of [`sketch_32_bits`].
#[kernel(block = (4, 96))]
pub unsafe fn sketch_one_barrier(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let (row, position) = (thread::thread_idx_x(), thread::thread_idx_y());
    // SAFETY: by the contract of this kernel, all arrays are as `two_layers` asks. A block has a
    // thread for each of the 4 rows along x and the 96 places along y.
    unsafe { two_layers((row, position), letters, offsets, hashes, signs, sketches) };
}

/// V8: the same with places along x, so that the threads of a warp read and write neighbours.
/// Neighbours lie in different banks of shared memory; places of different rows may not.
///
/// # Safety
/// As of [`sketch_32_bits`].
#[kernel(block = (96, 4))]
pub unsafe fn sketch_along_places(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let (row, position) = (thread::thread_idx_y(), thread::thread_idx_x());
    // SAFETY: by the contract of this kernel, all arrays are as `two_layers` asks. A block has a
    // thread for each of the 96 places along x and the 4 rows along y.
    unsafe { two_layers((row, position), letters, offsets, hashes, signs, sketches) };
}

/// # Safety
/// As of [`sketch_32_bits`]; each pair of a row and a place belongs to one thread.
#[inline(always)]
unsafe fn two_layers(
    (row, position): (u32, u32),
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let layers = shared_array![f32; 2 * LAYER];
    let sequence = thread::block_idx_x() as usize;
    let own = ((row + 1) * DIM as u32 + position) as usize;
    // SAFETY: as of `sketch_32_bits`; the layer that is read is not the one that is written.
    unsafe {
        layers.add(own).write(0.0);
        if row == 0 {
            let one = (position == 0) as u32 as f32;
            layers.add(position as usize).write(one);
            layers.add(LAYER + position as usize).write(one);
        }
        thread::sync_threads();
        let (mut now, mut next) = (layers, layers.add(LAYER));
        for i in offsets.at(sequence)..offsets.at(sequence + 1) {
            let entry = (letters.at(i as usize) as u32 * TUPLE as u32 + row) as usize;
            let from = row * DIM as u32 + before_roll(position, hashes.at(entry));
            let rolled = now.add(from as usize).read();
            next.add(own)
                .write(now.add(own).read() + signs.at(entry) * rolled);
            thread::sync_threads();
            (now, next) = (next, now);
        }
        if row == TUPLE as u32 - 1 {
            sketches.set(sequence * DIM + position as usize, now.add(own).read());
        }
    }
}

/// The place whose number comes to `position` when a row is rolled by `hash`.
#[inline(always)]
fn before_roll(position: u32, hash: i32) -> u32 {
    let from = position as i32 - hash;
    if from < 0 {
        (from + DIM as i32) as u32
    } else {
        from as u32
    }
}
