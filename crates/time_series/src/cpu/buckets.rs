//! Finding buckets, and visiting them chunk by chunk.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, zeroed, zeroed_sparsely};
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel::{self, Slots};

use super::prefetch::prefetch_for_later;
use super::sums::GROUP;
use crate::input::series_of;
use crate::timeline::Timeline;
use crate::values::Values;

/// The buckets of series: the points of each, whatever their values.
pub struct Buckets {
    /// The index of each series' first bucket, and at the end the number of buckets.
    pub offsets: Vec<usize>,
    /// The first timestamp of each bucket.
    pub starts: Vec<i64>,
    /// The index of each bucket's first point, and at the end the number of points.
    pub firsts: Vec<u32>,
    /// The number of buckets that begin before each chunk of points, and at the end the number of
    /// buckets.
    chunks: Vec<usize>,
}

/// Work on the buckets that begin in a chunk of points.
pub trait Visit: Sync {
    /// Does the work. There is at least one bucket.
    fn visit(&self, chunk: usize, buckets: &BucketSlice) -> Result<()>;
}

/// Visits no bucket.
impl Visit for () {
    fn visit(&self, _: usize, _: &BucketSlice) -> Result<()> {
        Ok(())
    }
}

/// Columns, with room for the buckets of each chunk of points.
pub struct Columns<O>(Vec<Vec<O>>);

impl<O: Element> Columns<O> {
    /// Returns `count` columns with room for this number of buckets of each chunk. Most of the room
    /// may stay unused: pages take memory only when they are written to.
    pub fn new(count: usize, rooms: &[usize]) -> Result<Columns<O>> {
        let room = rooms.iter().sum();
        let columns = (0..count).map(|_| zeroed_sparsely(room));
        Ok(Columns(columns.collect::<Result<_>>()?))
    }

    /// Returns the room of each chunk in each column.
    pub fn by_chunk(&mut self, rooms: &[usize]) -> Slots<Vec<&mut [O]>> {
        split(&mut self.0, rooms)
    }

    /// Returns the columns without the room that chunks have not used.
    pub fn without_gaps(mut self, rooms: &[usize], buckets: &Buckets) -> Vec<Vec<O>> {
        let room = rooms.iter().sum();
        parallel::each(&mut self.0, |column| {
            close_gaps(column, rooms, &buckets.chunks);
            shrink(column, room);
        });
        self.0
    }
}

/// Splits columns into ranges of these lengths.
fn split<'a, O>(columns: &'a mut [Vec<O>], lengths: &[usize]) -> Slots<Vec<&'a mut [O]>> {
    let mut rest: Vec<_> = columns.iter_mut().map(|column| &mut column[..]).collect();
    Slots::full(lengths.iter().map(|&length| {
        let columns = rest.iter_mut();
        columns.map(|rest| split_off(rest, length)).collect()
    }))
}

/// Consecutive buckets that begin in the same chunk of points.
pub struct BucketSlice<'a> {
    /// Where series begin, and at the end the number of points.
    offsets: &'a [usize],
    /// The first point of each bucket.
    firsts: &'a [u32],
    /// The end of the last bucket's points.
    end: usize,
}

impl BucketSlice<'_> {
    /// Returns the points of the series of the first bucket.
    pub fn first_series(&self) -> Range<usize> {
        let series = series_of(self.offsets, self.firsts[0] as usize);
        self.offsets[series]..self.offsets[series + 1]
    }

    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the points of the buckets.
    pub fn bounds(&self) -> Bounds<'_> {
        Bounds {
            firsts: self.firsts,
            end: self.end,
            origin: 0,
        }
    }

    /// Returns buckets of the same series, given the first point of each and the end of the last.
    pub fn with_firsts<'a>(&'a self, firsts: &'a [u32], end: usize) -> BucketSlice<'a> {
        BucketSlice {
            offsets: self.offsets,
            firsts,
            end,
        }
    }

    /// Splits the buckets into blocks of at least `points` points. The last block may have fewer.
    pub fn blocks(&self, points: usize) -> impl Iterator<Item = BucketSlice<'_>> {
        let (bounds, mut next) = (self.bounds(), 0);
        std::iter::from_fn(move || {
            let start = next;
            while next < bounds.len() && bounds.bound(next) < bounds.bound(start) + points {
                next = bounds.len().min(next + GROUP);
            }
            let firsts = &self.firsts[start..next];
            (start < next).then(|| self.with_firsts(firsts, bounds.bound(next)))
        })
    }

    /// Splits off the last bucket.
    pub fn split_last(&self) -> (BucketSlice<'_>, Range<usize>) {
        let (&last, firsts) = self.firsts.split_last().expect("there is a bucket");
        let last = last as usize;
        (self.with_firsts(firsts, last), last..self.end)
    }

    /// Returns, for each bucket, the first point of its series and the bucket's points.
    #[inline(always)]
    pub fn each(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut series = series_of(self.offsets, self.firsts[0] as usize);
        let bounds = self.bounds();
        (0..self.firsts.len()).map(move |bucket| {
            let points = bounds.points(bucket);
            while self.offsets[series + 1] <= points.start {
                series += 1;
            }
            (self.offsets[series], points)
        })
    }
}

/// Where buckets begin among numbers.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// The first number of each bucket.
    pub firsts: &'a [u32],
    /// The end of the last bucket's numbers.
    pub end: usize,
    /// A number that is subtracted from all bounds.
    pub origin: usize,
}

impl Bounds<'_> {
    /// Returns the bounds as if the first were 0.
    pub fn rebased(self) -> Self {
        let origin = self.bound(0);
        Bounds { origin, ..self }
    }

    /// Returns the numbers of all buckets.
    pub fn all(&self) -> Range<usize> {
        self.bound(0)..self.bound(self.len())
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the first number of a bucket, or the end of the last bucket's numbers.
    #[inline(always)]
    pub fn bound(&self, bucket: usize) -> usize {
        let first = self.firsts.get(bucket);
        first.map_or(self.end, |&first| first as usize) - self.origin
    }

    #[inline(always)]
    pub fn points(&self, bucket: usize) -> Range<usize> {
        self.bound(bucket)..self.bound(bucket + 1)
    }
}

impl Buckets {
    /// Finds the buckets, and visits them while the points are in the cache. `values` are
    /// prefetched for the visitor.
    ///
    /// Results are written to their final places unless buckets between others are empty; then gaps
    /// are closed afterwards.
    pub fn find(
        timeline: &Timeline,
        rooms: &[usize],
        values: &Values,
        visitor: &dyn Visit,
    ) -> Result<Buckets> {
        let room = rooms.iter().sum();
        let mut starts = zeroed_sparsely(room)?;
        let mut firsts = zeroed_sparsely(room + 1)?;
        let mut offsets = zeroed(timeline.offsets.len())?;
        let (mut unused_starts, mut unused_firsts) = (&mut starts[..], &mut firsts[..]);
        let mut unused_offsets = &mut offsets[..];
        let mut next_series = 0;
        let (mut tasks, mut series_of_chunks) = (Vec::new(), Vec::new());
        for (chunk, &room) in rooms.iter().enumerate() {
            let end = timeline.points_of(chunk).end;
            let series = next_series..timeline.offsets.partition_point(|&offset| offset < end);
            next_series = series.end;
            tasks.push(Task {
                chunk,
                series: series.clone(),
                starts: split_off(&mut unused_starts, room),
                firsts: split_off(&mut unused_firsts, room),
                offsets: split_off(&mut unused_offsets, series.len()),
            });
            series_of_chunks.push(series);
        }
        let isa = Isa::detect();
        let counts = parallel::try_map(tasks, |task| {
            let chunk = task.chunk;
            let buckets = match values {
                Values::F32(values) => task.find(isa, timeline, values)?,
                Values::F64(values) => task.find(isa, timeline, values)?,
                Values::None => task.find::<()>(isa, timeline, &[])?,
            };
            if buckets.len() > 0 {
                visitor.visit(chunk, &buckets)?;
            }
            Ok(buckets.len())
        })?;

        let chunks = add_buckets_before(&mut offsets, series_of_chunks, &counts);
        // The offsets of series without points behind the last point, and the number of buckets.
        offsets[next_series..].fill(chunks[counts.len()]);
        parallel::join(&mut || close_gaps(&mut starts, rooms, &chunks), &mut || {
            close_gaps(&mut firsts, rooms, &chunks)
        });
        // There is room for one more.
        firsts.push(timeline.timestamps.len() as u32);
        shrink(&mut starts, room);
        Ok(Buckets {
            offsets,
            starts,
            firsts,
            chunks,
        })
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Splits columns into the elements of each chunk's buckets.
    pub fn by_chunk<'a, O>(&self, columns: &'a mut [Vec<O>]) -> Slots<Vec<&'a mut [O]>> {
        let lengths: Vec<_> = self
            .chunks
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        split(columns, &lengths)
    }

    /// Visits all buckets. `offsets` are the offsets of the series' points.
    pub fn visit(&self, offsets: &[usize], visitor: &dyn Visit) -> Result<()> {
        let chunks = self.chunks.windows(2).enumerate();
        parallel::try_each(chunks, |(chunk, pair)| {
            if pair[0] == pair[1] {
                return Ok(());
            }
            let buckets = BucketSlice {
                offsets,
                end: self.firsts[pair[1]] as usize,
                firsts: &self.firsts[pair[0]..pair[1]],
            };
            visitor.visit(chunk, &buckets)
        })
    }
}

/// Adds the number of buckets before each chunk to the offsets of the series that begin in the
/// chunk. Returns the number before each chunk, and at the end the number of all buckets. `counts`
/// has the number of buckets of each chunk.
fn add_buckets_before(
    offsets: &mut [usize],
    series_of_chunks: Vec<Range<usize>>,
    counts: &[usize],
) -> Vec<usize> {
    let (mut before, mut chunks) = (0, vec![0]);
    for (series, count) in series_of_chunks.into_iter().zip(counts) {
        for offset in &mut offsets[series] {
            *offset += before;
        }
        before += count;
        chunks.push(before);
    }
    chunks
}

/// Moves the elements of all chunks together. Each chunk has used the beginning of its room.
fn close_gaps<T: Copy>(elements: &mut Vec<T>, rooms: &[usize], chunks: &[usize]) {
    let mut from = 0;
    for (room, chunk) in rooms.iter().zip(chunks.windows(2)) {
        if from != chunk[0] {
            elements.copy_within(from..from + (chunk[1] - chunk[0]), chunk[0]);
        }
        from += room;
    }
    elements.truncate(chunks[rooms.len()]);
}

/// Frees unused room if most of it is unused. Vectors that are a little too large stay so, since
/// shrinking copies all elements.
fn shrink<T>(elements: &mut Vec<T>, room: usize) {
    if elements.len() < room / 2 {
        elements.shrink_to_fit();
    }
}

/// A chunk of points, and places for the buckets that begin there.
struct Task<'a> {
    chunk: usize,
    /// The series that begin in the chunk.
    series: Range<usize>,
    starts: &'a mut [i64],
    firsts: &'a mut [u32],
    offsets: &'a mut [usize],
}

impl<'a> Task<'a> {
    /// Finds the buckets that begin in the chunk, and prefetches their values. Writes the indices of
    /// the series' first buckets as if the chunk were the first one.
    fn find<T>(self, isa: Isa, timeline: &Timeline<'a>, values: &[T]) -> Result<BucketSlice<'a>> {
        isa.run(
            #[inline(always)]
            || self.find_here(timeline, values),
        )
    }

    /// As [`find`](Self::find), with the instructions of the caller.
    #[inline(always)]
    fn find_here<T>(self, timeline: &Timeline<'a>, values: &[T]) -> Result<BucketSlice<'a>> {
        let mut heads = self.firsts.iter_mut().zip(self.starts);
        let mut count = 0;
        let end = timeline.find(self.chunk, |point, start| {
            let (first, label) = heads.next().expect("not more than can begin here");
            (*first, *label) = (point as u32, start);
            count += 1;
            if size_of::<T>() > 0 {
                prefetch_for_later(values.as_ptr(), point);
            }
        });
        let end = end.map_err(|index| timeline.error(index))?;
        let firsts = &self.firsts[..count];
        let mut before = 0;
        let offsets = &timeline.offsets[self.series];
        for (number, &offset) in self.offsets.iter_mut().zip(offsets) {
            while before < count && (firsts[before] as usize) < offset {
                before += 1;
            }
            *number = before;
        }
        Ok(BucketSlice {
            offsets: timeline.offsets,
            firsts,
            end,
        })
    }
}

/// Splits the first `len` elements off the rest.
pub fn split_off<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    rest.split_off_mut(..len).expect("there is room for all")
}
