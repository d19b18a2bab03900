//! The CPU version, on all cores.
//!
//! If the options say so, [points] are first sorted, and duplicates left out. Then a pass over
//! chunks of timestamps checks them, finds the [`buckets`], and computes the statistics of the values.
//! The result of a bucket depends only on its points, not on its place or the number of threads:
//! short buckets are reduced from the first point to the last, and long buckets in chunks of a
//! fixed length that are merged in order.

mod buckets;
mod finish;
mod percentiles;
mod points;
mod prefetch;
mod rates;
mod reduce;
mod round;
mod statistics;
mod sums;

use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, collected, zeroed_columns};
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel::{Scratch, Slots};
use ndarray::Array1;
use time_series_kernels::{Aggregate, Statistic};

pub use finish::finish;
pub use round::{round, round_into};

use self::buckets::{BucketSlice, Buckets, Columns, Visit};
use self::percentiles::PercentilesVisitor;
use self::rates::Rates;
use self::reduce::reduce_values;
use self::statistics::StatisticsVisitor;
use super::input::Series;
use super::method;
use super::output::{Aggregates, BucketCounts, CustomAggregates};
use super::timeline::Timeline;
use super::values::Values;

/// The numbers that are aggregated.
enum Source<'a> {
    Values(&'a Series<'a>),
    Rates(Rates<'a>),
}

pub fn aggregate(series: &Series) -> Result<Aggregates> {
    let (options, points) = (&*series.options, series.prepared()?);
    let (methods, ddof) = (options.needed_methods(), f64::from(options.ddof));
    let (statistics, percents) = &method::split(&methods, false);
    let source = &Source::Values(&points);
    let timeline = Timeline::of(&points);
    let rooms = timeline.rooms();
    // Statistics of the values are computed while the buckets are found.
    let mut columns = Columns::new(statistics.len(), &rooms)?;
    let visitor = StatisticsVisitor::new(source, statistics, ddof, columns.by_chunk(&rooms));
    let values = match statistics.is_empty() {
        true => &Values::None,
        false => &points.values,
    };
    let buckets = Buckets::find(&timeline, &rooms, values, &visitor)?;
    drop(visitor);
    let mut target = Target {
        offsets: &points.offsets,
        buckets: &buckets,
        columns: vec![Vec::new(); methods.len()],
    };
    target.put(statistics, columns.without_gaps(&rooms, &buckets));
    target.add_percentiles(source, percents)?;
    let (statistics, percents) = &method::split(&methods, true);
    if !statistics.is_empty() || !percents.is_empty() {
        let source = &Source::Rates(Rates::new(&points)?);
        target.add_statistics(source, statistics, ddof)?;
        target.add_percentiles(source, percents)?;
    }
    let columns = target.columns.into_iter().map(Array1::from).collect();
    finish(
        options,
        Aggregates {
            offsets: buckets.offsets,
            starts: buckets.starts.into(),
            methods,
            columns,
        },
    )
}

/// The columns of the result.
struct Target<'a> {
    offsets: &'a [usize],
    buckets: &'a Buckets,
    columns: Vec<Vec<f64>>,
}

impl Target<'_> {
    fn add_statistics(
        &mut self,
        source: &Source,
        statistics: &[(usize, Statistic)],
        ddof: f64,
    ) -> Result<()> {
        let mut columns = zeroed_columns(statistics.len(), self.buckets.len())?;
        if !columns.is_empty() {
            let by_chunk = self.buckets.by_chunk(&mut columns);
            let visitor = StatisticsVisitor::new(source, statistics, ddof, by_chunk);
            self.buckets.visit(self.offsets, &visitor)?;
        }
        self.put(statistics, columns);
        Ok(())
    }

    fn add_percentiles(&mut self, source: &Source, percents: &[(usize, f64)]) -> Result<()> {
        let mut columns = zeroed_columns(percents.len(), self.buckets.len())?;
        if !columns.is_empty() {
            let by_chunk = self.buckets.by_chunk(&mut columns);
            let visitor = PercentilesVisitor::new(source, percents, by_chunk);
            self.buckets.visit(self.offsets, &visitor)?;
        }
        self.put(percents, columns);
        Ok(())
    }

    fn put<M>(&mut self, places: &[(usize, M)], columns: Vec<Vec<f64>>) {
        for ((place, _), column) in places.iter().zip(columns) {
            self.columns[*place] = column;
        }
    }
}

/// Aggregates series by a user-defined aggregate.
pub fn custom<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    aggregate: &A,
    series: &Series,
) -> Result<CustomAggregates<A::Output>> {
    let points = series.prepared()?;
    let timeline = Timeline::of(&points);
    let rooms = timeline.rooms();
    let mut columns = Columns::new(1, &rooms)?;
    let visitor = ResultsVisitor {
        aggregate,
        points: &points,
        columns: columns.by_chunk(&rooms),
        scratch: Scratch::new(),
    };
    let buckets = Buckets::find(&timeline, &rooms, &points.values, &visitor)?;
    drop(visitor);
    let mut columns = columns.without_gaps(&rooms, &buckets);
    Ok(CustomAggregates {
        offsets: buckets.offsets,
        starts: buckets.starts.into(),
        results: columns.remove(0).into(),
    })
}

/// Computes the results of a user-defined aggregate.
struct ResultsVisitor<'a, A: Aggregate> {
    aggregate: &'a A,
    points: &'a Series<'a>,
    /// The results of the buckets of each chunk: a single column.
    columns: Slots<Vec<&'a mut [A::Output]>>,
    scratch: Scratch<Vec<A::State>>,
}

impl<A: Aggregate<State: Send, Output: Element> + Sync> Visit for ResultsVisitor<'_, A> {
    fn visit(&self, chunk: usize, buckets: &BucketSlice) -> Result<()> {
        self.scratch.with(|states| {
            states.clear();
            reduce_values(self.aggregate, self.points, buckets.bounds(), states)?;
            let columns = self.columns.take(chunk);
            Isa::detect().run(
                #[inline(always)]
                || write_results(self.aggregate, states, columns),
            );
            Ok(())
        })
    }
}

/// Writes the results of states.
#[inline(always)]
fn write_results<A: Aggregate>(aggregate: &A, states: &[A::State], columns: Vec<&mut [A::Output]>) {
    for results in columns {
        for (result, state) in results.iter_mut().zip(states) {
            *result = aggregate.finish(*state);
        }
    }
}

pub fn counts(timeline: &Timeline) -> Result<BucketCounts> {
    let buckets = Buckets::find(timeline, &timeline.rooms(), &Values::None, &())?;
    let counts = collected(buckets.firsts.windows(2).map(|pair| pair[1] - pair[0]))?;
    Ok(BucketCounts {
        starts: buckets.starts.into(),
        counts: counts.into(),
    })
}
