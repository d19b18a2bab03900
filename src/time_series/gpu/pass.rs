//! A pass over all points.

use cuda_std::DeviceParam;
use cuda_std::DeviceSliceMut;
use cuda_std::host::Kernel;
use time_series_kernels::{
    self as kernels, Absent, Aggregate, Buckets, Columns, HEADER, Join, Pieces, Points, Progress,
    Report, Statistic, Statistics, Sums, THREADS, TILE, TOTAL, Units,
};

use super::custom::Launches;
use super::value::Reduce;
use super::{DeviceSeries, HasKernels, MODULE, offsets_of, tuning};
use crate::device::{Buffer, DeviceView, Element, LaunchConfig};
use crate::time_series::aggregates::DeviceColumns;
use crate::time_series::series::out_of_order;
use crate::time_series::{Aggregation, without_label};
use crate::{Device, Error, Result};

/// Room for the buckets: as many as there can be.
#[derive(Clone, Copy)]
pub struct Bound(usize);

impl Bound {
    /// At most as many as points, and as between the first and the last point of each series.
    pub fn of(series: &DeviceSeries) -> Result<Bound> {
        let device = series.device();
        let mut sum = device.zeros::<u64>(1)?;
        if !series.timestamps.is_empty() {
            let arguments = (
                series.device_offsets.slice(),
                series.timestamps.buffer().slice(),
                series.floor,
                sum.slice_mut(),
            );
            let config = tuning::grid_stride(series.offsets.len());
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

    /// Elements of so many columns.
    pub fn room_for(self, columns: usize) -> usize {
        // What cannot be counted cannot be allocated either.
        self.0.saturating_mul(columns)
    }
}

/// What is aggregated.
pub struct Input<'a, V: HasKernels> {
    pub series: &'a DeviceSeries<'a>,
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
    pub fn offsets(&self, series: &DeviceSeries) -> Result<Vec<usize>> {
        if series.offsets.len() == 2 {
            return Ok(vec![0, self.count]);
        }
        let device = series.device();
        let mut offsets = device.alloc::<u64>(series.offsets.len())?;
        let arguments = (
            series.device_offsets.slice(),
            self.firsts.slice(),
            offsets.slice_mut(),
        );
        let config = tuning::grid_stride(series.offsets.len());
        // SAFETY: room for each offset; buffers are of this device, and freed after the kernel has run.
        unsafe { device.launch(MODULE, &kernels::buckets_of_series, config, arguments)? };
        offsets_of(&offsets)
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
    lead: Buffer<u64>,
    trail: Buffer<u64>,
    units: usize,
    state: std::marker::PhantomData<S>,
}

impl<S: Copy> PieceBuffers<S> {
    fn new(device: &Device, units: usize) -> Result<PieceBuffers<S>> {
        let words = (units * size_of::<S>()).div_ceil(size_of::<u64>());
        Ok(PieceBuffers {
            lead: device.alloc(words)?,
            trail: device.alloc(words)?,
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
            lead: states(&mut self.lead),
            trail: states(&mut self.trail),
        }
    }
}

/// A pass on its way.
pub struct Pass<'a, V: HasKernels> {
    input: &'a Input<'a, V>,
}

impl<'a, V: HasKernels> Pass<'a, V> {
    pub fn of(input: &'a Input<'a, V>) -> Pass<'a, V> {
        Pass { input }
    }

    /// Computes columns that are neighbours, of different statistics.
    pub fn columns(
        self,
        with: &Aggregation,
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
            ddof: f64::from(with.ddof),
        };
        if are_sums {
            self.own(V::sums(), &kernels::join_sums, columns)
        } else {
            self.own(V::statistics(), &kernels::join_statistics, columns)
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
        let device = self.input.series.device();
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
        let Input { series, .. } = *self.input;
        let device = series.device();
        let room = self.input.bound.buckets();
        let mut starts = device.alloc::<i64>(room)?;
        let mut firsts = device.alloc::<u32>(if self.input.needs_firsts { room } else { 0 })?;
        let tiles = series.timestamps.len().div_ceil(TILE as usize);
        if tiles == 0 {
            return Ok(Found {
                count: 0,
                starts,
                firsts,
            });
        }
        let mut before = device.alloc::<u32>(tiles + 1)?;
        let mut progress = device.zeros::<u64>(HEADER + tiles)?;
        let mut pieces = PieceBuffers::<S>::new(device, tiles)?;
        let config = LaunchConfig::new(tiles as u32, THREADS)
            .with_shared_bytes(kernels::reduce_shared_bytes::<S>());
        let points = Points {
            timestamps: series.timestamps.buffer().slice(),
            values: self.input.values.slice(),
            series_starts: series.starts.slice(),
            floor: series.floor,
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
        check(series, &words)?;
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
    /// Computes the results of an aggregate of one's own.
    pub fn custom<A: Aggregate>(
        self,
        launches: &dyn Launches<A>,
    ) -> Result<(Found, Buffer<A::Output>)>
    where
        A::Output: Element,
    {
        let device = self.input.series.device();
        let mut results = device.alloc::<A::Output>(self.input.bound.buckets())?;
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
fn check(series: &DeviceSeries, words: &[u64; HEADER]) -> Result<()> {
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
        Ok(DeviceView::part(series.timestamps.buffer(), index, 1).download()?[0])
    };
    if index == disorder {
        let before = timestamp(index - 1)?;
        return Err(out_of_order(
            series.operation,
            series.offsets,
            index,
            before,
            timestamp(index)?,
        ));
    }
    Err(without_label(
        series.operation,
        index,
        timestamp(index)?,
        &series.floor,
    ))
}
