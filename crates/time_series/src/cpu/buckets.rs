//! Where buckets begin.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, zeroed, zeroed_sparsely};
use gridstride_runtime::parallel::{self, Scratch};
use pulp::{Arch, NullaryFnOnce};

use crate::input::series_of;
use crate::timeline::Timeline;

/// The buckets of series: the points of each, whatever their values.
pub struct Buckets {
    /// The index of each series' first bucket, and at the end the number of buckets.
    pub offsets: Vec<usize>,
    /// The first timestamp of each bucket.
    pub starts: Vec<i64>,
    /// The index of each bucket's first point, and at the end the number of points.
    pub firsts: Vec<u32>,
    /// The number of buckets that begin before each chunk of points, and at the end that of all.
    chunks: Vec<usize>,
}

/// Work on the buckets that begin in a chunk of points.
pub trait Visit<O>: Sync {
    /// Memory that a thread reuses.
    type Scratch: Default + Send;

    /// Prepares for the bucket that begins at a point, which will be visited with others.
    #[inline(always)]
    fn prepare(&self, _point: usize) {}

    /// Writes these buckets' ranges of the columns.
    fn visit(
        &self,
        found: &Found,
        columns: Vec<&mut [O]>,
        scratch: &mut Self::Scratch,
    ) -> Result<()>;
}

/// No work.
impl Visit<f64> for () {
    type Scratch = ();

    fn visit(&self, _: &Found, _: Vec<&mut [f64]>, (): &mut ()) -> Result<()> {
        Ok(())
    }
}

/// The buckets that begin in a chunk of points.
pub struct Found<'a> {
    /// Where series begin, and at the end the number of points.
    offsets: &'a [usize],
    /// The first point of each bucket.
    firsts: &'a [u32],
    /// The end of the last bucket's points.
    end: usize,
}

impl Found<'_> {
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Returns the first point of a bucket, or the end of the last bucket's points.
    #[inline(always)]
    pub fn bound(&self, bucket: usize) -> usize {
        let first = self.firsts.get(bucket);
        first.map_or(self.end, |&first| first as usize)
    }

    /// Returns, for each bucket, the first point of its series and the bucket's points.
    #[inline(always)]
    pub fn each(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = self.firsts.first().map_or(0, |&first| first as usize);
        let mut series = series_of(self.offsets, first);
        (0..self.firsts.len()).map(move |bucket| {
            let (first, end) = (self.bound(bucket), self.bound(bucket + 1));
            while self.offsets[series + 1] <= first {
                series += 1;
            }
            (self.offsets[series], first..end)
        })
    }
}

impl Buckets {
    /// Finds the buckets, and has a visitor fill columns while the points are in the cache.
    ///
    /// Results are written to their final places unless buckets between others are empty; then gaps
    /// are closed afterwards.
    pub fn find<O: Element, V: Visit<O>>(
        timeline: &Timeline,
        columns: usize,
        visitor: &V,
    ) -> Result<(Buckets, Vec<Vec<O>>)> {
        let rooms = timeline.rooms();
        let room = rooms.iter().sum();
        // There may be far fewer buckets than room: pages take memory only when they are written
        // to.
        let mut starts = zeroed_sparsely(room)?;
        let mut firsts = zeroed_sparsely(room + 1)?;
        let columns = (0..columns).map(|_| zeroed_sparsely(room));
        let mut columns: Vec<Vec<O>> = columns.collect::<Result<_>>()?;
        let mut offsets = zeroed(timeline.offsets.len())?;
        let (mut unused_starts, mut unused_firsts) = (&mut starts[..], &mut firsts[..]);
        let mut unused_offsets = &mut offsets[..];
        let unused_columns = columns.iter_mut().map(|column| &mut column[..]);
        let mut unused_columns: Vec<_> = unused_columns.collect();
        let mut begun = 0;
        let (mut tasks, mut series) = (Vec::new(), Vec::new());
        for (chunk, &room) in rooms.iter().enumerate() {
            let end = timeline.points_of(chunk).end;
            let begins = begun..timeline.offsets.partition_point(|&offset| offset < end);
            begun = begins.end;
            let columns = unused_columns.iter_mut();
            tasks.push(Task {
                chunk,
                series: begins.clone(),
                starts: split_off(&mut unused_starts, room),
                firsts: split_off(&mut unused_firsts, room),
                offsets: split_off(&mut unused_offsets, begins.len()),
                columns: columns.map(|column| split_off(column, room)).collect(),
            });
            series.push(begins);
        }
        let arch = Arch::new();
        let scratch = Scratch::new();
        let counts = parallel::try_map(tasks, |task| {
            scratch.with(|scratch| arch.dispatch(Find(timeline, task, visitor, scratch)))
        })?;

        let mut chunks = vec![0];
        for ((chunk, series), count) in series.into_iter().enumerate().zip(&counts) {
            for offset in &mut offsets[series] {
                *offset += chunks[chunk];
            }
            chunks.push(chunks[chunk] + count);
        }
        let count = chunks[counts.len()];
        // The offsets of series without points behind the last point, and the number of buckets.
        offsets[begun..].fill(count);
        parallel::join(
            &mut || close_gaps(&mut starts, &rooms, &chunks),
            &mut || close_gaps(&mut firsts, &rooms, &chunks),
        );
        parallel::each(&mut columns, |column| close_gaps(column, &rooms, &chunks));
        // There is room for one more.
        firsts.push(timeline.timestamps.len() as u32);
        // The caller gets vectors that are a little too large: shrinking copies all elements.
        if count < room / 2 {
            starts.shrink_to_fit();
            columns.iter_mut().for_each(Vec::shrink_to_fit);
        }
        let buckets = Buckets {
            offsets,
            starts,
            firsts,
            chunks,
        };
        Ok((buckets, columns))
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Has a visitor fill columns with an element for each bucket. `offsets` are those of the
    /// points.
    pub fn visit<O: Send, V: Visit<O>>(
        &self,
        offsets: &[usize],
        mut columns: Vec<&mut [O]>,
        visitor: &V,
    ) -> Result<()> {
        let chunks = self.chunks.windows(2).map(|pair| {
            let columns = columns.iter_mut();
            let columns = columns.map(|column| split_off(column, pair[1] - pair[0]));
            (pair[0]..pair[1], columns.collect::<Vec<_>>())
        });
        let scratch = Scratch::new();
        parallel::try_each(chunks, |(buckets, columns)| {
            let found = Found {
                offsets,
                end: self.firsts[buckets.end] as usize,
                firsts: &self.firsts[buckets],
            };
            scratch.with(|scratch| visitor.visit(&found, columns, scratch))
        })
    }
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

/// A chunk of points, and places for the buckets that begin there.
struct Task<'a, O> {
    chunk: usize,
    /// The series that begin in the chunk.
    series: Range<usize>,
    starts: &'a mut [i64],
    firsts: &'a mut [u32],
    offsets: &'a mut [usize],
    columns: Vec<&'a mut [O]>,
}

/// Finds the buckets that begin in a chunk of points, has them visited, and returns their number.
/// Writes the indices of the series' first buckets as if the chunk were the first one.
struct Find<'a, O, V: Visit<O>>(&'a Timeline<'a>, Task<'a, O>, &'a V, &'a mut V::Scratch);

impl<O, V: Visit<O>> NullaryFnOnce for Find<'_, O, V> {
    type Output = Result<usize>;

    #[inline(always)]
    fn call(self) -> Result<usize> {
        let Find(timeline, mut task, visitor, scratch) = self;
        let mut heads = task.firsts.iter_mut().zip(task.starts);
        let mut count = 0;
        let end = timeline.find(task.chunk, |point, start| {
            let (first, label) = heads.next().expect("not more than can begin here");
            (*first, *label) = (point as u32, start);
            count += 1;
            visitor.prepare(point);
        });
        let end = end.map_err(|index| timeline.error(index))?;
        let firsts = &task.firsts[..count];
        let mut before = 0;
        let offsets = &timeline.offsets[task.series];
        for (number, &offset) in task.offsets.iter_mut().zip(offsets) {
            while before < count && (firsts[before] as usize) < offset {
                before += 1;
            }
            *number = before;
        }
        if count > 0 {
            let found = Found {
                offsets: timeline.offsets,
                firsts,
                end,
            };
            let columns = task.columns.iter_mut();
            let columns = columns.map(|column| split_off(column, count)).collect();
            visitor.visit(&found, columns, scratch)?;
        }
        Ok(count)
    }
}

/// Splits the first `len` elements off the rest.
pub fn split_off<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    rest.split_off_mut(..len).expect("there is room for all")
}
