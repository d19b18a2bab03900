//! Results in slices, for results larger than memory.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::zeroed_lazily;
use gridstride_runtime::error::During;

use super::output::Overlaps;

/// A search on devices. The boxes are checked when the search is made or first used.
pub trait Search: Send {
    /// Writes how many boxes overlap each box of the first set.
    fn counts(&mut self, counts: &mut [u32]) -> Result<()>;

    /// Returns the pairs of these rows of the first set, with offsets that begin with 0.
    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps>;
}

/// Returns how many boxes overlap each of the `rows` boxes of the first set.
pub fn counts(search: &mut dyn Search, rows: usize) -> Result<Vec<u32>> {
    let mut counts = zeroed_lazily(rows)?;
    search.counts(&mut counts)?;
    Ok(counts)
}

/// The pairs of consecutive rows of the first set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverlapSlice {
    /// The boxes of the first set.
    pub rows: Range<usize>,
    /// The pairs: row i is box `rows.start + i`.
    pub overlaps: Overlaps,
}

/// The iterator of [`BoxOverlap::slices`](super::BoxOverlap::slices) over all rows, in order.
pub struct OverlapSlices<'a> {
    /// The name of the call, for errors.
    operation: &'static str,
    search: Box<dyn Search + 'a>,
    /// The numbers of pairs of all rows.
    counts: Vec<u32>,
    max_pairs: u64,
    next: usize,
}

impl<'a> OverlapSlices<'a> {
    pub(super) fn new(
        operation: &'static str,
        mut search: Box<dyn Search + 'a>,
        rows: usize,
        max_pairs: usize,
    ) -> Result<Self> {
        Ok(OverlapSlices {
            operation,
            counts: counts(&mut *search, rows).during(operation)?,
            search,
            max_pairs: max_pairs as u64,
            next: 0,
        })
    }

    /// Returns how many boxes of the second set overlap each box of the first, for all rows.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Returns the number of pairs in all slices together.
    pub fn pair_count(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Returns the next rows: at least one, and more while they have at most `max_pairs` pairs.
    fn rows(&mut self) -> Option<Range<usize>> {
        let start = self.next;
        let mut pairs = 0;
        let rest = self.counts[start..].iter().take_while(|&&count| {
            pairs += u64::from(count);
            pairs <= self.max_pairs
        });
        self.next = self.counts.len().min(start + rest.count().max(1));
        (start < self.next).then_some(start..self.next)
    }
}

impl Iterator for OverlapSlices<'_> {
    type Item = Result<OverlapSlice>;

    /// After an error there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.rows()?;
        let overlaps = self.search.overlaps(rows.clone()).during(self.operation);
        if overlaps.is_err() {
            self.next = self.counts.len();
        }
        Some(overlaps.map(|overlaps| OverlapSlice { rows, overlaps }))
    }
}

impl std::fmt::Debug for OverlapSlices<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OverlapSlices")
            .field("rows", &self.counts.len())
            .field("max_pairs", &self.max_pairs)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
