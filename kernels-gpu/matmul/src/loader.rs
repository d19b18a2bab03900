//! Tiles of A and B, element by element or in pieces of 16 bytes, to shared memory.
//!
//! There a tile has a row for each k, of the tile's outer indices, or, if pieces of 16 bytes of k
//! are copied, a row for each outer index. Behind each row are elements that are not used, [`PAD`]
//! by default: with these, threads that read 4 k of neighbouring outer indices, or write 32 bytes of
//! k each, use different banks.
//!
//! A thread's copies follow a pattern with two strides. Its first copy is of outer index and k
//! (o, k); the others are of o + i·d, k + i·e + j·L with (d, e) either (0, e) or (d, 0), and L as
//! many elements as 32 bytes have, the smallest piece that memory is read in.

use cuda_std::async_copy;
use cuda_std::prelude::*;
use cuda_std::shared::SharedAddress;

use crate::product::Factor;
use crate::tile::{ELEMENTS, ELEMENTS_OF_K, PIECES_ACROSS, PIECES_OF_K};

/// Elements between the rows of a tile by default.
pub const PAD: u32 = 4;

/// A thread's part in loading tiles of `OUTER` by `DEPTH` elements with `THREADS` threads.
pub struct Loader<
    T,
    const OUTER: u32,
    const DEPTH: u32,
    const THREADS: u32,
    const PATTERN: u32,
    const GAP: u32 = PAD,
> {
    elements: DeviceSlice<T>,
    /// Where its first element of the next tile is.
    next: *const u8,
    /// The steps of the address in bytes: from copy to copy, from sector to sector, and from tile to
    /// tile.
    steps: [isize; 3],
    /// Its place in a tile of shared memory, and what that goes on by from copy to copy, in bytes.
    place: u32,
    place_step: u32,
    /// Its first k in a tile, and what that goes on by from copy to copy.
    k: u32,
    k_step: u32,
    /// A bit for each copy of a sector: whether its outer index is there.
    is_there: u32,
}

impl<
    T: Copy,
    const OUTER: u32,
    const DEPTH: u32,
    const THREADS: u32,
    const PATTERN: u32,
    const GAP: u32,
> Loader<T, OUTER, DEPTH, THREADS, PATTERN, GAP>
{
    const SIZE: u32 = size_of::<T>() as u32;
    /// Elements of a copy.
    const WIDTH: u32 = match PATTERN {
        ELEMENTS | ELEMENTS_OF_K => 1,
        _ => 16 / Self::SIZE,
    };
    /// Elements between outer indices in shared memory.
    pub const STRIDE: u32 = if PATTERN == PIECES_OF_K {
        DEPTH + GAP
    } else {
        1
    };
    /// Elements between k in shared memory.
    pub const STRIDE_K: u32 = if PATTERN == PIECES_OF_K {
        1
    } else {
        OUTER + GAP
    };
    /// Bytes of a tile in shared memory.
    pub const BYTES: u32 = Self::SIZE
        * if PATTERN == PIECES_OF_K {
            OUTER * Self::STRIDE
        } else {
            DEPTH * Self::STRIDE_K
        };
    /// k of a sector: all that one round of copies takes, at least one of every thread.
    const SECTOR: u32 = match PATTERN {
        PIECES_OF_K => DEPTH,
        PIECES_ACROSS if Self::WIDTH * THREADS > OUTER * 32 / Self::SIZE => {
            Self::WIDTH * THREADS / OUTER
        }
        _ => 32 / Self::SIZE,
    };
    /// A thread's copies in one sector of k.
    const COPIES: u32 = OUTER * Self::SECTOR / (Self::WIDTH * THREADS);

    /// For tiles from outer index `first` of `extent` and from `k` on.
    ///
    /// For pieces of 16 bytes their elements are neighbours; the number of them, the other stride
    /// and the place where each matrix starts are multiples of 16 bytes.
    #[inline(always)]
    pub fn new(factor: &Factor<T>, first: u32, extent: u32, k: u32) -> Self {
        const {
            assert!((OUTER * Self::SECTOR).is_multiple_of(Self::WIDTH * THREADS));
            assert!(DEPTH.is_multiple_of(Self::SECTOR) && Self::COPIES <= 8);
        };
        let me = thread::thread_idx_x();
        let is_along_k = match PATTERN {
            ELEMENTS_OF_K | PIECES_OF_K => true,
            // Neighbouring threads read what is neighbouring in memory.
            ELEMENTS => factor.stride_k == 1 && factor.stride != 1,
            _ => false,
        };
        let (outer, my_k, outer_step, k_step) = if is_along_k {
            let of_outer = Self::SECTOR / Self::WIDTH;
            (
                me / of_outer,
                me % of_outer * Self::WIDTH,
                THREADS / of_outer,
                0,
            )
        } else {
            let of_k = OUTER / Self::WIDTH;
            (me % of_k * Self::WIDTH, me / of_k, 0, THREADS / of_k)
        };
        let mut is_there = 0;
        unrolled! { copy in [0 1 2 3 4 5 6 7] {
            if (copy as u32) < Self::COPIES {
                let is_in = first + outer + copy as u32 * outer_step < extent;
                is_there |= (is_in as u32) << copy;
            }
        }}
        let size = Self::SIZE as isize;
        let (stride, stride_k) = (factor.stride as isize, factor.stride_k as isize);
        let start = factor.start as isize
            + thread::block_idx_z() as isize * factor.stride_batch as isize
            + (first + outer) as isize * stride
            + (k + my_k) as isize * stride_k;
        Loader {
            elements: factor.elements,
            next: factor.elements.as_ptr().wrapping_offset(start).cast(),
            steps: [
                (outer_step as isize * stride + k_step as isize * stride_k) * size,
                Self::SECTOR as isize * stride_k * size,
                DEPTH as isize * stride_k * size,
            ],
            place: (my_k * Self::STRIDE_K + outer * Self::STRIDE) * Self::SIZE,
            place_step: (k_step * Self::STRIDE_K + outer_step * Self::STRIDE) * Self::SIZE,
            k: my_k,
            k_step,
            is_there,
        }
    }

    /// Starts the copies of the next tile, of which the first `k_left` k are there, to `tile`.
    ///
    /// The same copies write zeros for elements outside of the matrix. Branches around copies would keep
    /// ptxas from spreading them among the multiplications.
    ///
    /// # Safety
    /// - `tile` has [`BYTES`](Self::BYTES) bytes, aligned to 16, that nothing else uses until the
    ///   copies have arrived.
    /// - The factor has the outer indices below the extent with these `k_left` k, which no other
    ///   thread writes meanwhile, and is as [`new`](Self::new) asks.
    #[allow(unused_assignments, reason = "the last copy steps on like the others")]
    #[inline(always)]
    pub unsafe fn load(&mut self, tile: SharedAddress, k_left: u32) {
        let mut tile = tile.offset(self.place);
        let mut of_sector = self.next;
        unrolled! { sector in [0 1 2 3] {
            if sector as u32 * Self::SECTOR < DEPTH {
                let (mut from, mut to) = (of_sector, tile);
                // Copies of neighbouring k are all of one k, which takes one comparison.
                let is_k_there = self.k + sector as u32 * Self::SECTOR < k_left;
                let bits = in_register(if is_k_there { self.is_there } else { 0 });
                unrolled! { copy in [0 1 2 3 4 5 6 7] {
                    if (copy as u32) < Self::COPIES {
                        let k = self.k + copy as u32 * self.k_step + sector as u32 * Self::SECTOR;
                        let is_there = match PATTERN {
                            ELEMENTS_OF_K => bits >> copy & 1 == 1,
                            _ => self.is_there >> copy & 1 == 1 && k < k_left,
                        };
                        // SAFETY: by the contract of this function, the place is in the tile, and
                        // the elements are in the matrix if `is_there`, aligned as `new` asks.
                        unsafe { start(self.elements, Self::WIDTH, from, to, is_there) };
                        from = from.wrapping_offset(self.steps[0]);
                        to = to.offset(self.place_step);
                    }
                }}
                of_sector = of_sector.wrapping_offset(self.steps[1]);
                tile = tile.offset(Self::SECTOR * Self::STRIDE_K * Self::SIZE);
            }
        }}
        self.next = self.next.wrapping_offset(self.steps[2]);
    }
}

/// Returns the same bits, which the compiler does not know: else it would make a predicate of each
/// bit before the loop, and there are only 7 predicate registers.
#[inline(always)]
fn in_register(bits: u32) -> u32 {
    #[cfg(not(target_arch = "nvptx64"))]
    return bits;
    #[cfg(target_arch = "nvptx64")]
    {
        let same;
        // SAFETY: a copy from register to register.
        unsafe {
            core::arch::asm!(
                "mov.b32 {same}, {bits};",
                same = out(reg32) same, bits = in(reg32) bits,
                options(pure, nomem, nostack),
            )
        };
        same
    }
}

/// Starts the copy of `width` neighbours.
///
/// # Safety
/// As of [`async_copy::copy`]; the `width` neighbours are elements of the slice if `is_there`.
#[inline(always)]
pub unsafe fn start<T: Copy>(
    elements: DeviceSlice<T>,
    width: u32,
    from: *const u8,
    to: SharedAddress,
    is_there: bool,
) {
    #[cfg(target_arch = "nvptx64")]
    let _ = elements;
    #[cfg(not(target_arch = "nvptx64"))]
    if is_there {
        let first = (from as usize).wrapping_sub(elements.as_ptr() as usize) / size_of::<T>();
        // SAFETY: only the simulator's check of the last one.
        unsafe { elements.address(first.saturating_add(width as usize - 1)) };
    }
    // SAFETY: by the contract of this function, `copy` may be called for `width` elements, which
    // have 4, 8 or 16 bytes.
    unsafe {
        match size_of::<T>() as u32 * width {
            4 => async_copy::copy::<4>(to, from, is_there),
            8 => async_copy::copy::<8>(to, from, is_there),
            _ => async_copy::copy::<16>(to, from, is_there),
        }
    }
}
