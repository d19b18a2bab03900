//! The buckets of partitions, one after the other.

use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, zeroed};
use gridstride_runtime::partition::concat;
use ndarray::Array1;

use crate::output::{Aggregates, CustomAggregates};

/// Results in the buckets of series.
pub trait Buckets: Sized {
    /// Returns the offsets of the series' buckets, and the starts of all buckets.
    fn buckets(&self) -> (&[usize], &Array1<i64>);

    /// Joins the results, given the offsets and starts of all buckets.
    fn join(found: &[(Self, Place)], offsets: Vec<usize>, starts: Array1<i64>) -> Result<Self>;
}

/// Where the results of a partition belong.
pub struct Place {
    /// The first series with a point.
    pub first_series: usize,
    /// Buckets of the first series that belong to the partition before.
    pub skipped: usize,
}

/// Takes the result of all points if they were not cut.
pub fn uncut<R>(found: &mut Vec<(R, Option<Place>)>) -> Option<R> {
    let all = found.pop_if(|(_, place)| place.is_none());
    all.map(|(results, _)| results)
}

/// Joins the results of all partitions of a number of series.
pub fn joined<R: Buckets>(series: usize, mut found: Vec<(R, Option<Place>)>) -> Result<R> {
    if let Some(all) = uncut(&mut found) {
        return Ok(all);
    }
    let placed = found.into_iter();
    let mut found: Vec<_> = placed
        .filter_map(|(found, place)| Some((found, place?)))
        .collect();
    if let [(only, place)] = &found[..]
        && place.skipped == 0
        && only.buckets().0.len() == series + 1
    {
        return Ok(found.remove(0).0);
    }
    let mut offsets = zeroed(series + 1)?;
    for (results, place) in &found {
        let lengths = results.buckets().0.windows(2);
        for (index, ends) in lengths.enumerate() {
            offsets[place.first_series + index + 1] += ends[1] - ends[0];
        }
        offsets[place.first_series + 1] -= place.skipped;
    }
    for index in 0..series {
        offsets[index + 1] += offsets[index];
    }
    let starts = concatenated(&found, |results| results.buckets().1)?;
    R::join(&found, offsets, starts)
}

/// Concatenates an array of each partition's results.
fn concatenated<'a, R, T: Element>(
    found: &'a [(R, Place)],
    array: impl Fn(&'a R) -> &'a Array1<T>,
) -> Result<Array1<T>> {
    let arrays = found.iter().map(|(results, place)| {
        let all = array(results).as_slice();
        &all.expect("an array as it was made")[place.skipped..]
    });
    Ok(concat::concatenated(arrays)?.into())
}

impl Buckets for Aggregates {
    fn buckets(&self) -> (&[usize], &Array1<i64>) {
        (&self.offsets, &self.starts)
    }

    fn join(found: &[(Self, Place)], offsets: Vec<usize>, starts: Array1<i64>) -> Result<Self> {
        let methods = found[0].0.methods.clone();
        let column = |index: usize| concatenated(found, move |results| &results.columns[index]);
        Ok(Aggregates {
            offsets,
            starts,
            columns: (0..methods.len()).map(column).collect::<Result<_>>()?,
            methods,
        })
    }
}

impl<O: Element> Buckets for CustomAggregates<O> {
    fn buckets(&self) -> (&[usize], &Array1<i64>) {
        (&self.offsets, &self.starts)
    }

    fn join(found: &[(Self, Place)], offsets: Vec<usize>, starts: Array1<i64>) -> Result<Self> {
        Ok(CustomAggregates {
            offsets,
            starts,
            results: concatenated(found, |found| &found.results)?,
        })
    }
}
