//! The state of number, sum and mean.

use core::hint::cold_path;

use cuda_std::warp::WarpValue;

use crate::exact_sum::ExactSum;
use crate::scale::{Scale, has_room, is_large};
use crate::statistic::{State, Statistic};
use crate::statistics::Statistics;

/// Number and sum.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// The sum at the scale.
    sum: ExactSum,
    /// How many values.
    count: u32,
    /// [`Scale::DOWN`] once there is a large value, else [`Scale::ONE`]: adding small values loses nothing.
    scale: Scale,
}

impl Sums {
    /// The state of `count` values with this sum.
    #[inline(always)]
    pub fn of(sum: ExactSum, count: u32) -> Sums {
        Sums {
            sum,
            count,
            scale: Scale::ONE,
        }
    }

    #[inline(always)]
    fn at(self, scale: Scale) -> Sums {
        Sums {
            sum: self.sum.scaled(self.scale.to(scale)),
            scale,
            ..self
        }
    }

    /// The sum of states of the same scale.
    #[inline(always)]
    fn merge_aligned(self, later: Sums) -> Sums {
        Sums {
            sum: self.sum.merge(later.sum),
            count: self.count + later.count,
            scale: self.scale,
        }
    }
}

impl WarpValue for Sums {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Sums {
            sum: self.sum.map_words(&mut f),
            count: self.count.map_words(&mut f),
            scale: self.scale.map_words(f),
        }
    }
}

impl Statistics for Sums {
    const STATE: State = State::Sums;
    const EMPTY: Sums = Sums {
        sum: ExactSum::ZERO,
        count: 0,
        scale: Scale::ONE,
    };

    #[inline(always)]
    fn empty_near(_value: f64) -> Sums {
        Sums::EMPTY
    }

    #[inline(always)]
    fn push(self, value: f64) -> Self {
        Sums {
            sum: self.sum.with(value),
            count: self.count + 1,
            scale: self.scale,
        }
    }

    #[inline(always)]
    fn is_valid(&self) -> bool {
        // A sum that has overflowed once stays infinite, or becomes NaN.
        has_room(self.sum.high)
    }

    #[inline(always)]
    fn push_carefully(self, value: f64) -> Self {
        if is_large(value) | (self.scale != Scale::ONE) {
            return self.at(Scale::DOWN).push(Scale::DOWN.apply(value));
        }
        self.push(value)
    }

    #[inline(always)]
    fn merge(self, later: Self) -> Self {
        if self.scale == later.scale {
            return self.merge_aligned(later);
        }
        cold_path();
        self.at(Scale::DOWN).merge_aligned(later.at(Scale::DOWN))
    }

    #[inline(always)]
    fn statistic(self, statistic: Statistic, _ddof: f64) -> f64 {
        match statistic {
            Statistic::Count => self.count as f64,
            Statistic::Sum => self.scale.undo(self.sum.value()),
            // 0/0 where there is nothing.
            _ => self.scale.undo(self.sum.value() / self.count as f64),
        }
    }
}
