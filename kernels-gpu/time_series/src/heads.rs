//! Where buckets begin in a tile.

use cuda_std::prelude::*;

use crate::floor::Floor;
use crate::points::{PAIRS, PER_THREAD, Points, Value, for_pairs};
use crate::tile::Tile;

/// Flags of a thread's points. Bit i of each mask describes the thread's point i.
#[derive(Clone, Copy)]
pub struct Mine {
    /// Number of points of this thread.
    pub count: u32,
    /// Points with which a bucket begins.
    pub heads: u32,
    /// Points earlier than the point before in their series.
    pub disorder: u32,
    /// Points whose bucket has no label. Later points of the same series may lack the flag.
    pub without_label: u32,
}

impl Mine {
    /// Finds out where buckets begin among this thread's points of the tile that begins with point
    /// `start`.
    #[inline(always)]
    pub fn find<V: Value>(points: &Points<V>, tile: &Tile<V>, start: usize) -> Mine {
        let me = thread::thread_idx_x();
        let first = start + (me * PER_THREAD) as usize;
        let len = points.timestamps.len();
        let count = if first >= len {
            0
        } else if len - first < PER_THREAD as usize {
            (len - first) as u32
        } else {
            PER_THREAD
        };
        let mut starts = 0;
        if !points.series_starts.is_empty() {
            starts = tile.series_starts();
        }
        let mut before = i64::MIN;
        if first == 0 {
            starts |= 1;
        } else if me > 0 {
            before = tile.timestamp_pair(me - 1, PAIRS - 1)[1];
        } else {
            before = tile.timestamp_before();
        }
        let mut mine = Mine {
            count,
            heads: 0,
            disorder: 0,
            without_label: 0,
        };
        if starts != 0 || !mine.find_quickly(&points.floor, tile, before) {
            mine.find_carefully(&points.floor, tile, before, starts);
        }
        let there = (1 << count) - 1;
        mine.heads &= there;
        mine.disorder &= there;
        mine.without_label &= there;
        mine
    }

    /// For points of one series, behind `before`: a new bucket is mostly the next one, which takes
    /// no division. Whether that was so, and all are in order.
    #[inline(always)]
    fn find_quickly<V: Value>(&mut self, floor: &Floor, tile: &Tile<V>, before: i64) -> bool {
        let width = floor.width() as u64;
        let mut before = before;
        let mut start = floor.floor(before);
        let mut is_far = false;
        for_pairs! { pair {
            let timestamps = tile.timestamp_pair(thread::thread_idx_x(), pair as u32);
            unrolled! { i in [0 1] {
                let timestamp = timestamps[i];
                let within = timestamp.wrapping_sub(start) as u64;
                let is_new = within >= width;
                is_far |= (timestamp < before) | (within >= 2 * width);
                start = start.wrapping_add(if is_new { width as i64 } else { 0 });
                self.heads |= u32::from(is_new) << (2 * pair + i);
                before = timestamp;
            }}
        }}
        !is_far
    }

    /// For all points.
    #[inline(always)]
    fn find_carefully<V: Value>(
        &mut self,
        floor: &Floor,
        tile: &Tile<V>,
        before: i64,
        starts: u32,
    ) {
        self.heads = starts;
        let mut before = before;
        let mut bucket_before = floor.bucket(before);
        let mut bit = 0;
        while bit < PER_THREAD {
            let timestamp = tile.timestamp(thread::thread_idx_x() * PER_THREAD + bit);
            let bucket = floor.bucket(timestamp);
            self.heads |= u32::from(bucket != bucket_before) << bit;
            self.disorder |= u32::from(timestamp < before) << bit;
            self.without_label |= u32::from(timestamp < floor.lowest()) << bit;
            before = timestamp;
            bucket_before = bucket;
            bit += 1;
        }
        // A series begins with any timestamp.
        self.disorder &= !starts;
    }
}
