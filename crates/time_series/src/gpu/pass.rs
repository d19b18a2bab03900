//! A pass over all points.

use cuda_std::{DeviceParam, DeviceSliceMut};
use gridstride_runtime::device::{Buffer, DeviceArray, DeviceView, Element, LaunchConfig};
use gridstride_runtime::{Device, Result};
use ndarray::Ix1;
use time_series_kernels::{
    self as kernels, Absent, Aggregate, Buckets, Columns, Join, Pieces, Points, REPORTS, Report,
    Reports, State, Statistic, Sums, THREADS, TILE, TOTAL, Units,
};

use super::kernels::{HasKernels, HasPasses, Joins, Passes};
use super::timeline::{FEW, Timeline};
use super::tuning;
use crate::MODULE;
use crate::custom::{Launches, Step, Which};
use crate::device_offsets::DeviceOffsets;
use crate::device_output::DeviceColumns;
use crate::input::{out_of_order, without_label};
use crate::options::TimeBuckets;
use crate::states::with_smallest_state;
use crate::workspace::{Array, Starts, States, Tiles};

/// Points of a bucket from which a tile mostly has a long one.
const SHORT: usize = 32;

/// A pass over the points of a timeline.
pub struct Pass<'a, V: HasKernels> {
    pub timeline: &'a Timeline<'a>,
    /// A value for each timestamp, or none for counts of points.
    pub values: &'a Buffer<V>,
    pub absent: Absent,
    /// Whether the pass takes differences of neighbouring values, which have to be all there.
    pub takes_differences: bool,
    pub needs_firsts: bool,
}

/// The buckets that a pass has found.
pub struct Found {
    pub starts: DeviceArray<i64, Ix1>,
    /// The index of each bucket's first point, if the pass needed them.
    pub firsts: Buffer<u32>,
    /// Whether the pass took differences of values that are not there: its results are wrong.
    pub lacks_values: bool,
}

impl Found {
    fn new(buffers: Starts, count: usize, lacks_values: bool) -> Result<Found> {
        Ok(Found {
            starts: DeviceArray::from_buffer(buffers.starts.truncated(count), Ix1(count))?,
            firsts: buffers.firsts.truncated(count),
            lacks_values,
        })
    }

    /// Returns the first bucket of each series, and the number of buckets.
    pub fn offsets(&self, timeline: &Timeline) -> Result<DeviceOffsets> {
        if timeline.offsets.len() == 2 {
            return Ok(DeviceOffsets::Host(vec![0, self.starts.len()]));
        }
        let device = timeline.device();
        let mut offsets = device.alloc::<u64>(timeline.offsets.len())?;
        let arguments = (
            timeline.device_offsets.slice(),
            self.firsts.slice(),
            offsets.slice_mut(),
        );
        let config = tuning::grid_stride(timeline.offsets.len());
        // SAFETY: room for each offset; buffers are of this device, and freed after the kernel has
        // run.
        unsafe { device.launch(&MODULE, &kernels::buckets_of_series, config, arguments)? };
        Ok(DeviceOffsets::on_device(offsets))
    }
}

/// Returns how many of the first columns one launch can write: neighbours of different statistics.
pub fn neighbours(columns: &[(usize, Statistic)]) -> usize {
    let is_next = |&index: &usize| {
        let (column, statistic) = columns[index];
        let before = &columns[..index];
        before.last().is_none_or(|last| last.0 + 1 == column)
            && before.iter().all(|other| other.1 != statistic)
    };
    (0..columns.len()).take_while(is_next).count()
}

impl<V: HasKernels> Pass<'_, V> {
    /// Computes columns that are [neighbours].
    pub fn columns(
        &self,
        options: &TimeBuckets,
        statistics: &[(usize, Statistic)],
        to: &mut DeviceColumns,
    ) -> Result<Found> {
        let first = statistics.first().map_or(0, |&(column, _)| column);
        let statistics: Vec<_> = statistics.iter().map(|&(_, statistic)| statistic).collect();
        let columns = Columns {
            elements: to.columns_mut(first, statistics.len()),
            stride: to.stride,
            places: Columns::places(&statistics),
            ddof: f64::from(options.ddof),
        };
        with_smallest_state!(State::of(statistics), S => {
            let reduce = match self.takes_differences {
                true => <V as HasPasses<S>>::DIFFERENCES,
                false => <V as HasPasses<S>>::VALUES,
            };
            self.library(reduce, <V as HasPasses<S>>::JOINS, columns)
        })
    }

    /// Runs kernels of the library.
    fn library<S: Copy + 'static>(
        &self,
        reduce: Passes<V, S>,
        join: Joins<S>,
        columns: Columns,
    ) -> Result<Found>
    where
        Pieces<S>: DeviceParam,
    {
        let device = self.timeline.device();
        // SAFETY: `run` keeps the kernels' contracts, and the columns have room for each bucket.
        self.run::<S>(reduce.short.is_some(), |config, step| unsafe {
            match step {
                Step::Reduce(which, points, reports, buckets, states) => {
                    let kernel = match which {
                        Which::Short => reduce.short.unwrap_or(reduce.all),
                        Which::All | Which::LeftOut => reduce.all,
                    };
                    let arguments = (points, reports, buckets, states, columns);
                    device.launch(&MODULE, kernel, config, arguments)
                }
                Step::Join(which, units, states) => {
                    let kernel = match which {
                        Which::Short => join.short,
                        Which::All | Which::LeftOut => join.all,
                    };
                    device.launch(&MODULE, kernel, config, (units, states, columns))
                }
            }
        })
    }

    /// Launches the kernels: again for tiles with long buckets, if the first launch left some out,
    /// and for all tiles if some have not as many places as buckets.
    fn run<S: Copy>(
        &self,
        has_short: bool,
        launch: impl Fn(LaunchConfig, Step<V, S>) -> Result<()>,
    ) -> Result<Found> {
        let timeline = self.timeline;
        let (device, room) = (timeline.device(), timeline.max_buckets);
        let needed_firsts = if self.needs_firsts { room } else { 0 };
        let mut found = Starts::allocate(device, room, needed_firsts)?;
        let tiles = timeline.timestamps.len().div_ceil(TILE as usize);
        if tiles == 0 {
            return Found::new(found, 0, false);
        }
        let mut of_tiles = Tiles::allocate(device, tiles)?;
        let (_states, pieces) = allocate_pieces::<S>(device, tiles)?;
        let len = timeline.timestamps.len();
        let is_short = has_short && len > FEW && len / SHORT <= room;
        let first = if is_short { Which::Short } else { Which::All };
        let mut which = first;
        loop {
            self.launch_once(which, &mut found, &mut of_tiles, pieces, &launch)?;
            let words = of_tiles.reports.first::<REPORTS>()?;
            check(timeline, &words)?;
            let has = |report: Report| words[report as usize] != 0;
            let (total, lacks_values) = (words[TOTAL] as usize, has(Report::Missing));
            if lacks_values {
                return Found::new(found, total, lacks_values);
            }
            if which == Which::Short && has(Report::Long) {
                which = Which::LeftOut;
            } else if has(Report::Places) && timeline.count(&of_tiles.counts)? {
                which = first;
            } else {
                return Found::new(found, total, lacks_values);
            }
        }
    }

    /// Launches the first kernel once, and the second until all states are joined.
    fn launch_once<S: Copy>(
        &self,
        which: Which,
        found: &mut Starts,
        of_tiles: &mut Tiles,
        mut pieces: Pieces<S>,
        launch: &impl Fn(LaunchConfig, Step<V, S>) -> Result<()>,
    ) -> Result<()> {
        let timeline = self.timeline;
        let device = timeline.device();
        let tiles = timeline.timestamps.len().div_ceil(TILE as usize);
        if which != Which::LeftOut {
            of_tiles.reports.fill_zero()?;
        }
        let config = LaunchConfig::new(tiles as u32, THREADS)
            .with_shared_bytes(kernels::reduce_shared_bytes::<V, S>());
        let points = Points {
            timestamps: timeline.timestamps.buffer().slice(),
            values: self.values.slice(),
            series_starts: timeline.starts.slice(),
            floor: timeline.floor,
            absent: self.absent,
        };
        let buckets = Buckets {
            starts: found.starts.slice_mut(),
            firsts: found.firsts.slice_mut(),
            places: timeline.places().slice(),
            counts: of_tiles.counts.slice_mut(),
            only_left_out: u32::from(which == Which::LeftOut),
        };
        let reports = Reports {
            words: of_tiles.reports.slice_mut(),
        };
        launch(
            config,
            Step::Reduce(which, points, reports, buckets, pieces),
        )?;

        let mut units = Units {
            places: buckets.places,
            reports,
            tiles: 1,
            count: tiles as u32,
            buckets: found.starts.len() as u32,
        };
        if which == Which::Short {
            let config = LaunchConfig::for_len(tiles, THREADS);
            // `joined` is not used.
            let joined = pieces;
            return launch(config, Step::Join(which, units, Join { pieces, joined }));
        }
        let mut _states;
        loop {
            let blocks = units.count.div_ceil(THREADS);
            let (joined_states, joined) = allocate_pieces(device, blocks as usize)?;
            let config = LaunchConfig::new(blocks, THREADS)
                .with_shared_bytes(kernels::join_shared_bytes::<S>());
            launch(config, Step::Join(which, units, Join { pieces, joined }))?;
            if blocks == 1 {
                return Ok(());
            }
            units.tiles *= THREADS;
            units.count = blocks;
            (_states, pieces) = (joined_states, joined);
        }
    }
}

impl Pass<'_, f32> {
    pub fn counts(&self, to: &mut DeviceColumns) -> Result<Found> {
        let columns = Columns {
            elements: to.columns_mut(0, 1),
            stride: to.stride,
            places: Columns::places(&[Statistic::Count]),
            ddof: 0.0,
        };
        let reduce = Passes {
            all: &kernels::counts,
            short: None,
        };
        self.library(reduce, <f32 as HasPasses<Sums>>::JOINS, columns)
    }
}

impl Pass<'_, f64> {
    /// Computes the results of a user-defined aggregate.
    pub fn custom<A: Aggregate<Output: Element>>(
        &self,
        launches: &dyn Launches<A>,
    ) -> Result<(Found, Buffer<A::Output>)> {
        let device = self.timeline.device();
        let mut results = Array::allocate(device, self.timeline.max_buckets)?.elements;
        let to = results.slice_mut();
        // SAFETY: `run` keeps the kernels' contracts, and the results have room for each bucket.
        let found = self.run::<A::State>(false, |config, step| unsafe {
            launches.launch(device, config, step, to)
        })?;
        let results = results.truncated(found.starts.len());
        Ok((found, results))
    }
}

/// Allocates the states of `units` units of points.
fn allocate_pieces<S: Copy>(device: &Device, units: usize) -> Result<(States, Pieces<S>)> {
    let mut states = States::allocate(device, units, size_of::<S>())?;
    let slice = |buffer: &mut Buffer<u64>| {
        let address = buffer.slice_mut().as_mut_ptr().cast();
        // SAFETY: memory for all units, aligned to 256 bytes; launches require that the memory lives until they end.
        unsafe { DeviceSliceMut::from_raw_parts(address, units) }
    };
    let pieces = Pieces {
        lead: slice(&mut states.lead),
        trail: slice(&mut states.trail),
    };
    Ok((states, pieces))
}

/// Returns the error of the first point that a block has reported.
fn check(timeline: &Timeline, words: &[u64; REPORTS]) -> Result<()> {
    let index_of = |report: Report| match words[report as usize] {
        0 => usize::MAX,
        word => (u64::MAX - word) as usize,
    };
    let (disorder, label) = (index_of(Report::Disorder), index_of(Report::WithoutLabel));
    let index = disorder.min(label);
    if index == usize::MAX {
        return Ok(());
    }
    let Timeline {
        operation, offsets, ..
    } = *timeline;
    let timestamp = |index| -> Result<i64> {
        Ok(DeviceView::part(timeline.timestamps.buffer(), index, 1).download()?[0])
    };
    let at = timestamp(index)?;
    Err(match index == disorder {
        true => out_of_order(operation, offsets, index, timestamp(index - 1)?, at),
        false => without_label(operation, index, at, &timeline.floor),
    })
}
