//! The CPU: all cores.
//!
//! First [points] are sorted, checked and freed of duplicates where that is asked for. Then the [`buckets`] are
//! found, in a pass over chunks of timestamps, in which the statistics of the values are computed as well. What a bucket
//! comes to depends on its own points alone, not on its place or on the number of threads: short buckets are
//! taken from the first point to the last, and long ones in pieces of a fixed length that are merged in order.

mod buckets;
mod finish;
mod percentiles;
mod points;
mod reduce;
mod round;
mod source;
#[cfg(test)]
mod tests;
mod timeline;

use ndarray::Array1;
use time_series_kernels::{Aggregate, StatesOf, Statistic, Statistics, Summary, Sums};

pub use finish::finish;
pub use round::{round, round_into};
pub use timeline::Timeline;

use self::buckets::{Buckets, Found, Ignore, Visit};
use self::percentiles::PercentilesOf;
use self::reduce::{Columns, Reduce};
use self::source::{Rates, Source, ValuesOf};
use super::input::Series;
use super::method::{self, InColumns, Method};
use super::options::TimeBuckets;
use super::output::{Aggregates, BucketCounts, CustomAggregates};
use crate::device::{Element, zeroed, zeroed_columns};
use crate::{Real, Result};

/// Aggregates series.
pub fn aggregate<T: Real>(options: &TimeBuckets, series: &Series<T>) -> Result<Aggregates> {
    let points = series.prepared(options)?;
    let methods = options.needed_methods();
    let of_values = Wanted::of(options, &methods, false);
    let of_rates = Wanted::of(options, &methods, true);
    let values = ValuesOf::new(options, &points);
    // Statistics of the values are computed while the buckets are found.
    let (buckets, found) = Buckets::find(
        &Timeline::of(&points),
        of_values.statistics.len(),
        &of_values.statistics(&values),
    )?;
    let mut target = Target {
        offsets: &points.offsets,
        buckets: &buckets,
        columns: vec![Vec::new(); methods.len()],
    };
    target.put(&of_values.statistics, found);
    target.fill(&of_values.percents, &of_values.percentiles(&values))?;
    if !of_rates.is_empty() {
        let rates = Rates::new(options, &points)?;
        target.fill(&of_rates.statistics, &of_rates.statistics(&rates))?;
        target.fill(&of_rates.percents, &of_rates.percentiles(&rates))?;
    }
    let columns = target.columns.into_iter().map(Array1::from).collect();
    finish(
        options,
        Aggregates {
            offsets: buckets.offsets,
            starts: buckets.starts.into(),
            methods: methods.into_owned(),
            columns,
        },
    )
}

/// What is computed of the values, or of the rates, and in which columns.
struct Wanted {
    statistics: InColumns<Statistic>,
    percents: InColumns<f64>,
    ddof: f64,
}

impl Wanted {
    fn of(options: &TimeBuckets, methods: &[Method], are_rates: bool) -> Wanted {
        let (statistics, percents) = method::split(methods, are_rates);
        Wanted {
            statistics,
            percents,
            ddof: f64::from(options.ddof),
        }
    }

    fn is_empty(&self) -> bool {
        self.statistics.is_empty() && self.percents.is_empty()
    }

    fn statistics<'a, S>(&self, source: &'a S) -> StatisticsOf<'a, S> {
        let statistics = self.statistics.iter().map(|&(_, statistic)| statistic);
        StatisticsOf {
            source,
            made_by: OfStates {
                statistics: statistics.collect(),
                ddof: self.ddof,
            },
        }
    }

    fn percentiles<'a, S>(&self, source: &'a S) -> PercentilesOf<'a, S> {
        PercentilesOf {
            source,
            percents: self.percents.iter().map(|&(_, percent)| percent).collect(),
        }
    }
}

/// The columns of some buckets.
struct Target<'a> {
    offsets: &'a [usize],
    buckets: &'a Buckets,
    columns: Vec<Vec<f64>>,
}

impl Target<'_> {
    /// Has a visitor fill some columns.
    fn fill<M>(&mut self, places: &[(usize, M)], visitor: &impl Visit<f64>) -> Result<()> {
        let mut columns = zeroed_columns::<f64>(places.len(), self.buckets.len())?;
        if !columns.is_empty() {
            let parts = columns.iter_mut().map(|column| &mut column[..]).collect();
            self.buckets.visit(self.offsets, parts, visitor)?;
        }
        self.put(places, columns);
        Ok(())
    }

    fn put<M>(&mut self, places: &[(usize, M)], columns: Vec<Vec<f64>>) {
        for ((place, _), column) in places.iter().zip(columns) {
            self.columns[*place] = column;
        }
    }
}

/// Computes statistics, of the smallest states that have them.
struct StatisticsOf<'a, S> {
    source: &'a S,
    made_by: OfStates,
}

impl<S: Source> Visit<f64> for StatisticsOf<'_, S> {
    type Scratch = (Vec<Sums>, Vec<Summary>);

    fn visit(
        &self,
        found: &Found,
        columns: Vec<&mut [f64]>,
        (sums, summaries): &mut Self::Scratch,
    ) -> Result<()> {
        if columns.is_empty() {
            Ok(())
        } else if self.made_by.statistics.iter().copied().all(Sums::has) {
            self.reduce(found, columns, sums)
        } else {
            self.reduce(found, columns, summaries)
        }
    }
}

impl<S: Source> StatisticsOf<'_, S> {
    fn reduce<State: Statistics + Send + 'static>(
        &self,
        found: &Found,
        columns: Vec<&mut [f64]>,
        states: &mut Vec<State>,
    ) -> Result<()> {
        let reduce = Reduce {
            aggregate: &StatesOf::<State>::NEW,
            source: self.source,
            made_by: &self.made_by,
        };
        reduce.visit(found, columns, states)
    }
}

/// A column for each statistic.
struct OfStates {
    statistics: Vec<Statistic>,
    ddof: f64,
}

impl<S: Statistics> Columns<S, f64> for OfStates {
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

/// Aggregates series by a user-defined aggregate.
pub fn custom<T: Real, A>(
    options: &TimeBuckets,
    aggregate: &A,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>>
where
    A: Aggregate<State: Send, Output: Element> + Send + Sync,
{
    let points = series.prepared(options)?;
    let reduce = Reduce {
        aggregate,
        source: &ValuesOf::new(options, &points),
        made_by: &ResultsOf(aggregate),
    };
    let (buckets, mut columns) = Buckets::find(&Timeline::of(&points), 1, &reduce)?;
    Ok(CustomAggregates {
        offsets: buckets.offsets,
        starts: buckets.starts.into(),
        results: columns.remove(0).into(),
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

/// Counts the points of each bucket.
pub fn counts(timeline: &Timeline) -> Result<BucketCounts> {
    let (buckets, _) = Buckets::find(timeline, 0, &Ignore)?;
    let mut counts = zeroed(buckets.len())?;
    for (count, points) in counts.iter_mut().zip(buckets.firsts.windows(2)) {
        *count = points[1] - points[0];
    }
    Ok(BucketCounts {
        starts: buckets.starts.into(),
        counts: counts.into(),
    })
}
