//! The table of statistics.

/// Calls a macro with the table of statistics, which is the only list of them. A row has the
/// documentation, the name of the constant of `gridstride::time_series::Method`, the variant of
/// [`Statistic`], the name as text, the smallest [`State`] that has it, the [`Unit`] and the
/// [`Accuracy`] of results, and whether a bucket needs more values than the delta degrees of freedom.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_statistic {
    ($callback:ident) => {
        $callback! {
            /// The number of values.
            COUNT = Count, "count", Sums, Count, Exact, false;
            /// The sum, 0 without values: rounded about once, whatever the number of values, and
            /// infinite only if the exact sum is beyond the range of `f64`.
            SUM = Sum, "sum", Sums, Sum, Sum, false;
            /// The sum divided by the number of values: finite if all values are finite.
            MEAN = Mean, "mean", Sums, Value, Mean, false;
            /// The smallest value. Of zeros with different signs it is the first.
            MIN = Min, "min", Summary, Value, Exact, false;
            /// The largest value. Of zeros with different signs it is the first.
            MAX = Max, "max", Summary, Value, Exact, false;
            /// The first value.
            FIRST = First, "first", Summary, Value, Exact, false;
            /// The last value.
            LAST = Last, "last", Summary, Value, Exact, false;
            /// The standard deviation: the square root of the variance `var`, even if the variance
            /// is beyond the range of `f64`.
            STD = Std, "std", Summary, Deviation, Deviation, true;
            /// The variance: the sum of squared deviations from the mean, divided by the number of
            /// values less `ddof`. Exactly 0 for equal values, NaN if a value is infinite or NaN.
            /// The relative error does not depend on the mean.
            VAR = Var, "var", Summary, Variance, Variance, true;
            /// The skewness of a sample, as pandas' `skew`: G₁ = g₁·√(n·(n − 1))/(n − 2), with g₁ of
            /// `skew_pop`. NaN for fewer than 3 values, for equal ones, and if a value is infinite or
            /// NaN. The error does not depend on the mean.
            SKEW = Skew, "skew", Moments, Ratio, Skewness, false;
            /// The excess kurtosis of a sample, as pandas' `kurt`:
            /// G₂ = ((n + 1)·g₂ + 6)·(n − 1)/((n − 2)·(n − 3)), with g₂ of `kurt_pop`. NaN for fewer
            /// than 4 values, for equal ones, and if a value is infinite or NaN. The error does not
            /// depend on the mean.
            KURT = Kurt, "kurt", Moments, Ratio, Kurtosis, false;
            /// The skewness of values that are the whole population, as `skew` of scipy and polars:
            /// g₁ = m₃/m₂^(3/2), mₚ = Σ(x − mean)ᵖ/n. NaN for equal values, and if a value is infinite
            /// or NaN.
            SKEW_POP = SkewPop, "skew_pop", Moments, Ratio, Skewness, false;
            /// The excess kurtosis of values that are the whole population, as `kurtosis` of scipy and
            /// polars: g₂ = m₄/m₂² − 3, mₚ = Σ(x − mean)ᵖ/n. NaN for equal values, and if a value is
            /// infinite or NaN.
            KURT_POP = KurtPop, "kurt_pop", Moments, Ratio, Kurtosis, false;
        }
    };
}

macro_rules! statistics {
    ($($(#[doc = $doc:literal])* $constant:ident = $name:ident, $text:literal, $state:ident, $unit:ident,
        $accuracy:ident, $ddof:literal;)*) => {
        /// A statistic of the values of a bucket.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Statistic {$(
            $(#[doc = $doc])*
            $name,
        )*}

        impl Statistic {
            /// All statistics, in the order of their numbers.
            pub const ALL: &[Statistic] = &[$(Statistic::$name),*];

            /// Returns the name, such as `mean`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Statistic::$name => $text,)*
                }
            }

            /// Returns what the statistic is, as sentences.
            pub const fn documentation(self) -> &'static str {
                match self {
                    $(Statistic::$name => concat!($($doc),*).trim_ascii(),)*
                }
            }

            /// Returns the smallest state that has the statistic.
            #[inline(always)]
            pub const fn state(self) -> State {
                match self {
                    $(Statistic::$name => State::$state,)*
                }
            }

            /// Returns what the results count or measure.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Statistic::$name => Unit::$unit,)*
                }
            }

            /// Returns the bound on the error of results.
            pub const fn accuracy(self) -> Accuracy {
                match self {
                    $(Statistic::$name => Accuracy::$accuracy,)*
                }
            }

            /// Whether a bucket needs more values than the delta degrees of freedom.
            pub const fn needs_degrees_of_freedom(self) -> bool {
                match self {
                    $(Statistic::$name => $ddof,)*
                }
            }
        }
    };
}
for_each_statistic!(statistics);

/// The states of the library's own statistics. Each has all statistics of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// [`Sums`](crate::Sums).
    Sums,
    /// [`Summary`](crate::Summary).
    Summary,
    /// [`Moments`](crate::Moments).
    Moments,
}

impl State {
    /// Returns the smallest state that has all of these statistics.
    pub fn of(statistics: impl IntoIterator<Item = Statistic>) -> State {
        let states = statistics.into_iter().map(Statistic::state);
        states.max().unwrap_or(State::Sums)
    }
}

/// The unit of a statistic's results: plots give an axis to each unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A number of values.
    Count,
    /// The unit of the values. A result is a value or between values.
    Value,
    /// The unit of the values, for a result that grows with the number of values.
    Sum,
    /// The unit of the values, for a distance between values.
    Deviation,
    /// The square of the unit of the values.
    Variance,
    /// No unit: multiples of all values have the same result.
    Ratio,
}

impl Unit {
    /// Whether no result is below zero.
    pub const fn is_from_zero(self) -> bool {
        matches!(self, Unit::Count | Unit::Deviation | Unit::Variance)
    }
}

/// The bound on the error of a statistic, which the module `gridstride::time_series` derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accuracy {
    /// The same on every device.
    Exact,
    /// The unit of a sum.
    Sum,
    /// The unit of a mean.
    Mean,
    /// The unit of a standard deviation.
    Deviation,
    /// The unit of a variance.
    Variance,
    /// The unit of a skewness.
    Skewness,
    /// The unit of a kurtosis.
    Kurtosis,
}
