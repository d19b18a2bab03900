//! V10 to V13: six places a thread, as in V9, and letters and tables through shared memory.

use cuda_std::prelude::*;

use super::several_places::{Layers, advance, start, write_own};
use super::{DIM, LETTERS, TUPLE};

/// Places of a thread, one after the other.
pub const PLACES: usize = 6;

/// Threads of a block: 16 along a row, 4 rows.
const THREADS: usize = DIM / PLACES * TUPLE;

/// V10: a block brings as many letters as it has threads to shared memory, each thread one. Without
/// it all threads wait for the same letter from global memory each time. The last letters may be
/// fewer.
///
/// # Safety
/// As of [`sketch_consecutive_6`](super::sketch_consecutive_6).
#[kernel(block = (16, 4))]
pub unsafe fn sketch_staged_letters(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    let row = thread::thread_idx_y();
    let first = thread::thread_idx_x() * PLACES as u32;
    // SAFETY: as of `sketch_consecutive_6`.
    unsafe {
        let (start, end) = (offsets.at(sequence), offsets.at(sequence + 1));
        let letter = |i| letters.at((start + i) as usize);
        let entry = |place: usize| (hashes.at(place), signs.at(place));
        let layers = stage(end - start, letter, entry, row, first);
        write_own::<PLACES, false>(layers, row, first, sketches, sequence * DIM);
    }
}

/// V11 and V12: the tables too are in shared memory, and threads that are neighbours write
/// neighbouring results. V12 launches it for four sequences at a time, on streams.
///
/// # Safety
/// As of [`sketch_consecutive_6`](super::sketch_consecutive_6).
#[kernel(block = (16, 4))]
pub unsafe fn sketch_staged_tables(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    // SAFETY: as of `sketch_consecutive_6`.
    unsafe {
        let (start, end) = (offsets.at(sequence), offsets.at(sequence + 1));
        let letter = |i| letters.at((start + i) as usize);
        with_tables(end - start, letter, hashes, signs, sketches, sequence * DIM);
    }
}

/// V13: an array of the addresses of sequences, so that they need not stand one after the other.
/// They can be uploaded, and freed, one by one.
///
/// # Safety
/// As of [`sketch_consecutive_6`](super::sketch_consecutive_6), with the address of each sequence's
/// letters and their number in place of offsets.
#[kernel(block = (16, 4))]
pub unsafe fn sketch_pointers(
    addresses: DeviceSlice<u64>,
    lengths: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    // SAFETY: as of `sketch_consecutive_6`.
    unsafe {
        let letters = addresses.at(sequence) as *const u8;
        let letter = |i| letters.add(i as usize).read();
        with_tables(
            lengths.at(sequence),
            letter,
            hashes,
            signs,
            sketches,
            sequence * DIM,
        );
    }
}

/// Goes through `length` letters, a block-full of them in shared memory at a time.
///
/// # Safety
/// `letter` can read all `length` letters, and the tables have entries for each of them; all
/// threads of the block come here, once.
#[inline(always)]
unsafe fn stage(
    length: u64,
    letter: impl Fn(u64) -> u8,
    entry: impl Fn(usize) -> (i32, f32),
    row: u32,
    first: u32,
) -> Layers {
    let staged = shared_array![u8; THREADS];
    let me = thread::index_in_block();
    // SAFETY: places are below the number of threads; a barrier stands between the write of letters
    // and their reads, and each letter ends with one, before the next ones are written.
    unsafe {
        let mut layers = start(THREADS);
        let mut begin = 0;
        while begin < length {
            let count = core::cmp::min(length - begin, THREADS as u64) as u32;
            if me < count {
                staged.add(me as usize).write(letter(begin + me as u64));
            }
            thread::sync_threads();
            for i in 0..count {
                let place = staged.add(i as usize).read() as u32 * TUPLE as u32 + row;
                let (hash, sign) = entry(place as usize);
                layers = advance::<PLACES, false>(layers, row, first, hash, sign);
            }
            begin += THREADS as u64;
        }
        layers
    }
}

/// V11, wherever the letters are.
///
/// # Safety
/// As of [`stage`]; the sketch begins at `out`.
#[inline(always)]
unsafe fn with_tables(
    length: u64,
    letter: impl Fn(u64) -> u8,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
    out: usize,
) {
    let shared_hashes = shared_array![i32; LETTERS * TUPLE];
    let shared_signs = shared_array![f32; LETTERS * TUPLE];
    let me = thread::index_in_block() as usize;
    // SAFETY: places are below the lengths; the first barrier of `stage` stands between the writes
    // of the tables and their reads.
    unsafe {
        if me < LETTERS * TUPLE {
            shared_hashes.add(me).write(hashes.at(me));
            shared_signs.add(me).write(signs.at(me));
        }
        let entry = |place| {
            (
                shared_hashes.add(place).read(),
                shared_signs.add(place).read(),
            )
        };
        sketch_with_entries(length, letter, entry, sketches, out);
    }
}

/// V11 without the tables, wherever they are.
///
/// # Safety
/// As of [`stage`]; the sketch begins at `out`.
#[inline(always)]
pub(super) unsafe fn sketch_with_entries(
    length: u64,
    letter: impl Fn(u64) -> u8,
    entry: impl Fn(usize) -> (i32, f32),
    sketches: DeviceSliceMut<f32>,
    out: usize,
) {
    let row = thread::thread_idx_y();
    let first = thread::thread_idx_x() * PLACES as u32;
    // SAFETY: places are below the length of a row, and a barrier stands between their writes and
    // these reads.
    unsafe {
        let layers = stage(length, letter, entry, row, first);
        let mut place = thread::index_in_block() as usize;
        while place < DIM {
            sketches.set(out + place, layers.now.add(TUPLE * DIM + place).read());
            place += THREADS;
        }
    }
}
