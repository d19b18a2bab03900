//! Reports of a launch's blocks to the host.

use cuda_std::prelude::*;

/// Words, all 0 at first, that the blocks of a launch write to.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Reports {
    /// [`REPORTS`] words.
    pub words: DeviceSliceMut<u64>,
}

/// The number of words: one for each [`Report`], and the number of places.
pub const REPORTS: usize = 6;

/// The word with the number of places for buckets.
pub const TOTAL: usize = 5;

/// A finding of a block. The word has 2⁶⁴ − 1 less the lowest index of a point, or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The tile has more or fewer buckets than reserved places; reports the tile's first point.
    Places = 0,
    /// A timestamp below that before it.
    Disorder = 1,
    /// A timestamp whose bucket has no label.
    WithoutLabel = 2,
    /// A value that is not there, where differences are taken.
    Missing = 3,
    /// A tile with a long bucket, where a kernel for short ones leaves it out.
    Long = 4,
}

impl Reports {
    /// Reports the lowest of the points from `first` on that have a bit.
    ///
    /// # Safety
    /// `words` has [`REPORTS`] elements.
    #[inline(always)]
    pub unsafe fn report(&self, report: Report, first: usize, points: u32) {
        if points != 0 {
            let index = first as u64 + points.trailing_zeros() as u64;
            // SAFETY: by the contract of this function, the element is in `words`. All threads use
            // it atomically.
            unsafe { atomic::max(self.words.address(report as usize), u64::MAX - index) };
        }
    }
}
