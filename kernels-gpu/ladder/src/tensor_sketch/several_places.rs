//! The fast forms of the ladder: a thread has several consecutive places of a row.

use cuda_std::prelude::*;

use super::{DIM, LAYER, LETTERS, TUPLE};

/// Places of a thread.
pub const PLACES: usize = 6;

/// Threads of a block: 16 along a row, 4 rows.
const THREADS: usize = DIM / PLACES * TUPLE;

/// V9: a thread has six places of a row, so that letter, hash and sign are read once for six sums.
/// Two warps are left of twelve, and barriers are cheaper.
///
/// # Safety
/// Letters are below 4, hashes below 96, 4 tables' entries for each letter; a block and 96 numbers
/// for each sequence, from one offset to the next.
#[kernel(block = (16, 4))]
pub unsafe fn sketch_six_places(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    let row = thread::thread_idx_y();
    let first = thread::thread_idx_x() * PLACES as u32;
    // SAFETY: rows and places are below their numbers, and slices are what the caller says.
    unsafe {
        let mut layers = start();
        for i in offsets.at(sequence)..offsets.at(sequence + 1) {
            let entry = (letters.at(i as usize) as u32 * TUPLE as u32 + row) as usize;
            layers = advance(layers, row, first, hashes.at(entry), signs.at(entry));
        }
        write_own(layers, row, first, sketches, sequence * DIM);
    }
}

/// V10: a block brings as many letters as it has threads to shared memory, each thread one. Without
/// it all threads wait for the same letter from global memory each time. The last letters may be
/// fewer.
///
/// # Safety
/// As of [`sketch_six_places`].
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
    // SAFETY: as of `sketch_six_places`.
    unsafe {
        let (start, end) = (offsets.at(sequence), offsets.at(sequence + 1));
        let letter = |i| letters.at((start + i) as usize);
        let entry = |place: usize| (hashes.at(place), signs.at(place));
        let layers = stage(end - start, letter, entry, row, first);
        write_own(layers, row, first, sketches, sequence * DIM);
    }
}

/// V11 and V12: the tables too are in shared memory, and threads that are neighbours write
/// neighbouring results. V12 launches it for four sequences at a time, on streams.
///
/// # Safety
/// As of [`sketch_six_places`].
#[kernel(block = (16, 4))]
pub unsafe fn sketch_staged_tables(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    // SAFETY: as of `sketch_six_places`.
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
/// As of [`sketch_six_places`], with the address of each sequence's letters and their number in
/// place of offsets.
#[kernel(block = (16, 4))]
pub unsafe fn sketch_pointers(
    addresses: DeviceSlice<u64>,
    lengths: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    // SAFETY: as of `sketch_six_places`.
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

/// The layer of rows that is read, and the one that is written.
#[derive(Clone, Copy)]
struct Layers {
    now: *mut f32,
    next: *mut f32,
}

/// Rows before the first letter, in both layers.
///
/// # Safety
/// All threads of the block come here, once.
#[inline(always)]
unsafe fn start() -> Layers {
    let layers = shared_array![f32; 2 * LAYER];
    let mut i = thread::index_in_block() as usize;
    while i < 2 * LAYER {
        let is_one = i == 0 || i == LAYER;
        // SAFETY: below the length, and each place belongs to one thread.
        unsafe { layers.add(i).write(is_one as u32 as f32) };
        i += THREADS;
    }
    thread::sync_threads();
    Layers {
        now: layers,
        // SAFETY: the second half of the array.
        next: unsafe { layers.add(LAYER) },
    }
}

/// What a letter adds to the thread's places of the row behind `row`.
///
/// # Safety
/// All threads of the block come here with layers from [`start`] or this, the same ones.
#[inline(always)]
unsafe fn advance(layers: Layers, row: u32, first: u32, hash: i32, sign: f32) -> Layers {
    let Layers { now, next } = layers;
    let mut from = first as i32 - hash;
    if from < 0 {
        from += DIM as i32;
    }
    // SAFETY: rows and places are below their numbers; the layer that is read is not the one that
    // is written, and the barrier separates this from the next letter.
    unsafe {
        let before = now.add((row * DIM as u32) as usize);
        let own = ((row + 1) * DIM as u32 + first) as usize;
        unrolled! { place in [0 1 2 3 4 5] {
            let sum = now.add(own + place).read() + sign * before.add(from as usize).read();
            next.add(own + place).write(sum);
            from += 1;
            if from == DIM as i32 {
                from = 0;
            }
        }}
    }
    thread::sync_threads();
    Layers {
        now: next,
        next: now,
    }
}

/// Goes through `length` letters, a block-full of them in shared memory at a time.
///
/// # Safety
/// There are such letters and table entries; all threads of the block come here, once.
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
        let mut layers = start();
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
                layers = advance(layers, row, first, hash, sign);
            }
            begin += THREADS as u64;
        }
        layers
    }
}

/// The whole of V11, wherever the letters are.
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
    let row = thread::thread_idx_y();
    let first = thread::thread_idx_x() * PLACES as u32;
    // SAFETY: places are below the lengths; the first barrier of `stage` stands between the writes
    // of the tables and their reads, the last one before the sketch is read.
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
        let layers = stage(length, letter, entry, row, first);
        let mut place = me;
        while place < DIM {
            sketches.set(out + place, layers.now.add(TUPLE * DIM + place).read());
            place += THREADS;
        }
    }
}

/// Writes the thread's places of the last row.
///
/// # Safety
/// The sketch begins at `out`.
#[inline(always)]
unsafe fn write_own(
    layers: Layers,
    row: u32,
    first: u32,
    sketches: DeviceSliceMut<f32>,
    out: usize,
) {
    if row == TUPLE as u32 - 1 {
        unrolled! { place in [0 1 2 3 4 5] {
            let place = first as usize + place;
            // SAFETY: below the length of a row.
            unsafe { sketches.set(out + place, layers.now.add(TUPLE * DIM + place).read()) };
        }}
    }
}
