//! Asynchronous copies from global to shared memory.

use crate::error::Site;
use crate::order::Random;
use crate::shared::{Poison, SharedMemory};
use cuda_std::host::{Access, AccessKind, AccessSite, Misuse};
use std::collections::VecDeque;

/// When a block makes its copies. A GPU may do both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyTime {
    AtStart,
    /// As late as possible: when a thread waits for the copy.
    AtWait,
}

impl CopyTime {
    /// Draws the time for a block. Seed 0 gives `AtWait`, which shows more mistakes.
    pub(crate) fn draw(poison: Poison) -> Self {
        /// Makes this draw independent of the draws for memory and order.
        const STREAM: u64 = 0x636f_7079;
        let mut random = Random::new(poison.seed ^ STREAM, poison.block);
        if poison.seed != 0 && random.next() & 1 == 1 {
            Self::AtStart
        } else {
            Self::AtWait
        }
    }
}

/// The bytes of a copy's target until the copy is made: NaN as a float, −1 as an integer.
const NOT_YET: u8 = 0xff;

/// A copy whose addresses have been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    to: *mut u8,
    /// None if zeros are copied.
    from: Option<*const u8>,
    bytes: usize,
    site: Site,
}

impl Copy {
    pub(crate) fn new(
        shared: &SharedMemory,
        to: usize,
        from: Option<*const u8>,
        bytes: usize,
        site: Site,
    ) -> Result<Self, Misuse> {
        let length = shared.dynamic_bytes();
        if to.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(Misuse::OutOfRange {
                access: "an asynchronous copy",
                address: to,
                bytes,
                length,
            });
        }
        let source = from.map_or(0, |from| from as usize);
        for (what, value) in [
            ("the target of an asynchronous copy", to),
            ("the source of an asynchronous copy", source),
        ] {
            if !value.is_multiple_of(bytes) {
                return Err(Misuse::Misaligned {
                    what,
                    value,
                    alignment: bytes,
                });
            }
        }
        Ok(Self {
            to: shared.dynamic().wrapping_add(to),
            from,
            bytes,
            site,
        })
    }

    /// Returns the accesses of the copy.
    pub(crate) fn accesses(self) -> impl Iterator<Item = Access> {
        let access = move |address, kind| Access {
            address,
            bytes: self.bytes,
            kind,
            alignment: 1,
            site: AccessSite::Call(self.site),
        };
        let read = self
            .from
            .map(|from| access(from as usize, AccessKind::Read));
        read.into_iter()
            .chain([access(self.to as usize, AccessKind::Write)])
    }

    /// # Safety
    /// The shared memory of `new` exists, and the source is initialised.
    unsafe fn make(self) {
        // SAFETY: `new` has checked that the target is in the shared memory, which the source in
        // global memory does not overlap; by the contract of this function, the shared memory of
        // `new` exists, and the source is initialised.
        unsafe {
            match self.from {
                Some(from) => self.to.copy_from_nonoverlapping(from, self.bytes),
                None => self.to.write_bytes(0, self.bytes),
            }
        }
    }
}

/// The copies that a thread has not waited for, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    copies: VecDeque<(Copy, CopyTime)>,
    /// The number of copies in each group.
    groups: VecDeque<usize>,
    /// The number of copies that are in no group yet, at the end of `copies`.
    open: usize,
}

impl Copies {
    /// # Safety
    /// Until the copy was waited for, its shared memory exists, and its source is initialised and
    /// does not change.
    pub(crate) unsafe fn start(&mut self, copy: Copy, time: CopyTime) {
        // SAFETY: by the contract of this function, until the copy was waited for, its shared memory
        // exists, with the target in it, and its source is initialised and does not change.
        unsafe {
            match time {
                CopyTime::AtStart => copy.make(),
                CopyTime::AtWait => copy.to.write_bytes(NOT_YET, copy.bytes),
            }
        }
        self.copies.push_back((copy, time));
        self.open += 1;
    }

    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Makes the copies of all groups but the latest `pending`, and calls `tell` for each of them.
    ///
    /// # Safety
    /// The contract of [`start`](Self::start) still holds.
    pub(crate) unsafe fn wait(&mut self, pending: usize, tell: impl Fn(Copy)) {
        let finished = self.groups.len().saturating_sub(pending);
        let count: usize = self.groups.drain(..finished).sum();
        for (copy, time) in self.copies.drain(..count) {
            tell(copy);
            if time == CopyTime::AtWait {
                // SAFETY: by the contract of this function, the contract of `start` still holds.
                unsafe { copy.make() };
            }
        }
    }
}
