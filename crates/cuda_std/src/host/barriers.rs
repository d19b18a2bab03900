//! The barriers that count arrivals in the dynamic shared memory of a block.

use core::panic::Location;
use std::collections::BTreeMap;

/// The barriers in a block's dynamic shared memory, by their addresses: at first none.
#[derive(Debug, Default)]
pub struct Barriers {
    pub(super) known: BTreeMap<usize, Known>,
    pub(super) changes: u64,
}

/// Properties of a barrier that its 8 bytes do not hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Where it was initialised.
    pub(super) site: &'static Location<'static>,
    /// The number of phases that have ended.
    pub(super) ended: u64,
}

impl Barriers {
    /// The number of arrivals and copies so far, at all barriers.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}
