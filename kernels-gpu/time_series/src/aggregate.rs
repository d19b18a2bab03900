//! The trait of aggregates.

use cuda_std::warp::WarpValue;

/// A point of a time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When, in the unit of the series.
    pub timestamp: i64,
    /// The measured value.
    pub value: f64,
}

/// How the points of a bucket become one result, on every device.
///
/// A state stands for some neighbouring points of a series. Points are pushed in their order, and
/// states merged in theirs, but where a bucket is cut into states depends on its place and on the
/// device: merging must give what pushing all the points would, up to rounding, and merging with
/// [`empty`](Self::empty) must change nothing.
///
/// The value itself is a parameter of the kernel, the same for all buckets. A state should be
/// small, some dozens of bytes: each thread keeps several, and they wander between threads.
///
/// ```
/// use time_series_kernels::{Aggregate, Point};
///
/// /// The largest absolute value.
/// #[derive(Clone, Copy)]
/// struct Peak;
///
/// impl Aggregate for Peak {
///     type State = f64;
///     type Output = f64;
///
///     fn empty(&self) -> f64 {
///         0.0
///     }
///     fn push(&self, peak: f64, point: Point) -> f64 {
///         self.merge(peak, point.value.abs())
///     }
///     fn merge(&self, earlier: f64, later: f64) -> f64 {
///         if later > earlier { later } else { earlier }
///     }
///     fn finish(&self, peak: f64) -> f64 {
///         peak
///     }
/// }
/// # let point = |value| Point { timestamp: 0, value };
/// # assert_eq!(Peak.push(Peak.push(Peak.empty(), point(-2.0)), point(1.0)), 2.0);
/// ```
pub trait Aggregate: Copy + 'static {
    /// The aggregation state of some points. Lanes of a warp hand it to each other: numbers, pairs and
    /// arrays of them can be, and a struct says with [`WarpValue`] how it is.
    type State: WarpValue + 'static;

    /// The result of a bucket.
    type Output: Copy + 'static;

    /// The state of no points.
    fn empty(&self) -> Self::State;

    /// The state of no points, for a bucket that has this value: [`empty`](Self::empty) unless the
    /// aggregate keeps deviations from a value. Most states that are merged begin with the same
    /// value.
    #[inline(always)]
    fn empty_near(&self, _value: f64) -> Self::State {
        self.empty()
    }

    /// Returns the state with a point added that is not earlier than its other points. If the input
    /// is out of order, `push` may still see points in that order before the call returns its
    /// error.
    fn push(&self, state: Self::State, point: Point) -> Self::State;

    /// Whether a state made by [`push`](Self::push) is correct. If not, the kernel discards the
    /// state and adds the points again with [`push_carefully`](Self::push_carefully). `push` can so
    /// replace a test per point by one test per bucket.
    #[inline(always)]
    fn is_valid(&self, _state: &Self::State) -> bool {
        true
    }

    /// Whether a state to which a NaN was [pushed](Self::push) is never [valid](Self::is_valid). Then
    /// values are pushed without a look at them, which saves time, and those of points that take no
    /// part are found by the state.
    #[inline(always)]
    fn rejects_nan(&self) -> bool {
        false
    }

    /// As [`push`](Self::push), whatever the point.
    #[inline(always)]
    fn push_carefully(&self, state: Self::State, point: Point) -> Self::State {
        self.push(state, point)
    }

    /// The state of the points of both.
    fn merge(&self, earlier: Self::State, later: Self::State) -> Self::State;

    /// The result. A bucket has points, but all of them may have been passed over because of their
    /// values.
    fn finish(&self, state: Self::State) -> Self::Output;
}
