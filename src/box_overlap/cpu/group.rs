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
        Limits {
            min: std::array::from_fn(|axis| row[axis]),
            max: std::array::from_fn(|axis| row[AXES + axis]),
        }
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
        let boxes: [_; LANES] = std::array::from_fn(|lane| limits(lane.min(count - 1)));
        Group {
            min: std::array::from_fn(|axis| boxes.map(|limits| limits.min[axis])),
            max: std::array::from_fn(|axis| boxes.map(|limits| limits.max[axis])),
        }
    }

    /// The smallest box around all.
    pub fn bounds(&self) -> Limits<T, AXES> {
        let least = |a: T, b: T| if b < a { b } else { a };
        let most = |a: T, b: T| if b > a { b } else { a };
        let fold = |lanes: [T; LANES], of: fn(T, T) -> T| {
            lanes[1..].iter().fold(lanes[0], |a, &b| of(a, b))
        };
        Limits {
            min: self.min.map(|lanes| fold(lanes, least)),
            max: self.max.map(|lanes| fold(lanes, most)),
        }
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
