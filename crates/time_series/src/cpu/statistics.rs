//! Columns of statistics.

use std::any::Any;

use gridstride_runtime::Result;
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel::{Scratch, Slots};
use time_series_kernels::{State, StatesOf, Statistic, Statistics, for_each_statistic};

use super::Source;
use super::buckets::{BucketSlice, Visit};
use super::reduce::reduce_values;
use crate::states::with_smallest_state;

/// Computes a column for each statistic, from the smallest state that has all of them.
pub struct StatisticsVisitor<'a> {
    source: &'a Source<'a>,
    statistics: &'a [(usize, Statistic)],
    ddof: f64,
    /// The results of the buckets of each chunk.
    columns: Slots<Vec<&'a mut [f64]>>,
    scratch: Scratch<Memory>,
}

/// Memory that a thread reuses.
#[derive(Default)]
struct Memory {
    /// A vector of states.
    states: Option<Box<dyn Any + Send>>,
    rates: Vec<f64>,
}

impl<'a> StatisticsVisitor<'a> {
    pub fn new(
        source: &'a Source,
        statistics: &'a [(usize, Statistic)],
        ddof: f64,
        columns: Slots<Vec<&'a mut [f64]>>,
    ) -> StatisticsVisitor<'a> {
        StatisticsVisitor {
            source,
            statistics,
            ddof,
            columns,
            scratch: Scratch::new(),
        }
    }

    fn write<S: Statistics + Send + 'static>(
        &self,
        buckets: &BucketSlice,
        columns: Vec<&mut [f64]>,
        memory: &mut Memory,
    ) -> Result<()> {
        let states = memory
            .states
            .get_or_insert_with(|| Box::new(Vec::<S>::new()));
        let states = states.downcast_mut::<Vec<S>>();
        let states = states.expect("a visitor has the same statistics each time");
        states.clear();
        match self.source {
            Source::Values(points) => {
                reduce_values(&StatesOf::<S>::NEW, points, buckets.bounds(), states)?;
            }
            Source::Rates(rates) => rates.reduce(buckets, &mut memory.rates, states)?,
        }
        Isa::detect().run(
            #[inline(always)]
            || write_columns(states, self.statistics, self.ddof, columns),
        );
        Ok(())
    }
}

impl Visit for StatisticsVisitor<'_> {
    fn visit(&self, chunk: usize, buckets: &BucketSlice) -> Result<()> {
        if self.statistics.is_empty() {
            return Ok(());
        }
        let columns = self.columns.take(chunk);
        let state = State::of(self.statistics.iter().map(|&(_, statistic)| statistic));
        self.scratch.with(
            |memory| with_smallest_state!(state, S => self.write::<S>(buckets, columns, memory)),
        )
    }
}

/// Writes the statistics of states to columns.
#[inline(always)]
fn write_columns<S: Statistics>(
    states: &[S],
    statistics: &[(usize, Statistic)],
    ddof: f64,
    columns: Vec<&mut [f64]>,
) {
    for (results, &(_, statistic)) in columns.into_iter().zip(statistics) {
        let results = results.iter_mut().zip(states);
        // A loop for each statistic, so that no loop matches on the statistic.
        macro_rules! write_column {
            ($($(#[$doc:meta])* $constant:ident = $name:ident, $($row:tt),*;)*) => {
                match statistic {$(
                    Statistic::$name if S::has(Statistic::$name) => {
                        for (result, state) in results {
                            *result = state.statistic(Statistic::$name, ddof);
                        }
                    }
                )*
                    _ => unreachable!("the states have all statistics"),
                }
            };
        }
        for_each_statistic!(write_column);
    }
}
