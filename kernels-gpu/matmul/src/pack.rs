//! Factors laid out anew: row-major without gaps, as the other kernels can read them in pieces of
//! 16 bytes.
//!
//! A block copies a square of [`PACK_TILE`]×[`PACK_TILE`] elements. If their k are neighbours, or
//! closer to each other than the rows are, they go straight from memory to memory. Otherwise
//! neighbouring threads read neighbouring rows, and the square is turned in shared memory.
//!
//! All threads' reads are on their way before the first write: 16 KB (f32) or 8 KB for a block, of
//! which a multiprocessor has 8. Elements of 16 bits move in pairs, so that a warp's access still
//! has 128 bytes.

use cuda_std::prelude::*;

use crate::product::Factor;

/// A copy of a factor, or of a batch of them.
///
/// A launch has a block in the x direction for each square of [`PACK_TILE`] rows and `k_padded`,
/// see [`pack_blocks`], and one in the z direction for each matrix of the batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Packing<T, U> {
    /// The source, with any strides; the memory begins at a multiple of 16 bytes.
    pub from: Factor<T>,
    /// The copies: a row of `k_padded` for each outer index, matrices without gaps, aligned to 16
    /// bytes.
    pub to: DeviceSliceMut<U>,
    /// Number of outer indices.
    pub outer: u32,
    /// Number of k.
    pub k: u32,
    /// Elements of a row of the copy, an even number; those from `k` on become 0.
    pub k_padded: u32,
}
/// Rows and k of the square that a block copies.
pub const PACK_TILE: u32 = 64;
/// Threads of a block.
pub const PACK_THREADS: u32 = 256;
const WARPS: u32 = PACK_THREADS / 32;
/// 32-bit words between the rows of a square of pairs in shared memory.
const PAIRS_STRIDE: u32 = PACK_TILE / 2 + 1;
/// The same of single words.
const WORDS_STRIDE: u32 = PACK_TILE + 1;

/// Blocks in the x direction.
pub const fn pack_blocks(outer: u32, k_padded: u32) -> u32 {
    outer.div_ceil(PACK_TILE) * k_padded.div_ceil(PACK_TILE)
}

impl<T: Copy, U: Copy> Packing<T, U> {
    /// The first row and k of this block's square.
    #[inline(always)]
    fn first(&self) -> (u32, u32) {
        let across = self.k_padded.div_ceil(PACK_TILE);
        let block = thread::block_idx_x();
        (block / across * PACK_TILE, block % across * PACK_TILE)
    }

    /// Whether neighbouring threads had better read neighbouring k.
    #[inline(always)]
    fn is_along_k(&self) -> bool {
        self.from.stride_k.unsigned_abs() <= self.from.stride.unsigned_abs()
    }

    /// Where an element is.
    #[inline(always)]
    fn place(&self, outer: u32, k: u32) -> usize {
        let from = &self.from;
        let place = from.start
            + thread::block_idx_z() as i64 * from.stride_batch
            + outer as i64 * from.stride
            + k as i64 * from.stride_k;
        place as usize
    }

    /// Where an element goes.
    #[inline(always)]
    fn target(&self, outer: u32, k: u32) -> usize {
        let row = thread::block_idx_z() as usize * self.outer as usize + outer as usize;
        row * self.k_padded as usize + k as usize
    }
}

/// Copies 32 bits per element.
///
/// # Safety
/// The launch is as [`Packing`] says.
#[kernel(block = 256)]
pub unsafe fn pack_f32(task: Packing<u32, u32>) {
    let (first_outer, first_k) = task.first();
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let tile = shared_array![u32; (PACK_TILE * WORDS_STRIDE) as usize];
    let is_along_k = task.is_along_k();
    let mut words = [0; 16];
    unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
        let (one, other) = (warp + i as u32 / 2 * WARPS, lane + i as u32 % 2 * 32);
        let (outer, k) = if is_along_k { (one, other) } else { (other, one) };
        let (outer, k) = (first_outer + outer, first_k + k);
        if outer < task.outer && k < task.k {
            // SAFETY: it is there.
            words[i] = unsafe { task.from.elements.at(task.place(outer, k)) };
        }
    }}
    if !is_along_k {
        unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            let (k, outer) = (warp + i as u32 / 2 * WARPS, lane + i as u32 % 2 * 32);
            // SAFETY: the thread's own places.
            unsafe { tile.wrapping_add((outer * WORDS_STRIDE + k) as usize).write(words[i]) };
        }}
        thread::sync_threads();
        unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            let (outer, k) = (warp + i as u32 / 2 * WARPS, lane + i as u32 % 2 * 32);
            // SAFETY: all threads wrote their elements of the tile before the barrier.
            words[i] = unsafe { tile.wrapping_add((outer * WORDS_STRIDE + k) as usize).read() };
        }}
    }
    unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
        let outer = first_outer + warp + i as u32 / 2 * WARPS;
        let k = first_k + lane + i as u32 % 2 * 32;
        if outer < task.outer && k < task.k_padded {
            // SAFETY: within the copy, and this thread's own.
            unsafe { task.to.set(task.target(outer, k), words[i]) };
        }
    }}
}

/// Copies 16 bits per element: pairs of neighbouring k go to `write` as they lie in memory, with
/// the place of the first in the copy.
///
/// # Safety
/// The launch is as [`Packing`] says.
#[inline(always)]
unsafe fn pack_pairs<U: Copy>(task: &Packing<u16, U>, write: impl Fn(usize, u32)) {
    let (first_outer, first_k) = task.first();
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let tile = shared_array![u32; (PACK_TILE * PAIRS_STRIDE) as usize];
    let from = &task.from;
    let is_along_k = task.is_along_k();
    // Whether two neighbours can be read at once: in the direction of lanes 1 apart, else an even
    // number.
    let (near, far) = if is_along_k {
        (from.stride_k, from.stride)
    } else {
        (from.stride, from.stride_k)
    };
    let places = from.start | far | from.stride_batch;
    let is_even = near == 1 && places % 2 == 0;
    let mut pairs = [0; 8];
    if is_along_k {
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let (outer, k) = (first_outer + warp + i as u32 * WARPS, first_k + 2 * lane);
            // SAFETY: with `is_even`, neighbours in the direction of k are 1 apart, and the first
            // k, `2 * lane` behind the square's, is even as all other strides and the start are: a
            // pair is at a multiple of 4 bytes.
            pairs[i] = unsafe { read_pair(task, outer, k, (0, 1), is_even) };
        }}
    } else {
        let mut of_outer = [[0; 2]; 4];
        unrolled! { i in [0 1 2 3] {
            let (outer, k) = (first_outer + 2 * lane, first_k + 2 * (warp + i as u32 * WARPS));
            // SAFETY: with `is_even`, neighbours in the direction of the outer index are 1 apart,
            // and the first outer index, `2 * lane` behind the square's, is even as all other
            // strides and the start are: a pair is at a multiple of 4 bytes.
            unsafe {
                of_outer[i][0] = read_pair(task, outer, k, (1, 0), is_even);
                of_outer[i][1] = read_pair(task, outer, k + 1, (1, 0), is_even);
            }
        }}
        unrolled! { i in [0 1 2 3] {
            // Rows of even and of odd numbers apart: neighbouring lanes then write to neighbouring
            // banks.
            let place = lane * PAIRS_STRIDE + warp + i as u32 * WARPS;
            let [low, high] = of_outer[i];
            // SAFETY: the thread's own places.
            unsafe {
                tile.wrapping_add(place as usize).write(low & 0xffff | high << 16);
                let odd = place + PACK_TILE / 2 * PAIRS_STRIDE;
                tile.wrapping_add(odd as usize).write(low >> 16 | high & 0xffff_0000);
            }
        }}
        thread::sync_threads();
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let outer = warp + i as u32 * WARPS;
            let row = outer % 2 * (PACK_TILE / 2) + outer / 2;
            // SAFETY: all threads wrote their elements of the tile before the barrier.
            pairs[i] = unsafe { tile.wrapping_add((row * PAIRS_STRIDE + lane) as usize).read() };
        }}
    }
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        let (outer, k) = (first_outer + warp + i as u32 * WARPS, first_k + 2 * lane);
        if outer < task.outer && k < task.k_padded {
            write(task.target(outer, k), pairs[i]);
        }
    }}
}

/// An element and its neighbour in the direction of `next`, with 0 for those that are not there; in
/// one access if `is_even` and both are there.
///
/// # Safety
/// If `is_even`, neighbours lie next to each other, and the first at a multiple of 4 bytes.
#[inline(always)]
unsafe fn read_pair<U: Copy>(
    task: &Packing<u16, U>,
    outer: u32,
    k: u32,
    next: (u32, u32),
    is_even: bool,
) -> u32 {
    let (next_outer, next_k) = (outer + next.0, k + next.1);
    let is_there = outer < task.outer && k < task.k;
    let is_next_there = next_outer < task.outer && next_k < task.k;
    // SAFETY: only what is there is read.
    unsafe {
        if is_even && is_next_there {
            task.from.elements.address(task.place(next_outer, next_k));
            return task
                .from
                .elements
                .address(task.place(outer, k))
                .cast::<u32>()
                .read();
        }
        let mut pair = 0;
        if is_there {
            pair = task.from.elements.at(task.place(outer, k)) as u32;
        }
        if is_next_there {
            pair |= (task.from.elements.at(task.place(next_outer, next_k)) as u32) << 16;
        }
        pair
    }
}

/// Copies 16 bits per element.
///
/// # Safety
/// The launch is as [`Packing`] says.
#[kernel(block = 256)]
pub unsafe fn pack_u16(task: Packing<u16, u16>) {
    // SAFETY: by the contract of this function, the launch is as `Packing` says; rows have an even
    // length, so that both are there, at a multiple of 4.
    unsafe {
        pack_pairs(&task, |place, pair| {
            task.to.address(place + 1);
            task.to.address(place).cast::<u32>().write(pair);
        })
    }
}

/// Copies numbers of 16 bits as such of 32, of the same value.
///
/// # Safety
/// The launch is as [`Packing`] says.
#[inline(always)]
unsafe fn widen(task: &Packing<u16, f32>, value: impl Fn(u32) -> f32) {
    // SAFETY: as in `pack_u16`.
    unsafe {
        pack_pairs(task, |place, pair| {
            task.to.address(place + 1);
            let values = [value(pair & 0xffff), value(pair >> 16)];
            crate::product::write(task.to.address(place), values);
        })
    }
}

/// Copies f16, of which `from` has the bits, as f32.
///
/// # Safety
/// The launch is as [`Packing`] says.
#[kernel(block = 256)]
pub unsafe fn widen_f16(task: Packing<u16, f32>) {
    // SAFETY: by the contract of this function, the launch is as `Packing` says.
    unsafe { widen(&task, value_of_f16) }
}

/// Copies bf16, of which `from` has the bits, as f32.
///
/// # Safety
/// The launch is as [`Packing`] says.
#[kernel(block = 256)]
pub unsafe fn widen_bf16(task: Packing<u16, f32>) {
    // SAFETY: by the contract of this function, the launch is as `Packing` says.
    unsafe { widen(&task, |bits| f32::from_bits(bits << 16)) }
}

/// The number with these bits of an f16. Unlike `narrow::f16_value` on GPUs, it keeps the bits of
/// NaN.
#[inline(always)]
pub(crate) fn value_of_f16(bits: u32) -> f32 {
    // The bits where an f32 has them make a number that is 2^112 times too small, as the exponents
    // of f32 are larger by 112 for the same number; that goes for subnormal ones too, and the
    // product is exact.
    let small = f32::from_bits((bits & 0x7fff) << 13);
    let value = (small * f32::from_bits((127 + 112) << 23)).to_bits();
    // Infinities and NaN have all bits of the exponent.
    let special = if bits & 0x7c00 == 0x7c00 {
        0x7f80_0000
    } else {
        0
    };
    f32::from_bits(value | special | (bits & 0x8000) << 16)
}
