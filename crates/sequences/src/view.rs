//! Views of sequences, and searches among their codes.

use std::ops::Range;

use gridstride_runtime::device::collected;
use gridstride_runtime::{Result, parallel};

/// Codes that a task of a parallel search reads.
const BLOCK: usize = 1 << 16;

/// A code, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct CodeAt {
    pub code: u8,
    /// `None` if the argument is one view of codes.
    pub sequence: Option<usize>,
    pub position: usize,
}

/// Returns the largest code. Reading the whole block without a branch is many times faster than a
/// search for the first large code.
#[inline(always)]
pub fn largest_of(block: &[u8]) -> Option<u8> {
    block.iter().copied().max()
}

/// A view of consecutive sequences.
#[derive(Clone, Copy, Debug)]
pub struct SequencesView<'a> {
    /// The codes of all sequences, also of those outside of the view.
    pub codes: &'a [u8],
    /// The start of each sequence of the view in `codes`, and the end of the last sequence.
    pub offsets: &'a [usize],
}

impl<'a> SequencesView<'a> {
    #[expect(clippy::len_without_is_empty, reason = "no kernel asks")]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn get(&self, index: usize) -> &'a [u8] {
        &self.codes[self.offsets[index]..self.offsets[index + 1]]
    }

    pub fn length(&self, index: usize) -> usize {
        self.offsets[index + 1] - self.offsets[index]
    }

    /// Returns the codes of the sequences of this view.
    pub fn own_codes(&self) -> &'a [u8] {
        &self.codes[self.offsets[0]..self.offsets[self.len()]]
    }

    pub fn slices(self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        (self.offsets.windows(2)).map(move |ends| &self.codes[ends[0]..ends[1]])
    }

    /// Returns where each sequence begins among the codes of this view, and where the last ends.
    pub fn offsets_from_zero(&self) -> Result<Vec<u64>> {
        let origin = self.offsets[0];
        collected(self.offsets.iter().map(|offset| (offset - origin) as u64))
    }

    /// Returns the first of the largest codes; `None` if there are no codes.
    pub fn largest_code(&self) -> Option<CodeAt> {
        let largest = parallel::map(self.own_codes().chunks(BLOCK), largest_of);
        let largest = largest.into_iter().max().flatten()?;
        self.first_code_from(usize::from(largest))
    }

    /// Returns the first code that is not below `bound`.
    pub fn first_code_from(&self, bound: usize) -> Option<CodeAt> {
        let bound = u8::try_from(bound).ok()?;
        let codes = self.own_codes();
        let index = parallel::find_first(codes.len().div_ceil(BLOCK), &|number| {
            let range = parallel::chunk(number, BLOCK, codes.len());
            let block = &codes[range.clone()];
            largest_of(block).filter(|&largest| largest >= bound)?;
            let index = block.iter().position(|&code| code >= bound)?;
            Some(range.start + index)
        });
        let place = self.offsets[0] + index?;
        let sequence = (self.offsets).partition_point(|&offset| offset <= place) - 1;
        Some(CodeAt {
            code: self.codes[place],
            sequence: Some(sequence),
            position: place - self.offsets[sequence],
        })
    }

    pub fn range(&self, range: Range<usize>) -> SequencesView<'a> {
        SequencesView {
            codes: self.codes,
            offsets: &self.offsets[range.start..=range.end],
        }
    }
}
