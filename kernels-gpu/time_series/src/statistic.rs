//! Names of the statistics.

/// What is computed of a bucket.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// How many values.
    Count,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The smallest one.
    Min,
    /// The largest one.
    Max,
    /// The first one.
    First,
    /// The last one.
    Last,
    /// The standard deviation.
    Std,
    /// The variance.
    Var,
}

impl Statistic {
    /// All, in the order of their numbers.
    pub const ALL: [Statistic; 9] = [
        Statistic::Count,
        Statistic::Sum,
        Statistic::Mean,
        Statistic::Min,
        Statistic::Max,
        Statistic::First,
        Statistic::Last,
        Statistic::Std,
        Statistic::Var,
    ];
}
