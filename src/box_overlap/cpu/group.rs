//! Eight boxes that are tested at once.

use crate::Number;

/// The boxes of a group: as many `f32` as a vector of AVX2 has.
pub(super) const LANES: usize = 8;

/// The limits of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits<T, const AXES: usize> {
    pub min: [T; AXES],
    pub max: [T; AXES],
}

impl<T: Number, const AXES: usize> Limits<T, AXES> {
    /// Of a row: all minima, then all maxima.
    #[inline(always)]
    pub fn of_row(row: &[T]) -> Self {
        let mut limits = Limits {
            min: [T::zeroed(); AXES],
            max: [T::zeroed(); AXES],
        };
        limits.min.copy_from_slice(&row[..AXES]);
        limits.max.copy_from_slice(&row[AXES..2 * AXES]);
        limits
    }
}

/// Up to [`LANES`] boxes, axis by axis. Lanes without a box of their own repeat the last one.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // A cache line's: a group of boxes in space of `f32` takes three, not four.
pub(super) struct Group<T, const AXES: usize> {
    pub min: [[T; LANES]; AXES],
    pub max: [[T; LANES]; AXES],
}

impl<T: Number, const AXES: usize> Group<T, AXES> {
    /// `count` boxes, of 1 to [`LANES`].
    pub fn new(count: usize, limits: impl Fn(usize) -> Limits<T, AXES>) -> Self {
        // Loops, since functions of arrays are compiled anew for each closure.
        let mut group = Group {
            min: [[T::zeroed(); LANES]; AXES],
            max: [[T::zeroed(); LANES]; AXES],
        };
        for lane in 0..LANES {
            let limits = limits(lane.min(count - 1));
            for axis in 0..AXES {
                group.min[axis][lane] = limits.min[axis];
                group.max[axis][lane] = limits.max[axis];
            }
        }
        group
    }

    /// The smallest box around all.
    pub fn bounds(&self) -> Limits<T, AXES> {
        let mut bounds = Limits {
            min: [T::zeroed(); AXES],
            max: [T::zeroed(); AXES],
        };
        for axis in 0..AXES {
            let (mut min, mut max) = (self.min[axis][0], self.max[axis][0]);
            for lane in 1..LANES {
                let [lane_min, lane_max] = [self.min[axis][lane], self.max[axis][lane]];
                min = if lane_min < min { lane_min } else { min };
                max = if lane_max > max { lane_max } else { max };
            }
            (bounds.min[axis], bounds.max[axis]) = (min, max);
        }
        bounds
    }
}

/// The bits of the lanes that a group has of `length` boxes in groups.
#[inline(always)]
pub(super) fn lanes_below(length: usize, group: usize) -> u32 {
    match length - group * LANES {
        lanes @ ..LANES => (1 << lanes) - 1,
        _ => (1 << LANES) - 1,
    }
}
