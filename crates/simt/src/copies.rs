//! Asynchronous copies from global to shared memory.

use crate::order::Random;
use crate::shared::{Poison, SharedMemory};
use cuda_std::host::Misuse;
use std::collections::VecDeque;

/// When a block makes its copies: a GPU may do both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyTime {
    AtStart,
    /// As late as can be: when they are waited for.
    AtWait,
}

impl CopyTime {
    /// What a block draws; with seed 0 it is the end, which shows more mistakes.
    pub(crate) fn draw(poison: Poison) -> Self {
        /// Sets this draw apart from those for memory and order.
        const STREAM: u64 = 0x636f_7079;
        let mut random = Random::new(poison.seed ^ STREAM, poison.block);
        if poison.seed != 0 && random.next() & 1 == 1 {
            Self::AtStart
        } else {
            Self::AtWait
        }
    }
}

/// What stands in the target of a copy until it is made: NaN as a float, −1 as an integer.
const NOT_YET: u8 = 0xff;

/// A copy whose addresses have been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    to: *mut u8,
    /// None if zeros are copied.
    from: Option<*const u8>,
    bytes: usize,
}

impl Copy {
    pub(crate) fn new(
        shared: &SharedMemory,
        to: usize,
        from: Option<*const u8>,
        bytes: usize,
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
        })
    }

    /// # Safety
    /// The shared memory of `new` must be there, and the source be initialised.
    unsafe fn make(self) {
        // SAFETY: `new` has seen that the target is in the shared memory, and the source, in global
        // memory, does not overlap it; the rest is passed on to the caller.
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
    copies: VecDeque<Copy>,
    /// How many of them each group has.
    groups: VecDeque<usize>,
    /// How many are in no group yet, behind the others.
    open: usize,
}

impl Copies {
    /// # Safety
    /// The copy's shared memory must be there, and until the copy has been waited for its source must
    /// be initialised and nobody write it.
    pub(crate) unsafe fn start(&mut self, copy: Copy, time: CopyTime) {
        if time == CopyTime::AtStart {
            // SAFETY: passed on to the caller.
            unsafe { copy.make() };
            return;
        }
        // SAFETY: the target is in the shared memory, which the caller vouches for.
        unsafe { copy.to.write_bytes(NOT_YET, copy.bytes) };
        self.copies.push_back(copy);
        self.open += 1;
    }

    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Makes the copies of all groups but the latest `pending`.
    ///
    /// # Safety
    /// What was promised to [`start`](Self::start) must still hold.
    pub(crate) unsafe fn wait(&mut self, pending: usize) {
        let finished = self.groups.len().saturating_sub(pending);
        let count: usize = self.groups.drain(..finished).sum();
        for copy in self.copies.drain(..count) {
            // SAFETY: passed on to the caller.
            unsafe { copy.make() };
        }
    }
}
