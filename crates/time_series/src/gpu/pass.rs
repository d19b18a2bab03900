//! A pass over all points.

use cuda_std::DeviceParam;
use gridstride_runtime::device::{Buffer, DeviceArray, DeviceView, Element, LaunchConfig};
use gridstride_runtime::{Device, Result};
use ndarray::Ix1;
use time_series_kernels::{
    self as kernels, Absent, Aggregate, Buckets, Columns, Pieces, Points, REPORTS, Report, Reports,
    State, Statistic, Sums, THREADS, TILE, TOTAL, Units,
};

use super::kernels::{HasKernels, HasPasses, Joins, Passes, Reduce};
use super::timeline::{FEW, Timeline};
use super::tuning;
use crate::MODULE;
use crate::custom::{AnyPieces, LaunchCustom, Launches, Sizes, Step, ToResults, Which};
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

/// What a pass computes, and where it writes.
pub enum Output<'a, V: 'static> {
    /// Columns of statistics, from a state that has all of them.
    Statistics(State, Columns),
    /// A column of the numbers of points, by a kernel.
    Counts(&'static Reduce<V, Sums>, Columns),
    /// The results of a user-defined aggregate.
    Custom(&'a dyn LaunchCustom<V>),
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
        self.run(&Output::Statistics(State::of(statistics), columns))
    }

    /// Launches the kernels: again for tiles with long buckets, if the first launch left some out,
    /// and for all tiles if some have not as many places as buckets. The output has room for each
    /// bucket.
    fn run(&self, output: &Output<V>) -> Result<Found> {
        let timeline = self.timeline;
        let (device, room) = (timeline.device(), timeline.max_buckets);
        let needed_firsts = if self.needs_firsts { room } else { 0 };
        let mut found = Starts::allocate(device, room, needed_firsts)?;
        let tiles = timeline.timestamps.len().div_ceil(TILE as usize);
        if tiles == 0 {
            return Found::new(found, 0, false);
        }
        let mut of_tiles = Tiles::allocate(device, tiles)?;
        let sizes = self.sizes(output);
        let (_states, pieces) = allocate_pieces(device, tiles, sizes.state)?;
        let len = timeline.timestamps.len();
        let is_short = sizes.has_short && len > FEW && len / SHORT <= room;
        let first = if is_short { Which::Short } else { Which::All };
        let mut which = first;
        loop {
            self.launch_once(which, output, &mut found, &mut of_tiles, pieces)?;
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
    fn launch_once(
        &self,
        which: Which,
        output: &Output<V>,
        found: &mut Starts,
        of_tiles: &mut Tiles,
        mut pieces: AnyPieces,
    ) -> Result<()> {
        let (timeline, sizes) = (self.timeline, self.sizes(output));
        let device = timeline.device();
        let tiles = timeline.timestamps.len().div_ceil(TILE as usize);
        if which != Which::LeftOut {
            of_tiles.reports.fill_zero()?;
        }
        let config =
            LaunchConfig::new(tiles as u32, THREADS).with_shared_bytes(sizes.reduce_shared);
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
        let reduce = Step::Reduce(which, points, reports, buckets, pieces);
        self.launch(output, config, reduce)?;

        let mut units = Units {
            places: buckets.places,
            reports,
            tiles: 1,
            count: tiles as u32,
            buckets: found.starts.len() as u32,
        };
        if which == Which::Short {
            let config = LaunchConfig::for_len(tiles, THREADS);
            // The second pieces are not used.
            return self.launch(output, config, Step::Join(which, units, [pieces, pieces]));
        }
        let mut _states;
        loop {
            let blocks = units.count.div_ceil(THREADS);
            let (joined_states, joined) = allocate_pieces(device, blocks as usize, sizes.state)?;
            let config = LaunchConfig::new(blocks, THREADS).with_shared_bytes(sizes.join_shared);
            self.launch(output, config, Step::Join(which, units, [pieces, joined]))?;
            if blocks == 1 {
                return Ok(());
            }
            units.tiles *= THREADS;
            units.count = blocks;
            (_states, pieces) = (joined_states, joined);
        }
    }

    fn sizes(&self, output: &Output<V>) -> Sizes {
        match output {
            Output::Statistics(state, _) => with_smallest_state!(state, S => {
                Sizes::of::<V, S>(self.passes::<S>().short.is_some())
            }),
            Output::Counts(..) => Sizes::of::<V, Sums>(false),
            Output::Custom(custom) => custom.sizes(),
        }
    }

    fn passes<S: 'static>(&self) -> Passes<V, S>
    where
        V: HasPasses<S>,
    {
        match self.takes_differences {
            true => V::DIFFERENCES,
            false => V::VALUES,
        }
    }

    /// Launches a kernel for an output. [`run`](Self::run) keeps the kernels' contracts.
    fn launch(&self, output: &Output<V>, config: LaunchConfig, step: Step<V>) -> Result<()> {
        let device = self.timeline.device();
        // SAFETY: the step has room for each bucket and for states of the size of the output's, and
        // the output has room for each bucket. All buffers stay until the kernel has run.
        unsafe {
            match output {
                Output::Statistics(state, columns) => with_smallest_state!(state, S => {
                    let (passes, joins) = (self.passes::<S>(), <V as HasPasses<S>>::JOINS);
                    launch(device, passes, joins, config, step, *columns)
                }),
                Output::Counts(kernel, columns) => {
                    let passes = Passes {
                        all: kernel,
                        short: None,
                    };
                    let joins = <V as HasPasses<Sums>>::JOINS;
                    launch(device, passes, joins, config, step, *columns)
                }
                Output::Custom(custom) => custom.launch(device, config, step),
            }
        }
    }
}

/// Launches a kernel of the library.
///
/// # Safety
/// As for the kernel, for states of type `S`.
unsafe fn launch<V: HasKernels, S: Copy + 'static>(
    device: &Device,
    passes: Passes<V, S>,
    joins: Joins<S>,
    config: LaunchConfig,
    step: Step<V>,
    columns: Columns,
) -> Result<()>
where
    Pieces<S>: DeviceParam,
{
    // SAFETY: by the contract of this function.
    unsafe {
        match step {
            Step::Reduce(which, points, reports, buckets, pieces) => {
                let kernel = match which {
                    Which::Short => passes.short.unwrap_or(passes.all),
                    Which::All | Which::LeftOut => passes.all,
                };
                let arguments = (points, reports, buckets, pieces.of(), columns);
                device.launch(&MODULE, kernel, config, arguments)
            }
            Step::Join(which, units, pieces) => {
                let kernel = match which {
                    Which::Short => joins.short,
                    Which::All | Which::LeftOut => joins.all,
                };
                let arguments = (units, AnyPieces::join(pieces), columns);
                device.launch(&MODULE, kernel, config, arguments)
            }
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
        self.run(&Output::Counts(&kernels::counts, columns))
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
        let to_results = ToResults {
            launches,
            results: results.slice_mut(),
        };
        let found = self.run(&Output::Custom(&to_results))?;
        let results = results.truncated(found.starts.len());
        Ok((found, results))
    }
}

/// Allocates the states of `units` units of points, of `size` bytes each.
fn allocate_pieces(device: &Device, units: usize, size: usize) -> Result<(States, AnyPieces)> {
    let mut states = States::allocate(device, units, size)?;
    let pieces = AnyPieces {
        lead: states.lead.slice_mut().as_mut_ptr(),
        trail: states.trail.slice_mut().as_mut_ptr(),
        units,
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
