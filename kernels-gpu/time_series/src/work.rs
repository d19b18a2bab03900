//! A block's view of its tile, and the operations of its threads on points.

use crate::aggregate::{Aggregate, Point};
use crate::heads::Mine;
use crate::points::{Points, Source, TILE, Value};
use crate::reduce::Buckets;
use crate::reports::{Report, Reports};
use crate::segments::Pieces;
use crate::tile::Tile;

/// The tile of a block, with the arguments of its launch.
pub struct Work<A: Aggregate, V> {
    pub aggregate: A,
    pub points: Points<V>,
    pub reports: Reports,
    pub buckets: Buckets,
    pub pieces: Pieces<A::State>,
    pub tile: Tile<V>,
    /// The tile's number, and the index of its first point.
    pub index: usize,
    pub start: usize,
    pub mine: Mine,
    /// Buckets that begin in the tile, and with points of lower threads.
    pub heads: u32,
    pub heads_before: u32,
    /// The tile's places for buckets: `room` of them, up to place `end`. The last bucket has the
    /// last one.
    pub end: u32,
    pub room: u32,
}

impl<A: Aggregate, V: Value> Work<A, V> {
    /// The place of a bucket by its number among those that begin in the tile, if there is one.
    #[inline(always)]
    pub fn place(&self, number: u32) -> Option<usize> {
        let from_end = self.heads - number;
        let place = self.end.wrapping_sub(from_end) as usize;
        // The second comparison holds if places were bounded well, which safety must not depend on.
        if from_end <= self.room && place < self.buckets.starts.len() {
            Some(place)
        } else {
            None
        }
    }

    /// Whether a point of the tile takes no part because a series begins with it.
    #[inline(always)]
    pub fn is_without_difference<S: Source>(&self, point: u32) -> bool {
        S::IS_DIFFERENCE && self.tile.begins_series(&self.points, self.start, point)
    }

    /// The value that is subtracted from a point's: 0 if values are taken as they are.
    #[inline(always)]
    pub fn subtrahend<S: Source>(&self, point: u32) -> f64 {
        if S::IS_DIFFERENCE {
            self.tile.value_before(point)
        } else {
            0.0
        }
    }

    /// The state of no points of the bucket that a point of the tile belongs to.
    #[inline(always)]
    pub fn empty<S: Source>(&self, point: u32) -> A::State {
        if !S::HAS_VALUES {
            return self.aggregate.empty();
        }
        let mut point = point;
        if self.is_without_difference::<S>(point) && point + 1 < TILE {
            point += 1;
        }
        let mut value = self.tile.value(point);
        if S::IS_DIFFERENCE {
            value -= self.tile.value_before(point);
        }
        self.aggregate.empty_near(value)
    }

    /// Reports a difference of a value that is not there: it would have to be taken to one before
    /// that.
    ///
    /// # Safety
    /// As of [`reduce`].
    #[inline(always)]
    pub unsafe fn report_missing<S: Source>(&self, point: u32, value: f64, subtrahend: f64) {
        let absent = self.points.absent;
        if S::IS_DIFFERENCE && !(absent.has(value) && absent.has(subtrahend)) {
            // SAFETY: by the contract of `reduce`, `reports` has its words.
            unsafe {
                self.reports
                    .report(Report::Missing, self.start + point as usize, 1)
            };
        }
    }

    /// Returns the state with a point added, unless the point is absent. The first attempt skips
    /// the test for absent points if the aggregate rejects NaN: an invalid state then shows that
    /// there was one.
    #[inline(always)]
    pub fn push<S: Source, const CAREFULLY: bool>(
        &self,
        state: A::State,
        timestamp: i64,
        value: f64,
    ) -> A::State {
        // Differences have other reasons to be NaN; values that are not there are reported.
        let looks = !S::IS_DIFFERENCE && (CAREFULLY || !self.aggregate.rejects_nan());
        if looks && !self.points.absent.has(value) {
            return state;
        }
        let point = Point { timestamp, value };
        if CAREFULLY {
            self.aggregate.push_carefully(state, point)
        } else {
            self.aggregate.push(state, point)
        }
    }

    /// Writes what is known of a bucket by its first point.
    ///
    /// # Safety
    /// The place is one of this tile, and no other thread writes it.
    #[inline(always)]
    pub unsafe fn write_head(&self, place: usize, first: u32) {
        let timestamp = self.tile.timestamp(first);
        // SAFETY: by the contract of this function, the place is one of this tile, and no other
        // thread writes it.
        unsafe {
            self.buckets
                .starts
                .set(place, self.points.floor.floor(timestamp));
            if !self.buckets.firsts.is_empty() {
                self.buckets.firsts.set(place, self.start as u32 + first);
            }
        }
    }
}
