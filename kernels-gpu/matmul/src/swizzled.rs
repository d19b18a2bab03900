//! Tiles of A and B in shared memory as matrix instructions of warp groups, and whole tiles of
//! warps, are read from it without conflicts of banks.
//!
//! A tile consists of atoms of 1024 bytes: 8 rows of 128 bytes, whose eight pieces of 16 bytes
//! stand at places that are exclusive or'ed with the row's number. Rows run along k, one for each
//! outer index, with an atom for each eight of those; or across k, with 128 bytes of outer indices
//! for each k, and then the atoms that follow each other in k come first.

use cuda_std::prelude::*;
use cuda_std::shared::SharedAddress;

use crate::loader::start;
use crate::product::Factor;
use crate::tile::{PIECES_ACROSS, PIECES_OF_K};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Bytes of k, or of outer indices, that a row of an atom has.
pub const ROW_BYTES: u32 = 128;
/// Bytes of an atom: eight rows.
pub const ATOM: u32 = 8 * ROW_BYTES;

/// A thread's part in loading tiles of `OUTER` indices and 128 bytes of k.
pub struct Loader<T, const OUTER: u32, const PATTERN: u32> {
    elements: DeviceSlice<T>,
    next: *const u8,
    /// The steps of the address in bytes: from copy to copy, and from tile to tile.
    step: isize,
    tile_step: isize,
    /// The same beyond half of a tile's k, for the pattern across k.
    half_step: isize,
    place: u32,
    /// Its first k in a tile.
    k: u32,
    /// Number of outer indices from this thread's first one on.
    outer_left: i32,
}

impl<T: Copy, const OUTER: u32, const PATTERN: u32> Loader<T, OUTER, PATTERN> {
    /// Elements in 128 bytes: a tile's k.
    pub const DEPTH: u32 = ROW_BYTES / size_of::<T>() as u32;
    /// Elements in 16 bytes.
    const PIECE: u32 = 16 / size_of::<T>() as u32;
    /// Bytes of a tile in shared memory.
    pub const BYTES: u32 = OUTER * ROW_BYTES;

    /// For tiles from outer index `first`, of `extent` in all, and from `k` on.
    ///
    /// For pieces of 16 bytes their elements are neighbours; the number of them, the other stride
    /// and the place where each matrix starts are multiples of 16 bytes.
    #[inline(always)]
    pub fn new(factor: &Factor<T>, first: u32, extent: u32, k: u32) -> Self {
        const { assert!(PATTERN == PIECES_OF_K || PATTERN == PIECES_ACROSS) };
        let me = thread::thread_idx_x();
        let (outer, my_k, place, outer_step, half) = match PATTERN {
            PIECES_OF_K => {
                // Eight threads for the 128 bytes of an outer index.
                let (outer, piece) = (me / 8, me % 8);
                let place = outer * ROW_BYTES + (piece ^ (outer % 8)) * 16;
                (outer, piece * Self::PIECE, place, THREADS / 8, 0)
            }
            _ => {
                // Eight threads for 128 bytes of outer indices, four atoms of eight k at once; then
                // the other four, then the next 128 bytes.
                let (piece, k) = (me % 8, me / 8);
                let place = k / 8 * ATOM + k % 8 * ROW_BYTES + (piece ^ (k % 8)) * 16;
                (piece * Self::PIECE, k, place, Self::DEPTH, THREADS / 8)
            }
        };
        let size = size_of::<T>() as isize;
        let (stride, stride_k) = (factor.stride as isize, factor.stride_k as isize);
        let start = factor.start as isize
            + thread::block_idx_z() as isize * factor.stride_batch as isize
            + (first + outer) as isize * stride
            + (k + my_k) as isize * stride_k;
        Loader {
            elements: factor.elements,
            next: factor.elements.as_ptr().wrapping_offset(start).cast(),
            step: outer_step as isize * stride * size,
            tile_step: Self::DEPTH as isize * stride_k * size,
            half_step: half as isize * stride_k * size,
            place,
            k: my_k,
            outer_left: extent as i32 - (first + outer) as i32,
        }
    }

    /// Starts the copies of the next tile, of which the first `k_left` k are there, to `tile`. That
    /// all are there may be said by `is_whole`, or found for each.
    ///
    /// # Safety
    /// - `tile` has [`BYTES`](Self::BYTES) bytes, aligned to 16, that nothing else uses until the
    ///   copies have arrived.
    /// - The factor has the outer indices below the extent with these `k_left` k, all
    ///   [`DEPTH`](Self::DEPTH) of them if `is_whole`. Nobody writes them meanwhile, and the factor
    ///   is as [`new`](Self::new) asks.
    #[allow(unused_assignments, reason = "the last copy steps on like the others")]
    #[inline(always)]
    pub unsafe fn load(&mut self, tile: SharedAddress, k_left: u32, is_whole: bool) {
        let (copies, outer_step, place_step) = match PATTERN {
            PIECES_OF_K => (OUTER * 8 / THREADS, THREADS / 8, THREADS / 8 * ROW_BYTES),
            _ => (
                OUTER / Self::DEPTH,
                Self::DEPTH,
                ROW_BYTES / size_of::<T>() as u32 / 8 * ATOM,
            ),
        };
        let mut to = tile.offset(self.place);
        let mut from = self.next;
        let mut outer_left = self.outer_left;
        unrolled! { copy in [0 1 2 3 4 5 6 7] {
            if (copy as u32) < copies {
                let is_there = outer_left > 0 && (is_whole || self.k < k_left);
                // SAFETY: by the contract of this function, the place is in the tile, and the
                // elements are in the matrix if `is_there`, aligned as `new` asks.
                unsafe { start::<T>(self.elements, Self::PIECE, from, to, is_there) };
                if PATTERN == PIECES_ACROSS {
                    let k = self.k + THREADS / 8;
                    let is_there = outer_left > 0 && (is_whole || k < k_left);
                    let from = from.wrapping_offset(self.half_step);
                    // SAFETY: the other half of the tile's k: `THREADS / 8` further on, which are
                    // `THREADS / 64` atoms in the tile; in the matrix if it is there.
                    unsafe { start::<T>(self.elements, Self::PIECE, from, to.offset(THREADS / 64 * ATOM), is_there) };
                }
                from = from.wrapping_offset(self.step);
                to = to.offset(place_step);
                outer_left -= outer_step as i32;
            }
        }}
        self.next = self.next.wrapping_offset(self.tile_step);
    }
}
