//! Buckets dropped and filled, on the host.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{collected, reserve, zeroed, zeroed_columns};
use ndarray::Array1;

use crate::fill::Fill;
use crate::options::TimeBuckets;
use crate::output::Aggregates;

/// Drops buckets, removes the counts behind the columns that the caller asked for, and fills.
pub fn finish(options: &TimeBuckets, mut found: Aggregates) -> Result<Aggregates> {
    let counts = found.columns.split_off(options.methods.len());
    found.methods.truncate(options.methods.len());
    if !counts.is_empty() {
        let ddof = f64::from(options.ddof);
        found = kept(found, |bucket| {
            counts.iter().all(|count| count[bucket] > ddof)
        })?;
    }
    match options.fill.is_none() {
        true => Ok(found),
        false => filled(options, found),
    }
}

fn kept(found: Aggregates, is_kept: impl Fn(usize) -> bool) -> Result<Aggregates> {
    let mut kept = Vec::new();
    reserve(&mut kept, found.len())?;
    kept.extend((0..found.len()).filter(|&bucket| is_kept(bucket)));
    let offset = |&offset: &usize| kept.partition_point(|&bucket| bucket < offset);
    let column = |column: &Array1<f64>| {
        let numbers = collected(kept.iter().map(|&bucket| column[bucket]))?;
        Ok(Array1::from(numbers))
    };
    Ok(Aggregates {
        offsets: collected(found.offsets.iter().map(offset))?,
        starts: collected(kept.iter().map(|&bucket| found.starts[bucket]))?.into(),
        columns: found.columns.iter().map(column).collect::<Result<_>>()?,
        methods: found.methods,
    })
}

/// Inserts the buckets that are missing between the first and the last bucket of each series.
fn filled(options: &TimeBuckets, found: Aggregates) -> Result<Aggregates> {
    // The index among all buckets of the series. The difference of two i64 fits in 64 bits.
    let place = |series: &Range<usize>, bucket: usize| {
        let distance = found.starts[bucket].wrapping_sub(found.starts[series.start]) as u64;
        usize::try_from(distance / options.every as u64).unwrap_or(usize::MAX)
    };
    let series = || (0..found.series_count()).map(|index| found.series(index));
    let mut offsets = Vec::new();
    reserve(&mut offsets, found.series_count() + 1)?;
    offsets.push(0);
    let mut count = 0usize;
    for series in series() {
        if let Some(last) = series.clone().last() {
            count = count.saturating_add(place(&series, last).saturating_add(1));
        }
        offsets.push(count);
    }
    // Asks for all memory at once, so that an error comes before anything is written.
    let numbers = count.saturating_mul(1 + found.columns.len());
    reserve(&mut Vec::<u64>::new(), numbers)?;
    let mut starts = zeroed(count)?;
    let mut columns = zeroed_columns::<f64>(found.columns.len(), count)?;
    let fills: Vec<_> = found
        .methods
        .iter()
        .map(|method| options.fill.of(method))
        .collect();
    // The last result of each column that is not NaN.
    let mut last = vec![f64::NAN; columns.len()];
    for (series, &offset) in series().zip(&offsets) {
        let mut end = offset;
        last.fill(f64::NAN);
        for bucket in series.clone() {
            let target = offset + place(&series, bucket);
            for empty in end..target {
                starts[empty] = starts[empty - 1] + options.every;
                for ((column, fill), &last) in columns.iter_mut().zip(&fills).zip(&last) {
                    column[empty] = match *fill {
                        Fill::Value(number) => number,
                        Fill::Previous => last,
                        Fill::None | Fill::Nan => f64::NAN,
                    };
                }
            }
            starts[target] = found.starts[bucket];
            for ((column, found), last) in columns.iter_mut().zip(&found.columns).zip(&mut last) {
                let number = found[bucket];
                column[target] = number;
                if !number.is_nan() {
                    *last = number;
                }
            }
            end = target + 1;
        }
    }
    Ok(Aggregates {
        offsets,
        starts: starts.into(),
        methods: found.methods,
        columns: columns.into_iter().map(Array1::from).collect(),
    })
}
