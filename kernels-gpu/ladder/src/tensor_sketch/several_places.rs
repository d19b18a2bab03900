//! V9: a thread has several places of a row, so that letter, hash and sign are read once for
//! several sums. The article took six consecutive places; here are all divisors of D, consecutive
//! and strided.

use cuda_std::prelude::*;

use super::{DIM, LAYER, TUPLE};

macro_rules! entries {
    ($($places:tt, $threads:tt, $consecutive:ident, $strided:ident;)*) => {$(
        #[doc = concat!("V9 with ", $places, " consecutive places for each thread.")]
        ///
        /// Neighbouring threads read places this far apart, which share banks of shared memory if
        /// the number of places is even.
        ///
        /// # Safety
        /// Letters are below 4, hashes below 96, 4 tables' entries for each letter; a block and 96
        /// numbers for each sequence, from one offset to the next.
        #[kernel(block = ($threads, 4))]
        pub unsafe fn $consecutive(
            letters: DeviceSlice<u8>,
            offsets: DeviceSlice<u64>,
            hashes: DeviceSlice<i32>,
            signs: DeviceSlice<f32>,
            sketches: DeviceSliceMut<f32>,
        ) {
            // SAFETY: by the contract of this kernel, all arrays are as `sketch` asks, and its
            // block has D divided by the places along x, and t threads along y.
            unsafe { sketch::<$places, false>(letters, offsets, hashes, signs, sketches) }
        }

        #[doc = concat!("V9 with ", $places, " places for each thread, a row of threads apart.")]
        ///
        /// Neighbouring threads read neighbouring places, which lie in different banks.
        ///
        /// # Safety
        /// As of the kernel with consecutive places.
        #[kernel(block = ($threads, 4))]
        pub unsafe fn $strided(
            letters: DeviceSlice<u8>,
            offsets: DeviceSlice<u64>,
            hashes: DeviceSlice<i32>,
            signs: DeviceSlice<f32>,
            sketches: DeviceSliceMut<f32>,
        ) {
            // SAFETY: by the contract of this kernel, all arrays are as `sketch` asks, and its
            // block has D divided by the places along x, and t threads along y.
            unsafe { sketch::<$places, true>(letters, offsets, hashes, signs, sketches) }
        }
    )*};
}

// Places of a thread, and threads along a row: D divided by them.
entries! {
    1, 96, sketch_consecutive_1, sketch_strided_1;
    2, 48, sketch_consecutive_2, sketch_strided_2;
    3, 32, sketch_consecutive_3, sketch_strided_3;
    4, 24, sketch_consecutive_4, sketch_strided_4;
    6, 16, sketch_consecutive_6, sketch_strided_6;
    8, 12, sketch_consecutive_8, sketch_strided_8;
    12, 8, sketch_consecutive_12, sketch_strided_12;
    16, 6, sketch_consecutive_16, sketch_strided_16;
    24, 4, sketch_consecutive_24, sketch_strided_24;
    32, 3, sketch_consecutive_32, sketch_strided_32;
    48, 2, sketch_consecutive_48, sketch_strided_48;
}

/// # Safety
/// The offsets ascend up to the number of letters, which are below the alphabet, and the tables and
/// sketches have what they name; a block has D / PLACES threads along x, and t along y.
#[inline(always)]
unsafe fn sketch<const PLACES: usize, const IS_STRIDED: bool>(
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let sequence = thread::block_idx_x() as usize;
    let row = thread::thread_idx_y();
    let first = match IS_STRIDED {
        true => thread::thread_idx_x(),
        false => thread::thread_idx_x() * PLACES as u32,
    };
    // SAFETY: rows and places are below their numbers, and slices are what the caller says.
    unsafe {
        let mut layers = start(DIM / PLACES * TUPLE);
        for i in offsets.at(sequence)..offsets.at(sequence + 1) {
            let entry = (letters.at(i as usize) as u32 * TUPLE as u32 + row) as usize;
            let (hash, sign) = (hashes.at(entry), signs.at(entry));
            layers = advance::<PLACES, IS_STRIDED>(layers, row, first, hash, sign);
        }
        write_own::<PLACES, IS_STRIDED>(layers, row, first, sketches, sequence * DIM);
    }
}

/// The distance of a thread's places.
const fn step<const PLACES: usize, const IS_STRIDED: bool>() -> usize {
    match IS_STRIDED {
        true => DIM / PLACES,
        false => 1,
    }
}

/// The layer of rows that is read, and the one that is written.
#[derive(Clone, Copy)]
pub(super) struct Layers {
    pub now: *mut f32,
    pub next: *mut f32,
}

/// Rows before the first letter, in both layers.
///
/// # Safety
/// All threads of the block, so many, come here, once.
#[inline(always)]
pub(super) unsafe fn start(threads: usize) -> Layers {
    let layers = shared_array![f32; 2 * LAYER];
    let mut i = thread::index_in_block() as usize;
    while i < 2 * LAYER {
        let is_one = i == 0 || i == LAYER;
        // SAFETY: below the length, and each place belongs to one thread.
        unsafe { layers.add(i).write(is_one as u32 as f32) };
        i += threads;
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
pub(super) unsafe fn advance<const PLACES: usize, const IS_STRIDED: bool>(
    layers: Layers,
    row: u32,
    first: u32,
    hash: i32,
    sign: f32,
) -> Layers {
    let Layers { now, next } = layers;
    let step = const { step::<PLACES, IS_STRIDED>() };
    let mut from = first as i32 - hash;
    if from < 0 {
        from += DIM as i32;
    }
    // SAFETY: rows and places are below their numbers; the layer that is read is not the one that
    // is written, and the barrier separates this from the next letter.
    unsafe {
        let before = now.add((row * DIM as u32) as usize);
        let own = ((row + 1) * DIM as u32 + first) as usize;
        for place in 0..PLACES {
            let own = own + place * step;
            let sum = now.add(own).read() + sign * before.add(from as usize).read();
            next.add(own).write(sum);
            from += step as i32;
            if from >= DIM as i32 {
                from -= DIM as i32;
            }
        }
    }
    thread::sync_threads();
    Layers {
        now: next,
        next: now,
    }
}

/// Writes the thread's places of the last row.
///
/// # Safety
/// The sketch begins at `out`.
#[inline(always)]
pub(super) unsafe fn write_own<const PLACES: usize, const IS_STRIDED: bool>(
    layers: Layers,
    row: u32,
    first: u32,
    sketches: DeviceSliceMut<f32>,
    out: usize,
) {
    if row == TUPLE as u32 - 1 {
        for place in 0..PLACES {
            let place = first as usize + place * const { step::<PLACES, IS_STRIDED>() };
            // SAFETY: below the length of a row.
            unsafe { sketches.set(out + place, layers.now.add(TUPLE * DIM + place).read()) };
        }
    }
}
