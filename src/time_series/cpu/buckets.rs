//! Where buckets begin.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::CHUNK;
use super::timeline::{Beginnings, Timeline};
use crate::Result;
use crate::device::zeroed;

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

impl Buckets {
    /// # Errors
    /// Those of [`Timeline::check`].
    pub fn new(timeline: &Timeline) -> Result<Buckets> {
        let beginnings = timeline.beginnings()?;
        let mut chunks = zeroed(beginnings.len() + 1)?;
        for (chunk, beginnings) in beginnings.iter().enumerate() {
            chunks[chunk + 1] = chunks[chunk] + beginnings.points.len();
        }
        let count = chunks[beginnings.len()];
        let mut buckets = Buckets {
            offsets: zeroed(timeline.offsets.len())?,
            starts: zeroed(count)?,
            firsts: zeroed(count + 1)?,
            chunks,
        };
        buckets.write(timeline, &beginnings);
        Ok(buckets)
    }

    /// The number of buckets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The buckets that begin in each chunk of points.
    pub fn in_chunks(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.chunks.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// The columns' parts for each chunk of points: with the buckets that begin there.
    pub fn parts<'a, O>(
        &self,
        mut columns: Vec<&'a mut [O]>,
    ) -> Vec<(Range<usize>, Vec<&'a mut [O]>)> {
        let part = |buckets: Range<usize>| {
            let columns = columns.iter_mut().map(|column| {
                let part = column.split_off_mut(..buckets.len());
                part.expect("as long as there are buckets")
            });
            let columns = columns.collect();
            (buckets, columns)
        };
        self.in_chunks().map(part).collect()
    }

    /// The points of a bucket.
    #[inline(always)]
    pub fn points(&self, bucket: usize) -> Range<usize> {
        self.firsts[bucket] as usize..self.firsts[bucket + 1] as usize
    }

    /// The buckets of a range, each with the number of its series.
    #[inline(always)]
    pub fn with_series(&self, buckets: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let mut series = self.series(buckets.start);
        buckets.map(move |bucket| {
            while self.offsets[series + 1] <= bucket {
                series += 1;
            }
            (bucket, series)
        })
    }

    /// The series of a bucket: the last one that begins there or before, since that has buckets.
    pub fn series(&self, bucket: usize) -> usize {
        self.offsets.partition_point(|&offset| offset <= bucket) - 1
    }

    /// All but the numbers of buckets.
    fn write(&mut self, timeline: &Timeline, beginnings: &[Beginnings]) {
        let (count, points) = (self.starts.len(), timeline.timestamps.len());
        let (mut starts, mut firsts) = (&mut self.starts[..], &mut self.firsts[..count]);
        let mut offsets = &mut self.offsets[..];
        let mut begun = 0;
        let parts = beginnings.iter().enumerate().map(|(chunk, beginnings)| {
            let end = ((chunk + 1) * CHUNK).min(points);
            let series = begun..timeline.offsets.partition_point(|&offset| offset < end);
            begun = series.end;
            let all = "as many as the chunks have";
            let count = beginnings.points.len();
            Write {
                offsets_of_points: timeline.offsets,
                beginnings,
                point: chunk * CHUNK,
                bucket: self.chunks[chunk],
                starts: starts.split_off_mut(..count).expect(all),
                firsts: firsts.split_off_mut(..count).expect(all),
                offsets: offsets.split_off_mut(..series.len()).expect(all),
                series,
            }
        });
        let parts: Vec<_> = parts.collect();
        // Of series without points behind the last point, and that of all.
        offsets.fill(count);
        let arch = Arch::new();
        parts.into_par_iter().for_each(|part| arch.dispatch(part));
        self.firsts[count] = points as u32;
    }
}

/// Writes the buckets and series that begin in a chunk of points.
struct Write<'a> {
    /// Of all series.
    offsets_of_points: &'a [usize],
    beginnings: &'a Beginnings,
    /// The first point of the chunk.
    point: usize,
    /// The first bucket that begins in it.
    bucket: usize,
    series: Range<usize>,
    starts: &'a mut [i64],
    firsts: &'a mut [u32],
    offsets: &'a mut [usize],
}

impl NullaryFnOnce for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.starts.copy_from_slice(&self.beginnings.starts);
        for (first, &point) in self.firsts.iter_mut().zip(&self.beginnings.points) {
            *first = (self.point + usize::from(point)) as u32;
        }
        let offsets = &self.offsets_of_points[self.series];
        let mut before = 0;
        for (number, &offset) in self.offsets.iter_mut().zip(offsets) {
            while before < self.firsts.len() && (self.firsts[before] as usize) < offset {
                before += 1;
            }
            *number = self.bucket + before;
        }
    }
}
