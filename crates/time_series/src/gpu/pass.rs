//! A pass over all points.

use gridstride_runtime::device::{Buffer, DeviceArray, DeviceView, Element, LaunchConfig};
use gridstride_runtime::{Device, Result};
use ndarray::Ix1;
use time_series_kernels::{
    self as kernels, Absent, Aggregate, Buckets, Columns, Points, REPORTS, Report, Reports, State,
    Statistic, THREADS, TILE, TOTAL, Units,
};

use super::kernels::HasKernels;
use super::launches::{Output, Sizes};
use super::timeline::{FEW, Timeline};
use super::tuning;
use crate::MODULE;
use crate::custom::{AnyPieces, KernelArguments, Launches, TileFilter};
use crate::device_offsets::DeviceOffsets;
use crate::device_output::DeviceColumns;
use crate::input::{out_of_order, without_label};
use crate::options::TimeBuckets;
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
        let state = State::of(statistics);
        self.run(&Output::Statistics(state, self.takes_differences, columns))
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
        let sizes = output.sizes();
        let (_states, pieces) = allocate_pieces(device, tiles, sizes.state)?;
        let len = timeline.timestamps.len();
        let is_short = sizes.has_short && len > FEW && len / SHORT <= room;
        let first_filter = match is_short {
            true => TileFilter::Short,
            false => TileFilter::All,
        };
        let mut filter = first_filter;
        loop {
            self.launch_once(filter, output, &mut found, &mut of_tiles, pieces)?;
            let words = of_tiles.reports.first::<REPORTS>()?;
            check(timeline, &words)?;
            let has = |report: Report| words[report as usize] != 0;
            let (total, lacks_values) = (words[TOTAL] as usize, has(Report::Missing));
            if lacks_values {
                return Found::new(found, total, lacks_values);
            }
            if filter == TileFilter::Short && has(Report::Long) {
                filter = TileFilter::LeftOut;
            } else if has(Report::Places) && timeline.count(&of_tiles.counts)? {
                filter = first_filter;
            } else {
                return Found::new(found, total, lacks_values);
            }
        }
    }

    /// Launches the first kernel, and the second until all states are joined.
    fn launch_once(
        &self,
        filter: TileFilter,
        output: &Output<V>,
        found: &mut Starts,
        of_tiles: &mut Tiles,
        pieces: AnyPieces,
    ) -> Result<()> {
        let timeline = self.timeline;
        let tiles = timeline.timestamps.len().div_ceil(TILE as usize);
        if filter != TileFilter::LeftOut {
            of_tiles.reports.fill_zero()?;
        }
        let config = LaunchConfig::new(tiles as u32, THREADS)
            .with_shared_bytes(output.sizes().reduce_shared);
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
            only_left_out: u32::from(filter == TileFilter::LeftOut),
        };
        let reports = Reports {
            words: of_tiles.reports.slice_mut(),
        };
        let reduce = KernelArguments::Reduce(filter, points, reports, buckets, pieces);
        self.launch(output, config, reduce)?;

        let units = Units {
            places: buckets.places,
            reports,
            tiles: 1,
            count: tiles as u32,
            buckets: found.starts.len() as u32,
        };
        self.join(filter, output, units, pieces)
    }

    /// Launches the second kernel until all states are joined.
    fn join(
        &self,
        filter: TileFilter,
        output: &Output<V>,
        mut units: Units,
        mut pieces: AnyPieces,
    ) -> Result<()> {
        if filter == TileFilter::Short {
            let config = LaunchConfig::for_len(units.count as usize, THREADS);
            // The second pieces are not used.
            let join = KernelArguments::Join(filter, units, [pieces, pieces]);
            return self.launch(output, config, join);
        }
        let (device, sizes) = (self.timeline.device(), output.sizes());
        let mut _states;
        loop {
            let blocks = units.count.div_ceil(THREADS);
            let (joined_states, joined) = allocate_pieces(device, blocks as usize, sizes.state)?;
            let config = LaunchConfig::new(blocks, THREADS).with_shared_bytes(sizes.join_shared);
            let join = KernelArguments::Join(filter, units, [pieces, joined]);
            self.launch(output, config, join)?;
            if blocks == 1 {
                return Ok(());
            }
            units.tiles *= THREADS;
            units.count = blocks;
            (_states, pieces) = (joined_states, joined);
        }
    }

    /// Launches a kernel for an output. [`run`](Self::run) keeps the kernels' contracts.
    fn launch(
        &self,
        output: &Output<V>,
        config: LaunchConfig,
        arguments: KernelArguments<V>,
    ) -> Result<()> {
        // SAFETY: the arguments and the output have room for each bucket, and `allocate_pieces` has
        // made room for states of the output's size. Buffers are aligned to 256 bytes, and stay
        // until the kernel has run.
        unsafe { output.launch(self.timeline.device(), config, arguments) }
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
        let to = results.slice_mut();
        // SAFETY: `run` keeps the kernels' contracts, and makes room for states of the size that it
        // gets from the output. The results have room for each bucket.
        let launch =
            move |config, arguments| unsafe { launches.launch(device, config, arguments, to) };
        let sizes = Sizes::of::<f64, A::State>(false);
        let found = self.run(&Output::Custom(sizes, &launch))?;
        let results = results.truncated(found.starts.len());
        Ok((found, results))
    }
}

/// Allocates states of `size` bytes for `units` units of points.
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
