//! The buckets of stretches, one after the other.

use std::borrow::Cow;

use ndarray::Array1;

use super::cut::Stretch;
use crate::Result;
use crate::device::{Element, zeroed};
use crate::partition::concat;
use crate::time_series::output::{Aggregates, BucketCounts, CustomAggregates};

/// Buckets of series.
pub trait Buckets: Sized {
    /// Where those of each series begin, and at the end their number.
    fn offsets(&self) -> Cow<'_, [usize]>;
    fn starts(&self) -> &Array1<i64>;
    /// All pieces' buckets, with these offsets.
    fn join(pieces: &[Piece<Self>], offsets: Vec<usize>) -> Result<Self>;
}

/// The buckets of a stretch.
pub struct Piece<R> {
    buckets: R,
    first_series: usize,
    /// Buckets of its first series that belong to the stretch before.
    skipped: usize,
}

impl<R: Buckets> Piece<R> {
    pub fn new(buckets: R, stretch: &Stretch) -> Piece<R> {
        let (starts, offsets) = (buckets.starts(), buckets.offsets());
        let of_first = (starts.iter()).take(offsets[1]);
        let first = stretch.first_label();
        Piece {
            skipped: of_first.take_while(|&&start| start < first).count(),
            first_series: stretch.first_series(),
            buckets,
        }
    }
}

/// Pieces put together, of so many series.
pub fn joined<R: Buckets>(series: usize, mut pieces: Vec<Piece<R>>) -> Result<R> {
    let mut offsets = zeroed(series + 1)?;
    for piece in &pieces {
        let own = piece.buckets.offsets();
        for (index, ends) in own.windows(2).enumerate() {
            offsets[piece.first_series + index + 1] += ends[1] - ends[0];
        }
        offsets[piece.first_series + 1] -= piece.skipped;
    }
    for index in 0..series {
        offsets[index + 1] += offsets[index];
    }
    match pieces.len() {
        1 if pieces[0].skipped == 0 && series == pieces[0].buckets.offsets().len() - 1 => {
            Ok(pieces.remove(0).buckets)
        }
        _ => R::join(&pieces, offsets),
    }
}

/// Returns what `array` gives of each piece, one after the other.
fn concatenated<'a, R, T: Element>(
    pieces: &'a [Piece<R>],
    array: impl Fn(&'a R) -> &'a Array1<T>,
) -> Result<Array1<T>> {
    let parts = pieces.iter().map(|piece| {
        let all = array(&piece.buckets).as_slice();
        &all.expect("an array as it was made")[piece.skipped..]
    });
    Ok(concat::concatenated(parts)?.into())
}

impl Buckets for Aggregates {
    fn offsets(&self) -> Cow<'_, [usize]> {
        Cow::Borrowed(&self.offsets)
    }

    fn starts(&self) -> &Array1<i64> {
        &self.starts
    }

    fn join(pieces: &[Piece<Self>], offsets: Vec<usize>) -> Result<Self> {
        let methods = pieces[0].buckets.methods.clone();
        let column = |index: usize| concatenated(pieces, move |piece| &piece.columns[index]);
        Ok(Aggregates {
            offsets,
            starts: concatenated(pieces, |piece| &piece.starts)?,
            columns: (0..methods.len()).map(column).collect::<Result<_>>()?,
            methods,
        })
    }
}

impl<O: Element> Buckets for CustomAggregates<O> {
    fn offsets(&self) -> Cow<'_, [usize]> {
        Cow::Borrowed(&self.offsets)
    }

    fn starts(&self) -> &Array1<i64> {
        &self.starts
    }

    fn join(pieces: &[Piece<Self>], offsets: Vec<usize>) -> Result<Self> {
        Ok(CustomAggregates {
            offsets,
            starts: concatenated(pieces, |piece| &piece.starts)?,
            results: concatenated(pieces, |piece| &piece.results)?,
        })
    }
}

impl Buckets for BucketCounts {
    fn offsets(&self) -> Cow<'_, [usize]> {
        Cow::Owned(vec![0, self.starts.len()])
    }

    fn starts(&self) -> &Array1<i64> {
        &self.starts
    }

    fn join(pieces: &[Piece<Self>], _: Vec<usize>) -> Result<Self> {
        Ok(BucketCounts {
            starts: concatenated(pieces, |piece| &piece.starts)?,
            counts: concatenated(pieces, |piece| &piece.counts)?,
        })
    }
}
