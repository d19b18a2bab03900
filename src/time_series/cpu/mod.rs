//! The CPU: all cores.
//!
//! First [`points`] are sorted, checked and freed of duplicates where that is asked for. Then the [`buckets`] are
//! found, in two passes over chunks of timestamps: one counts them, one writes them where they belong. What a bucket
//! comes to depends on its own points alone, not on its place or on the number of threads: short buckets are
//! taken from the first point to the last, and long ones in pieces of a fixed length that are merged in order.

mod buckets;
mod percentiles;
mod points;
mod reduce;
mod round;
mod source;
#[cfg(test)]
mod tests;
mod timeline;

use ndarray::Array1;
use time_series_kernels::{Aggregate, Floor, Statistic, Statistics, Summary, Sums};

pub use round::{round, rounded};

use self::buckets::Buckets;
use self::points::Points;
use self::reduce::{Columns, StateOf, reduce};
use self::source::{Rates, Source, ValuesOf};
use self::timeline::Timeline;
use super::method::Kind;
use super::series::Series;
use super::{
    Aggregates, Aggregation, BucketCounts, COUNTS, CustomAggregates, Method, Value, finish,
};
use crate::Result;
use crate::device::{Element, zeroed};

/// Points that a thread takes in one go: few enough for its cache, enough that taking them costs nothing.
const CHUNK: usize = 1 << 13;

/// [`Aggregation::run_series`](super::Aggregation::run_series).
pub fn aggregate<T: Value>(with: &Aggregation, series: &Series<T>) -> Result<Aggregates> {
    let floor = with.floor()?;
    let points = Points::new(with, &floor, series)?;
    let buckets = Buckets::new(&points.timeline(&floor))?;
    let methods = finish::needed(with);
    let mut columns = methods
        .iter()
        .map(|_| zeroed(buckets.len()))
        .collect::<Result<Vec<_>>>()?;
    let (rates, values): (Vec<_>, Vec<_>) = methods
        .iter()
        .zip(&mut columns)
        .partition(|(method, _)| method.is_rate());
    fill(with, &ValuesOf::new(with, &points), &buckets, values)?;
    if !rates.is_empty() {
        fill(with, &Rates::new(with, &points)?, &buckets, rates)?;
    }
    finish::finish(
        with,
        Aggregates {
            offsets: buckets.offsets,
            starts: buckets.starts.into(),
            methods: methods.into_owned(),
            columns: columns.into_iter().map(Array1::from).collect(),
        },
    )
}

/// The columns of the values, or of the rates.
fn fill(
    with: &Aggregation,
    source: &impl Source,
    buckets: &Buckets,
    columns: Vec<(&Method, &mut Vec<f64>)>,
) -> Result<()> {
    let (mut statistics, mut of_statistics) = (Vec::new(), Vec::new());
    let (mut percents, mut of_percents) = (Vec::new(), Vec::new());
    for (method, column) in columns {
        match method.kind() {
            Kind::Statistic(statistic) => {
                statistics.push(statistic);
                of_statistics.push(&mut column[..]);
            }
            Kind::Median => {
                percents.push(50.0);
                of_percents.push(&mut column[..]);
            }
            Kind::Percentile(percent) => {
                percents.push(percent);
                of_percents.push(&mut column[..]);
            }
        }
    }
    let of_sums = |statistic: &Statistic| {
        matches!(
            statistic,
            Statistic::Count | Statistic::Sum | Statistic::Mean
        )
    };
    if !statistics.is_empty() && statistics.iter().all(of_sums) {
        fill_statistics::<Sums>(with, source, buckets, &statistics, of_statistics);
    } else if !statistics.is_empty() {
        fill_statistics::<Summary>(with, source, buckets, &statistics, of_statistics);
    }
    if percents.is_empty() {
        return Ok(());
    }
    percentiles::percentiles(source, buckets, &percents, of_percents)
}

/// All columns of statistics that a state has.
fn fill_statistics<S: Statistics + Send + 'static>(
    with: &Aggregation,
    source: &impl Source,
    buckets: &Buckets,
    statistics: &[Statistic],
    columns: Vec<&mut [f64]>,
) {
    let made_by = StatisticsOf {
        statistics,
        ddof: f64::from(with.ddof),
    };
    reduce(&StateOf::<S>::NEW, source, buckets, columns, &made_by);
}

/// A column for each statistic.
struct StatisticsOf<'a> {
    statistics: &'a [Statistic],
    ddof: f64,
}

impl<S: Statistics> Columns<S, f64> for StatisticsOf<'_> {
    #[inline(always)]
    fn write(&self, column: usize, states: &[S], results: &mut [f64]) {
        // A loop for each statistic, not a choice for each state.
        macro_rules! write {
            ($($name:ident)*) => {
                match self.statistics[column] {$(
                    Statistic::$name => for (result, state) in results.iter_mut().zip(states) {
                        *result = state.statistic(Statistic::$name, self.ddof);
                    }
                )*}
            };
        }
        write! { Count Sum Mean Min Max First Last Std Var }
    }
}

/// [`Aggregation::run_custom`](super::Aggregation::run_custom).
pub fn custom<T: Value, A>(
    with: &Aggregation,
    aggregate: &A,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>>
where
    A: Aggregate<State: Send, Output: Element> + Send + Sync,
{
    let floor = with.floor()?;
    let points = Points::new(with, &floor, series)?;
    let buckets = Buckets::new(&points.timeline(&floor))?;
    let mut results = zeroed(buckets.len())?;
    let source = ValuesOf::new(with, &points);
    reduce(
        aggregate,
        &source,
        &buckets,
        vec![&mut results],
        &ResultsOf(aggregate),
    );
    Ok(CustomAggregates {
        offsets: buckets.offsets,
        starts: buckets.starts.into(),
        results: results.into(),
    })
}

/// One column, of results.
struct ResultsOf<'a, A>(&'a A);

impl<A: Aggregate + Sync> Columns<A::State, A::Output> for ResultsOf<'_, A> {
    #[inline(always)]
    fn write(&self, _column: usize, states: &[A::State], results: &mut [A::Output]) {
        for (result, state) in results.iter_mut().zip(states) {
            *result = self.0.finish(*state);
        }
    }
}

/// [`bucket_counts`](super::bucket_counts).
pub fn counts(floor: &Floor, timestamps: &[i64]) -> Result<BucketCounts> {
    let buckets = Buckets::new(&Timeline {
        operation: COUNTS,
        offsets: &[0, timestamps.len()],
        timestamps,
        floor,
    })?;
    let mut counts = zeroed(buckets.len())?;
    for (count, points) in counts.iter_mut().zip(buckets.firsts.windows(2)) {
        *count = points[1] - points[0];
    }
    Ok(BucketCounts {
        starts: buckets.starts.into(),
        counts: counts.into(),
    })
}
