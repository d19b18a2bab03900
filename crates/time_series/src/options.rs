//! The options of an aggregation.

use super::fill::Fills;
use super::method::Method;

/// A configurable aggregation. [`aggregate`](super::aggregate) uses the defaults.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{TimeBuckets, Fill, Method, Nan};
/// use ndarray::array;
///
/// let timestamps = array![0, 1, 1, 7];
/// let values = array![1.0, f64::NAN, 3.0, 8.0];
/// let found = TimeBuckets::every(2)
///     .methods(&[Method::COUNT, Method::MEAN])
///     .nan(Nan::Skip)
///     .fill(Fill::Value(-1.0))
///     .aggregate(&Device::auto(), timestamps.view(), values.view())?;
/// assert_eq!(found.starts(), array![0, 2, 4, 6]);
/// assert_eq!(found.column(0), array![2.0, -1.0, -1.0, 1.0]);
/// assert_eq!(found.column(1), array![2.0, -1.0, -1.0, 8.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimeBuckets {
    pub(super) every: i64,
    pub(super) origin: i64,
    pub(super) methods: Vec<Method>,
    pub(super) nan: Nan,
    pub(super) ddof: u32,
    pub(super) singletons: Singletons,
    pub(super) duplicates: Duplicates,
    pub(super) order: Order,
    pub(super) fill: Fills,
}

impl TimeBuckets {
    /// Returns an aggregation into buckets of length `every`, at least 1, in the timestamps' unit. A
    /// bucket begins at 0, and there are no methods yet.
    pub fn every(every: i64) -> TimeBuckets {
        TimeBuckets {
            every,
            origin: 0,
            methods: Vec::new(),
            nan: Nan::default(),
            ddof: 1,
            singletons: Singletons::default(),
            duplicates: Duplicates::default(),
            order: Order::default(),
            fill: Fills::default(),
        }
    }

    /// Sets a timestamp at which a bucket begins.
    pub fn origin(self, origin: i64) -> TimeBuckets {
        TimeBuckets { origin, ..self }
    }

    /// Sets the methods to compute: a column for each, in this order.
    pub fn methods(self, methods: &[Method]) -> TimeBuckets {
        TimeBuckets {
            methods: methods.to_vec(),
            ..self
        }
    }

    /// Sets how to treat NaN among the values. The default skips it.
    pub fn nan(self, nan: Nan) -> TimeBuckets {
        TimeBuckets { nan, ..self }
    }

    /// Sets the delta degrees of freedom: the divisor of variances is the number of values less
    /// `ddof`. The default is 1; use 0 for values that are the whole population.
    pub fn ddof(self, ddof: u32) -> TimeBuckets {
        TimeBuckets { ddof, ..self }
    }

    /// Sets how to treat buckets without a variance. The default is NaN.
    pub fn singletons(self, singletons: Singletons) -> TimeBuckets {
        TimeBuckets { singletons, ..self }
    }

    /// Sets how to treat points with equal timestamps. The default keeps all of them.
    pub fn duplicates(self, duplicates: Duplicates) -> TimeBuckets {
        TimeBuckets { duplicates, ..self }
    }

    /// Sets how points are ordered. The default requires that timestamps do not descend.
    pub fn order(self, order: Order) -> TimeBuckets {
        TimeBuckets { order, ..self }
    }

    /// Sets the results of buckets without points: a [`Fill`](super::Fill) for all methods, or
    /// [`Fills`] with one for some. The default leaves such buckets out.
    pub fn fill(self, fill: impl Into<Fills>) -> TimeBuckets {
        let fill = fill.into();
        TimeBuckets { fill, ..self }
    }

    /// Returns the methods to compute: those of the caller, and behind them the counts of values
    /// and of rates that tell which buckets to drop.
    pub(super) fn needed_methods(&self) -> Vec<Method> {
        let mut methods = self.methods.clone();
        for count in [Method::COUNT, Method::COUNT.rate()] {
            let depends = |method: &Method| {
                method.is_rate() == count.is_rate() && method.needs_degrees_of_freedom()
            };
            if self.singletons == Singletons::Drop && self.methods.iter().any(depends) {
                methods.push(count);
            }
        }
        methods
    }
}

gridstride_runtime::choice! {
    /// How to treat NaN among the values, for all methods, whatever its sign and payload. Duplicates are
    /// left out before. The sign and the payload of a result that is NaN are unspecified.
    pub enum Nan("nan"), default Skip {
        /// All methods skip NaN, and rates are computed between the other values. A bucket with nothing
        /// but NaN has the count 0, the sum 0, and NaN for the other methods.
        Skip("skip"),
        /// NaN is a value: it is counted, may be the first or the last value, and results that
        /// depend on it are NaN.
        Propagate("propagate"),
    }
}

gridstride_runtime::choice! {
    /// How to treat buckets with at most [`ddof`](super::TimeBuckets::ddof) values, by default one, if
    /// the methods have a standard deviation or variance, which such buckets lack.
    pub enum Singletons("singletons"), default Nan {
        /// The standard deviation or variance is NaN.
        Nan("nan"),
        /// The bucket is left out, as if it were empty, if any standard deviation or variance is
        /// undefined, of the values or of the rate.
        Drop("drop"),
    }
}

gridstride_runtime::choice! {
    /// How to treat points of a series with equal timestamps, after any sorting.
    pub enum Duplicates("duplicates"), default Keep {
        /// Keeps all of them.
        Keep("keep"),
        /// Keeps the first.
        First("first"),
        /// Keeps the last.
        Last("last"),
    }
}

gridstride_runtime::choice! {
    /// How the points of a series are ordered.
    pub enum Order("order"), default Required {
        /// Timestamps must not descend; otherwise the call returns an error.
        Required("required"),
        /// Points are stably sorted by their timestamps first.
        Sort("sort"),
    }
}
