//! What both algorithms offer: the pairs of some rows.

use std::collections::TryReserveError;

use crate::box_overlap::boxes::Boxes;
use crate::device::DeviceKind;
use crate::{Error, Result};

/// The second set, prepared.
pub(super) trait Finder<T>: Sync {
    /// The pairs of rows of the first set, of which the first is its row `first`. The indices of a row
    /// are in any order.
    fn find(&self, rows: Boxes<'_, T>, first: usize, wanted: Wanted) -> Result<Found>;
}

/// What of the pairs is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Counts,
    CountsAndIndices,
}

/// The pairs of some rows.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// How many pairs each row has.
    pub counts: Vec<u32>,
    /// Row after row, if wanted.
    pub indices: Vec<u32>,
}

/// Makes room for more elements.
pub(super) fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<()> {
    let requested = elements
        .len()
        .saturating_add(more)
        .saturating_mul(size_of::<T>()) as u64;
    elements
        .try_reserve(more)
        .map_err(|_: TryReserveError| Error::Allocation {
            device: DeviceKind::Cpu.to_string(),
            requested,
            free: None,
            total: None,
        })
}
