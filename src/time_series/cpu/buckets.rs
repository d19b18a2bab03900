//! Where buckets begin.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::timeline::Timeline;
use crate::Result;
use crate::device::{Element, zeroed, zeroed_sparsely};
use crate::parallel::{self, Scratch};
use crate::time_series::input::series_of;

/// The buckets of some series: of which points each consists, whatever their values.
pub struct Buckets {
    /// The number of each series' first bucket, and at the end that of all buckets.
    pub offsets: Vec<usize>,
    /// The first timestamp of each.
    pub starts: Vec<i64>,
    /// The number of the first point of each, and at the end that of all points.
    pub firsts: Vec<u32>,
    /// The number of buckets that begin before each chunk of points, and at the end that of all.
    chunks: Vec<usize>,
}

/// What is done with the buckets that begin in a chunk of points.
pub trait Visit<O>: Sync {
    /// What a thread needs.
    type Scratch: Default + Send;

    /// Writes the columns' parts of these buckets.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    fn visit(
        &self,
        found: &Found,
        columns: Vec<&mut [O]>,
        scratch: &mut Self::Scratch,
    ) -> Result<()>;
}

/// Nothing is done with them.
pub struct Ignore;

impl Visit<f64> for Ignore {
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
    /// The end of the last one's points.
    end: usize,
}

impl Found<'_> {
    /// The number of buckets.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The points of the last bucket, and the first point of its series, if it has more than so many points.
    pub fn last_above(&self, points: usize) -> Option<(usize, Range<usize>)> {
        let first = *self.firsts.last()? as usize;
        let is_long = self.end - first > points;
        is_long.then(|| {
            (
                self.offsets[series_of(self.offsets, first)],
                first..self.end,
            )
        })
    }

    /// The points of each bucket, and the first point of its series.
    #[inline(always)]
    pub fn each(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = self.firsts.first().map_or(0, |&first| first as usize);
        let mut series = series_of(self.offsets, first);
        (0..self.firsts.len()).map(move |bucket| {
            let first = self.firsts[bucket] as usize;
            let next = self.firsts.get(bucket + 1);
            let end = next.map_or(self.end, |&next| next as usize);
            while self.offsets[series + 1] <= first {
                series += 1;
            }
            (self.offsets[series], first..end)
        })
    }
}

impl Buckets {
    /// Finds the buckets, and fills columns with what a visitor makes of them as long as their points are in the
    /// cache.
    ///
    /// Results go where they belong if no bucket between others is empty; else gaps are closed afterwards.
    ///
    /// # Errors
    /// Those of [`Timeline::check`], and [`Error::Allocation`](crate::Error::Allocation).
    pub fn find<O: Element, V: Visit<O>>(
        timeline: &Timeline,
        columns: usize,
        visitor: &V,
    ) -> Result<(Buckets, Vec<Vec<O>>)> {
        let rooms = timeline.rooms();
        let room = rooms.iter().sum();
        // There may be far fewer buckets than room: only pages that are written to take memory.
        let mut starts = zeroed_sparsely(room)?;
        let mut firsts = zeroed_sparsely(room + 1)?;
        let columns = (0..columns).map(|_| zeroed_sparsely(room));
        let mut columns: Vec<Vec<O>> = columns.collect::<Result<_>>()?;
        let mut offsets = zeroed(timeline.offsets.len())?;
        let mut unused = Places {
            starts: &mut starts,
            firsts: &mut firsts,
            offsets: &mut offsets,
            columns: columns.iter_mut().map(|column| &mut column[..]).collect(),
        };
        let mut begun = 0;
        let parts = rooms.iter().enumerate().map(|(chunk, &room)| {
            let end = timeline.points_of(chunk).end;
            let series = begun..timeline.offsets.partition_point(|&offset| offset < end);
            begun = series.end;
            Part {
                timeline,
                chunk,
                places: unused.split_off(room, series.len()),
                series,
            }
        });
        let parts: Vec<_> = parts.collect();
        let series: Vec<_> = parts.iter().map(|part| part.series.clone()).collect();
        let arch = Arch::new();
        let scratch = Scratch::new();
        let counts = parallel::try_map(parts, |part| {
            scratch.with(|scratch| arch.dispatch(Find(part, visitor, scratch)))
        })?;

        let mut chunks = vec![0];
        for (chunk, count) in counts.iter().enumerate() {
            for offset in &mut offsets[series[chunk].clone()] {
                *offset += chunks[chunk];
            }
            chunks.push(chunks[chunk] + count);
        }
        let count = chunks[counts.len()];
        // Of series without points behind the last point, and that of all.
        offsets[begun..].fill(count);
        parallel::join(
            &mut || close_gaps(&mut starts, &rooms, &chunks),
            &mut || close_gaps(&mut firsts, &rooms, &chunks),
        );
        parallel::each(&mut columns, |column| close_gaps(column, &rooms, &chunks));
        // There is room for one more.
        firsts.push(timeline.timestamps.len() as u32);
        // What is handed out keeps what is a little too large: else all would be copied.
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

    /// The number of buckets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Has a visitor fill columns, which are as long as there are buckets. `offsets` are those of the points.
    ///
    /// # Errors
    /// The visitor's.
    pub fn visit<O: Send, V: Visit<O>>(
        &self,
        offsets: &[usize],
        mut columns: Vec<&mut [O]>,
        visitor: &V,
    ) -> Result<()> {
        let parts = self.chunks.windows(2).map(|pair| {
            let buckets = pair[0]..pair[1];
            let columns = columns.iter_mut().map(|column| {
                let part = column.split_off_mut(..buckets.len());
                part.expect("as long as there are buckets")
            });
            let columns: Vec<_> = columns.collect();
            (buckets, columns)
        });
        let scratch = Scratch::new();
        parallel::try_each(parts, |(buckets, columns)| {
            let found = Found {
                offsets,
                end: self.firsts[buckets.end] as usize,
                firsts: &self.firsts[buckets],
            };
            scratch.with(|scratch| visitor.visit(&found, columns, scratch))
        })
    }
}

/// Moves the elements of all chunks together: each has room for some, but may have used less.
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

/// Where results go.
struct Places<'a, O> {
    starts: &'a mut [i64],
    firsts: &'a mut [u32],
    offsets: &'a mut [usize],
    columns: Vec<&'a mut [O]>,
}

impl<'a, O> Places<'a, O> {
    /// The first of them.
    fn split_off(&mut self, buckets: usize, series: usize) -> Places<'a, O> {
        let all = "there is room for all chunks";
        Places {
            starts: self.starts.split_off_mut(..buckets).expect(all),
            firsts: self.firsts.split_off_mut(..buckets).expect(all),
            offsets: self.offsets.split_off_mut(..series).expect(all),
            columns: self
                .columns
                .iter_mut()
                .map(|column| column.split_off_mut(..buckets).expect(all))
                .collect(),
        }
    }
}

/// A chunk of points.
struct Part<'a, O> {
    timeline: &'a Timeline<'a>,
    chunk: usize,
    /// The series that begin in it.
    series: Range<usize>,
    places: Places<'a, O>,
}

/// Finds the buckets that begin in a chunk, has them visited, and returns their number. The numbers of the series'
/// first buckets are as if the chunk were the first one.
struct Find<'a, O, V: Visit<O>>(Part<'a, O>, &'a V, &'a mut V::Scratch);

impl<O, V: Visit<O>> NullaryFnOnce for Find<'_, O, V> {
    type Output = Result<usize>;

    #[inline(always)]
    fn call(self) -> Result<usize> {
        let Find(part, visitor, scratch) = self;
        let Part {
            timeline,
            chunk,
            series,
            mut places,
        } = part;
        let mut heads = places.firsts.iter_mut().zip(places.starts);
        let mut count = 0;
        let end = timeline.find(chunk, |point, start| {
            let (first, label) = heads.next().expect("not more than can begin here");
            (*first, *label) = (point as u32, start);
            count += 1;
        });
        let end = end.map_err(|index| timeline.error(index))?;
        let firsts = &places.firsts[..count];
        let mut before = 0;
        for (number, &offset) in places.offsets.iter_mut().zip(&timeline.offsets[series]) {
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
            for column in &mut places.columns {
                *column = std::mem::take(column).split_at_mut(count).0;
            }
            visitor.visit(&found, places.columns, scratch)?;
        }
        Ok(count)
    }
}
