//! The common trait of the states of the library's statistics, and the aggregate that is made
//! of one.

use core::marker::PhantomData;

use cuda_std::DeviceParam;
use cuda_std::warp::WarpValue;

use crate::aggregate::{Aggregate, Point};
use crate::statistic::{State, Statistic};

/// The states of the library's own statistics.
pub trait Statistics: WarpValue {
    /// Which state this is.
    const STATE: State;
    /// The state without values.
    const EMPTY: Self;
    /// The state without values, for a bucket that has this value.
    fn empty_near(value: f64) -> Self;
    /// Adds an ordinary value; any other, also NaN, leaves the state [invalid](Self::is_valid).
    fn push(self, value: f64) -> Self;
    /// Whether all values could be [pushed](Self::push).
    fn is_valid(&self) -> bool;
    /// Adds any value.
    fn push_carefully(self, value: f64) -> Self;
    /// Returns the state of the values of `self` followed by those of `later`.
    fn merge(self, later: Self) -> Self;
    /// Whether this state has a statistic.
    #[inline(always)]
    fn has(statistic: Statistic) -> bool {
        statistic.state() as u32 <= Self::STATE as u32
    }
    /// Returns a statistic that this state [has](Self::has). The divisor of variances is the number
    /// of values minus `ddof`.
    fn statistic(self, statistic: Statistic, ddof: f64) -> f64;
}

/// Statistics as an aggregate whose results are its states: a column of each statistic is made of
/// them, or they are merged into coarser buckets.
#[repr(C)]
#[derive(DeviceParam)]
pub struct StatesOf<S>(PhantomData<fn() -> S>);

impl<S> StatesOf<S> {
    /// It has no data.
    pub const NEW: StatesOf<S> = StatesOf(PhantomData);
}

impl<S> Clone for StatesOf<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for StatesOf<S> {}

impl<S> core::fmt::Debug for StatesOf<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("StatesOf")
    }
}

impl<S: Statistics + 'static> Aggregate for StatesOf<S> {
    type State = S;
    type Output = S;

    #[inline(always)]
    fn empty(&self) -> S {
        S::EMPTY
    }

    #[inline(always)]
    fn empty_near(&self, value: f64) -> S {
        S::empty_near(value)
    }

    #[inline(always)]
    fn push(&self, state: S, point: Point) -> S {
        state.push(point.value)
    }

    #[inline(always)]
    fn is_valid(&self, state: &S) -> bool {
        state.is_valid()
    }

    #[inline(always)]
    fn rejects_nan(&self) -> bool {
        true
    }

    #[inline(always)]
    fn push_carefully(&self, state: S, point: Point) -> S {
        state.push_carefully(point.value)
    }

    #[inline(always)]
    fn merge(&self, earlier: S, later: S) -> S {
        earlier.merge(later)
    }

    #[inline(always)]
    fn finish(&self, state: S) -> S {
        state
    }
}
