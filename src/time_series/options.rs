//! What is done with points and buckets that are out of the ordinary.

/// What NaN among the values means, for all methods alike. Duplicates are left out before, whatever their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nan {
    /// NaN is no value: no method sees it. A bucket in which there is nothing else comes out with count 0, sum 0
    /// and NaN for all others, and the rate is that between values.
    #[default]
    Skip,
    /// NaN is a value: it is counted, it may be the first or the last one, and what is computed from it is NaN.
    Propagate,
}

/// What comes of a bucket whose standard deviation or variance has no degree of freedom, with the default of
/// [`ddof`](super::Aggregation::ddof) one of a single value. Matters only if one of them is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Singletons {
    /// It is NaN.
    #[default]
    Nan,
    /// The bucket is left out, as if it were empty, if any of them is undefined: of the values or of the rate.
    Drop,
}

/// What points of one series with the same timestamp mean. They are neighbours: after sorting, if that is asked
/// for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// All are points.
    #[default]
    Keep,
    /// The first one is the only one.
    First,
    /// The last one is the only one.
    Last,
}

/// What is expected of the order of the timestamps of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// They do not descend; otherwise there is an error.
    #[default]
    Required,
    /// They are sorted first, points with the same timestamp in the order in which they are.
    Sort,
}

/// What comes out for buckets without points, between a series' first and last bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fill {
    /// Nothing: only buckets with points come out.
    #[default]
    None,
    /// NaN in all columns.
    Null,
    /// A number in all columns.
    Value(f64),
    /// What the bucket before has.
    Previous,
}
