//! The CPU version, on all cores.
//!
//! First the [points] are sorted, checked and freed of duplicates if the options say so. Then a
//! pass over chunks of timestamps finds the [`buckets`] and computes the statistics of the values.
//! The result of a bucket depends only on its points, not on its place or the number of threads:
//! short buckets are reduced from the first point to the last, and long buckets in chunks of a
//! fixed length that are merged in order.

mod buckets;
mod finish;
mod percentiles;
mod points;
mod prefetch;
mod reduce;
mod round;
mod source;
mod together;

use std::any::Any;

use gridstride_runtime::device::{Element, collected, zeroed_columns};
use gridstride_runtime::{Real, Result};
use ndarray::Array1;
use pulp::Arch;
use time_series_kernels::{Aggregate, State, StatesOf, Statistic, for_each_statistic};

pub use finish::finish;
pub use round::{round, round_into};
pub use together::CpuState;

use self::buckets::{Buckets, Found, Visit};
use self::percentiles::PercentilesOf;
use self::reduce::{Columns, Reduce};
use self::source::{Rates, Source, Values};
use self::together::{TOGETHER, Together};
use super::input::Series;
use super::method;
use super::output::{Aggregates, BucketCounts, CustomAggregates};
use super::states::with_smallest_state;
use super::timeline::Timeline;

pub fn aggregate<T: Real>(series: &Series<T>) -> Result<Aggregates> {
    let (options, points) = (&*series.options, series.prepared()?);
    let (methods, ddof) = (options.needed_methods(), f64::from(options.ddof));
    let (statistics, percents) = &method::split(&methods, false);
    let source = &Values::new(&points)?;
    // Statistics of the values are computed while the buckets are found.
    let visitor = StatisticsOf {
        source,
        statistics,
        ddof,
    };
    let (buckets, found) = Buckets::find(&Timeline::of(&points), statistics.len(), &visitor)?;
    let mut target = Target {
        offsets: &points.offsets,
        buckets: &buckets,
        columns: vec![Vec::new(); methods.len()],
    };
    target.put(statistics, found);
    target.fill(percents, &PercentilesOf { source, percents })?;
    let (statistics, percents) = &method::split(&methods, true);
    if !statistics.is_empty() || !percents.is_empty() {
        let source = &Rates::new(&points)?;
        target.fill(
            statistics,
            &StatisticsOf {
                source,
                statistics,
                ddof,
            },
        )?;
        target.fill(percents, &PercentilesOf { source, percents })?;
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
    /// Has a visitor compute columns.
    fn fill<M>(&mut self, places: &[(usize, M)], visitor: &impl Visit<f64>) -> Result<()> {
        let mut columns = zeroed_columns::<f64>(places.len(), self.buckets.len())?;
        if !columns.is_empty() {
            let columns = columns.iter_mut().map(|column| &mut column[..]).collect();
            self.buckets.visit(self.offsets, columns, visitor)?;
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

/// Computes a column for each statistic, from the smallest states that have all of them.
struct StatisticsOf<'a, S> {
    source: &'a S,
    statistics: &'a [(usize, Statistic)],
    ddof: f64,
}

impl<S: Source> Visit<f64> for StatisticsOf<'_, S> {
    /// A vector of the states.
    type Scratch = Option<Box<dyn Any + Send>>;

    #[inline(always)]
    fn prepare(&self, point: usize) {
        if !self.statistics.is_empty() {
            reduce::prepare(self.source, point);
        }
    }

    fn visit(
        &self,
        found: &Found,
        columns: Vec<&mut [f64]>,
        scratch: &mut Self::Scratch,
    ) -> Result<()> {
        if columns.is_empty() {
            return Ok(());
        }
        let statistics = self.statistics.iter().map(|&(_, statistic)| statistic);
        with_smallest_state!(State::of(statistics), S => self.reduce::<S>(found, columns, scratch))
    }
}

impl<P: Source> StatisticsOf<'_, P> {
    fn reduce<S: CpuState>(
        &self,
        found: &Found,
        columns: Vec<&mut [f64]>,
        scratch: &mut Option<Box<dyn Any + Send>>,
    ) -> Result<()> {
        let scratch = scratch.get_or_insert_with(|| Box::new(Vec::<S>::new()));
        let states = scratch.downcast_mut();
        let states = states.expect("a visitor has the same statistics each time");
        let reduce = Reduce {
            aggregate: &StatesOf::<S>::NEW,
            source: self.source,
            columns: self,
        };
        reduce.visit(found, columns, states)
    }
}

impl<P: Source, S: CpuState> Together<S> for StatisticsOf<'_, P> {
    #[inline(always)]
    fn states<T: Real>(&self, arch: Arch, values: [&[T]; TOGETHER]) -> Option<[S; TOGETHER]> {
        S::together(arch, values)
    }
}

impl<P: Source, S: CpuState> Columns<S, f64> for StatisticsOf<'_, P> {
    #[inline(always)]
    fn write(&self, column: usize, states: &[S], results: &mut [f64]) {
        // One loop for each statistic, so that no loop chooses among statistics.
        macro_rules! write {
            ($($(#[$doc:meta])* $constant:ident = $name:ident, $($row:tt),*;)*) => {
                match self.statistics[column].1 {$(
                    Statistic::$name => for (result, state) in results.iter_mut().zip(states) {
                        *result = state.statistic(Statistic::$name, self.ddof);
                    }
                )*}
            };
        }
        for_each_statistic!(write)
    }
}

/// Aggregates series by a user-defined aggregate.
pub fn custom<T: Real, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    aggregate: &A,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>> {
    let points = series.prepared()?;
    let reduce = Reduce {
        aggregate,
        source: &Values::new(&points)?,
        columns: &ResultsOf(aggregate),
    };
    let (buckets, mut columns) = Buckets::find(&Timeline::of(&points), 1, &reduce)?;
    Ok(CustomAggregates {
        offsets: buckets.offsets,
        starts: buckets.starts.into(),
        results: columns.remove(0).into(),
    })
}

/// The only column: the results.
struct ResultsOf<'a, A>(&'a A);

impl<A: Aggregate + Sync> Together<A::State> for ResultsOf<'_, A> {}

impl<A: Aggregate + Sync> Columns<A::State, A::Output> for ResultsOf<'_, A> {
    #[inline(always)]
    fn write(&self, _column: usize, states: &[A::State], results: &mut [A::Output]) {
        for (result, state) in results.iter_mut().zip(states) {
            *result = self.0.finish(*state);
        }
    }
}

pub fn counts(timeline: &Timeline) -> Result<BucketCounts> {
    let (buckets, _) = Buckets::find(timeline, 0, &())?;
    let counts = collected(buckets.firsts.windows(2).map(|pair| pair[1] - pair[0]))?;
    Ok(BucketCounts {
        starts: buckets.starts.into(),
        counts: counts.into(),
    })
}
