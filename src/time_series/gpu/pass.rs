//! A pass over all points.

use cuda_std::DeviceParam;
use cuda_std::DeviceSliceMut;
use cuda_std::host::Kernel;
use time_series_kernels::{
    self as kernels, Absent, Aggregate, Buckets, Columns, HEADER, Join, Pieces, Points, Progress,
    Report, Statistic, Statistics, Sums, THREADS, TILE, TOTAL, Units,
};

use super::custom::Launches;
use super::kernels::{HasKernels, MODULE, Reduce};
use super::timeline::{Timeline, download_offsets};
use super::tuning;
use super::workspace::{Results, Starts, States, Tiles};
use crate::device::{Buffer, DeviceView, Element, LaunchConfig};
use crate::time_series::device_output::DeviceColumns;
use crate::time_series::input::{out_of_order, without_label};
use crate::time_series::options::TimeBuckets;
use crate::{Device, Error, Result};

/// Room for the buckets: as many as there can be.
#[derive(Clone, Copy)]
pub struct Bound(usize);

impl Bound {
    /// At most as many as points, and as between the first and the last point of each series.
    pub fn of(timeline: &Timeline) -> Result<Bound> {
        let device = timeline.device();
        let mut sum = device.zeros::<u64>(1)?;
        if !timeline.timestamps.is_empty() {
            let arguments = (
                timeline.device_offsets.slice(),
                timeline.timestamps.buffer().slice(),
                timeline.floor,
                sum.slice_mut(),
            );
            let config = tuning::grid_stride(timeline.offsets.len());
            // SAFETY: the offsets were checked, and the sum has an element. Buffers are of this device, and freed after
            // the kernel has run.
            unsafe { device.launch(MODULE, &kernels::bound_buckets, config, arguments)? };
        }
        let [sum] = sum.first()?;
        Ok(Bound(sum as usize))
    }

    pub fn buckets(self) -> usize {
        self.0
    }
}

/// What is aggregated.
pub struct Input<'a, V: HasKernels> {
    pub timeline: &'a Timeline<'a>,
    /// As many as timestamps; none for counts of points.
    pub values: &'a Buffer<V>,
    pub absent: Absent,
    pub bound: Bound,
    pub needs_firsts: bool,
}

/// The buckets that were found.
pub struct Found {
    pub count: usize,
    pub starts: Buffer<i64>,
    /// The index of each bucket's first point, if it was needed.
    pub firsts: Buffer<u32>,
}

impl Found {
    /// The first bucket of each series, and the number of buckets.
    pub fn offsets(&self, timeline: &Timeline) -> Result<Vec<usize>> {
        if timeline.offsets.len() == 2 {
            return Ok(vec![0, self.count]);
        }
        let device = timeline.device();
        let mut offsets = device.alloc::<u64>(timeline.offsets.len())?;
        let arguments = (
            timeline.device_offsets.slice(),
            self.firsts.slice(),
            offsets.slice_mut(),
        );
        let config = tuning::grid_stride(timeline.offsets.len());
        // SAFETY: room for each offset; buffers are of this device, and freed after the kernel has run.
        unsafe { device.launch(MODULE, &kernels::buckets_of_series, config, arguments)? };
        download_offsets(&offsets)
    }
}

/// How many of the first columns are neighbours, and all different: those of one launch.
pub fn neighbours(columns: &[(usize, Statistic)]) -> usize {
    let is_next = |index: usize| {
        let (column, statistic) = columns[index];
        let before = &columns[..index];
        before.last().is_none_or(|last| last.0 + 1 == column)
            && before.iter().all(|other| other.1 != statistic)
    };
    (0..columns.len())
        .take_while(|&index| is_next(index))
        .count()
}

/// Memory for the states of some units of points.
struct PieceBuffers<S> {
    states: States,
    units: usize,
    state: std::marker::PhantomData<S>,
}

impl<S: Copy> PieceBuffers<S> {
    fn new(device: &Device, units: usize) -> Result<PieceBuffers<S>> {
        Ok(PieceBuffers {
            states: States::allocate(device, units, size_of::<S>())?,
            units,
            state: std::marker::PhantomData,
        })
    }

    fn pieces(&mut self) -> Pieces<S> {
        let states = |buffer: &mut Buffer<u64>| {
            let address = buffer.slice_mut().as_mut_ptr().cast();
            // SAFETY: memory for so many states, aligned to 256 bytes; launches vouch for its lifetime.
            unsafe { DeviceSliceMut::from_raw_parts(address, self.units) }
        };
        Pieces {
            lead: states(&mut self.states.lead),
            trail: states(&mut self.states.trail),
        }
    }
}

/// A pass on its way.
pub struct Pass<'a, V: HasKernels> {
    input: &'a Input<'a, V>,
}

impl<'a, V: HasKernels> Pass<'a, V> {
    pub fn new(input: &'a Input<'a, V>) -> Pass<'a, V> {
        Pass { input }
    }

    /// Computes columns that are neighbours, of different statistics.
    pub fn columns(
        self,
        options: &TimeBuckets,
        statistics: &[(usize, Statistic)],
        to: &mut DeviceColumns,
    ) -> Result<Found> {
        let are_sums = statistics
            .iter()
            .all(|&(_, statistic)| Sums::has(statistic));
        let only: Vec<_> = statistics.iter().map(|&(_, statistic)| statistic).collect();
        let first = statistics.first().map_or(0, |&(column, _)| column);
        let columns = Columns {
            elements: part(to, first, statistics.len()),
            stride: to.stride,
            places: Columns::places(&only),
            ddof: f64::from(options.ddof),
        };
        if are_sums {
            self.own(V::KERNELS.sums, &kernels::join_sums, columns)
        } else {
            self.own(V::KERNELS.statistics, &kernels::join_statistics, columns)
        }
    }

    fn own<S: Copy + 'static>(
        self,
        reduce: &'static Reduce<V, S>,
        join: &'static Kernel<(Units, Join<S>, Columns)>,
        columns: Columns,
    ) -> Result<Found>
    where
        Pieces<S>: DeviceParam,
    {
        let device = self.input.timeline.device();
        // SAFETY: `run` keeps the kernels' contracts, and the columns have room for each bucket.
        self.run::<S>(
            |config, (points, progress, buckets, pieces)| unsafe {
                let arguments = (points, progress, buckets, pieces, columns);
                device.launch(MODULE, reduce, config, arguments)
            },
            |config, units, pieces| unsafe {
                device.launch(MODULE, join, config, (units, pieces, columns))
            },
        )
    }

    /// Launches both kernels, the second as often as it takes.
    fn run<S: Copy>(
        self,
        reduce: impl Fn(LaunchConfig, (Points<V>, Progress, Buckets, Pieces<S>)) -> Result<()>,
        join: impl Fn(LaunchConfig, Units, Join<S>) -> Result<()>,
    ) -> Result<Found> {
        let Input { timeline, .. } = *self.input;
        let device = timeline.device();
        let room = self.input.bound.buckets();
        let needed_firsts = if self.input.needs_firsts { room } else { 0 };
        let Starts {
            mut starts,
            mut firsts,
        } = Starts::allocate(device, room, needed_firsts)?;
        let tiles = timeline.timestamps.len().div_ceil(TILE as usize);
        if tiles == 0 {
            return Ok(Found {
                count: 0,
                starts,
                firsts,
            });
        }
        let Tiles {
            mut before,
            mut progress,
        } = Tiles::allocate(device, tiles)?;
        progress.fill_zero()?;
        let mut pieces = PieceBuffers::<S>::new(device, tiles)?;
        let config = LaunchConfig::new(tiles as u32, THREADS)
            .with_shared_bytes(kernels::reduce_shared_bytes::<S>());
        let points = Points {
            timestamps: timeline.timestamps.buffer().slice(),
            values: self.input.values.slice(),
            series_starts: timeline.starts.slice(),
            floor: timeline.floor,
            absent: self.input.absent,
        };
        let buckets = Buckets {
            starts: starts.slice_mut(),
            firsts: firsts.slice_mut(),
            before: before.slice_mut(),
        };
        let words = Progress {
            words: progress.slice_mut(),
        };
        reduce(config, (points, words, buckets, pieces.pieces()))?;

        let mut units = Units {
            before: before.slice_mut(),
            tiles: 1,
            count: tiles as u32,
            buckets: room as u32,
        };
        loop {
            let blocks = units.count.div_ceil(THREADS);
            let mut joined = PieceBuffers::new(device, blocks as usize)?;
            let config = LaunchConfig::new(blocks, THREADS)
                .with_shared_bytes(kernels::join_shared_bytes::<S>());
            let arguments = Join {
                pieces: pieces.pieces(),
                joined: joined.pieces(),
            };
            join(config, units, arguments)?;
            if blocks == 1 {
                break;
            }
            units.tiles *= THREADS;
            units.count = blocks;
            pieces = joined;
        }
        let words = progress.first::<HEADER>()?;
        check(timeline, &words)?;
        let count = words[TOTAL] as usize;
        Ok(Found {
            count,
            starts: starts.truncated(count),
            firsts: firsts.truncated(count),
        })
    }
}

impl Pass<'_, f32> {
    /// Computes the number of points in each bucket.
    pub fn counts(self, to: &mut DeviceColumns) -> Result<Found> {
        let columns = Columns {
            elements: part(to, 0, 1),
            stride: to.stride,
            places: Columns::places(&[Statistic::Count]),
            ddof: 0.0,
        };
        self.own(&kernels::counts, &kernels::join_sums, columns)
    }
}

impl Pass<'_, f64> {
    /// Computes the results of a user-defined aggregate.
    pub fn custom<A: Aggregate>(
        self,
        launches: &dyn Launches<A>,
    ) -> Result<(Found, Buffer<A::Output>)>
    where
        A::Output: Element,
    {
        let device = self.input.timeline.device();
        let mut results =
            Results::<A::Output>::allocate(device, self.input.bound.buckets())?.results;
        let to = results.slice_mut();
        // SAFETY: `run` keeps the kernels' contracts, and the results have room for each bucket.
        let found = self.run::<A::State>(
            |config, (points, progress, buckets, pieces)| unsafe {
                launches.reduce(device, config, (points, progress, buckets, pieces, to))
            },
            |config, units, pieces| unsafe { launches.join(device, config, (units, pieces, to)) },
        )?;
        let results = results.truncated(found.count);
        Ok((found, results))
    }
}

/// Room for some neighbouring columns.
pub fn part(columns: &mut DeviceColumns, first: usize, count: usize) -> DeviceSliceMut<f64> {
    let all = columns.elements.slice_mut();
    let start = first * columns.stride;
    debug_assert!(start + count * columns.stride <= all.len());
    // SAFETY: within the buffer; launches vouch for its lifetime.
    unsafe { DeviceSliceMut::from_raw_parts(all.as_mut_ptr().add(start), count * columns.stride) }
}

/// Fails if a block has found something wrong.
fn check(timeline: &Timeline, words: &[u64; HEADER]) -> Result<()> {
    let index_of = |report: Report| match words[report as usize] {
        0 => usize::MAX,
        word => (u64::MAX - word) as usize,
    };
    let (disorder, label) = (index_of(Report::Disorder), index_of(Report::WithoutLabel));
    let index = disorder.min(label);
    if index == usize::MAX {
        return Ok(());
    }
    let timestamp = |index| -> Result<i64, Error> {
        Ok(DeviceView::part(timeline.timestamps.buffer(), index, 1).download()?[0])
    };
    if index == disorder {
        let before = timestamp(index - 1)?;
        return Err(out_of_order(
            timeline.operation,
            timeline.offsets,
            index,
            before,
            timestamp(index)?,
        ));
    }
    Err(without_label(
        timeline.operation,
        index,
        timestamp(index)?,
        &timeline.floor,
    ))
}
