//! What the blocks of a launch tell each other: which tile comes next, and how many buckets begin
//! in lower ones.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// Words, all 0 at first, that the blocks of a launch use atomically.
///
/// Tiles are taken in ascending order, by blocks that have started: so a block may wait for those
/// of lower tiles.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Progress {
    /// [`HEADER`] words, and one for each tile.
    pub words: DeviceSliceMut<u64>,
}

/// Words before those of the tiles: of tiles taken, of two reports, and the number of buckets.
pub const HEADER: usize = 4;

/// Where the number of buckets stands in the end.
pub const TOTAL: usize = 3;

/// What a block found wrong. The word that it stands in has 2⁶⁴ − 1 less the lowest index of a
/// point, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A timestamp below that before it.
    Disorder = 1,
    /// A timestamp whose bucket has no label.
    WithoutLabel = 2,
}

/// A tile's word: how many buckets begin in it, or in all up to it.
const OF_TILE: u64 = 1 << 62;
const UP_TO_TILE: u64 = 2 << 62;
const FLAGS: u64 = 3 << 62;

impl Progress {
    /// The next tile, for one thread of a block.
    ///
    /// # Safety
    /// No block has more than one.
    #[inline(always)]
    pub unsafe fn take(&self) -> usize {
        // SAFETY: one of the words, used atomically.
        unsafe { atomic::add(self.words.address(0), 1) as usize }
    }

    /// Reports the lowest of the points from `first` on that have a bit.
    ///
    /// # Safety
    /// There are words.
    #[inline(always)]
    pub unsafe fn report(&self, report: Report, first: usize, points: u32) {
        if points != 0 {
            let index = first as u64 + points.trailing_zeros() as u64;
            // SAFETY: as above.
            unsafe { atomic::max(self.words.address(report as usize), u64::MAX - index) };
        }
    }

    /// # Safety
    /// There is a word for the tile.
    #[inline(always)]
    unsafe fn word(&self, tile: usize) -> *mut u64 {
        // SAFETY: the caller's promise.
        unsafe { self.words.address(HEADER + tile) }
    }

    /// Tells the others how many buckets begin in a tile: for one thread, and before it looks back.
    ///
    /// # Safety
    /// There is a word for the tile, which is this block's.
    #[inline(always)]
    pub unsafe fn tell(&self, tile: usize, heads: u32) {
        let flag = if tile == 0 { UP_TO_TILE } else { OF_TILE };
        // SAFETY: as above.
        unsafe { atomic::store(self.word(tile), flag | u64::from(heads)) };
    }

    /// How many buckets begin in lower tiles, for the 32 lanes of one warp. Then others can see it
    /// too.
    ///
    /// # Safety
    /// As of [`tell`](Self::tell), which a lane of this warp has done.
    #[inline(always)]
    pub unsafe fn look_back(&self, tile: usize, heads: u32) -> u32 {
        if tile == 0 {
            return 0;
        }
        let lane = warp::lane_id() as usize;
        let mut before = 0;
        // Lane 0 looks at the tile before this number, the others at lower ones.
        let mut end = tile;
        loop {
            let mut word = UP_TO_TILE;
            if lane < end {
                // SAFETY: a lower tile's.
                let address = unsafe { self.word(end - 1 - lane) };
                // SAFETY: used atomically.
                word = unsafe { atomic::load(address) };
                while word & FLAGS == 0 {
                    thread::nanosleep(20);
                    // SAFETY: as above.
                    word = unsafe { atomic::load(address) };
                }
            }
            let sums = warp::ballot(FULL_MASK, word & FLAGS == UP_TO_TILE);
            // Up to the nearest tile that knows the sum.
            let nearest = sums.trailing_zeros() as usize;
            let heads = if lane <= nearest { word as u32 } else { 0 };
            before += warp::reduce_sum(heads);
            if sums != 0 {
                break;
            }
            end -= WARP_SIZE as usize;
        }
        if lane == 0 {
            let sum = u64::from(before) + u64::from(heads);
            // SAFETY: this tile's.
            unsafe { atomic::store(self.word(tile), UP_TO_TILE | sum) };
        }
        before
    }
}
