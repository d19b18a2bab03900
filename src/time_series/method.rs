//! What is computed of each bucket, and its names.

use std::fmt;
use std::str::FromStr;

pub use time_series_kernels::Statistic;

use crate::{Error, Result};

/// The name of [`Method::from_str`] in errors.
const PARSE: &str = "method";

/// A column of a result: a statistic of the values of each bucket, or of their rate.
///
/// As text a method is `count`, `sum`, `mean`, `min`, `max`, `first`, `last`, `std`, `var`, `median`, a percentile
/// as `p95` or `p74.5`, or one of these behind `rate:`.
///
/// ```
/// use gridstride::time_series::Method;
///
/// assert_eq!("p74.5".parse::<Method>()?, Method::percentile(74.5));
/// assert_eq!("rate:last".parse::<Method>()?, Method::LAST.rate());
/// assert_eq!(Method::MEDIAN.to_string(), "median");
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    kind: Kind,
    is_rate: bool,
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Statistic(Statistic),
    /// With the median's own name.
    Median,
    Percentile(f64),
}

impl Kind {
    /// The percentile, if it is one.
    pub fn percentile(self) -> Option<f64> {
        match self {
            Kind::Statistic(_) => None,
            Kind::Median => Some(50.0),
            Kind::Percentile(percent) => Some(percent),
        }
    }
}

/// What is computed, each with the column that it goes to.
pub(super) type InColumns<T> = Vec<(usize, T)>;

/// The statistics and the percentiles among the methods of the rates, or of the values, each with its column.
pub(super) fn split(methods: &[Method], are_rates: bool) -> (InColumns<Statistic>, InColumns<f64>) {
    let (mut statistics, mut percents) = (Vec::new(), Vec::new());
    for (column, method) in methods.iter().enumerate() {
        if method.is_rate() == are_rates {
            if let Kind::Statistic(statistic) = method.kind() {
                statistics.push((column, statistic));
            } else if let Some(percent) = method.kind().percentile() {
                percents.push((column, percent));
            }
        }
    }
    (statistics, percents)
}

macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident = $statistic:ident;)*) => {$(
        $(#[$doc])*
        pub const $name: Method = Method::new(Kind::Statistic(Statistic::$statistic));
    )*};
}

impl Method {
    statistics! {
        /// How many values there are.
        COUNT = Count;
        /// The sum, 0 without values: rounded once or nearly so, whatever the number of values. It is infinite only if
        /// the exact sum is beyond the range of `f64`.
        SUM = Sum;
        /// The sum divided by the number of values, finite wherever the values are.
        MEAN = Mean;
        /// The smallest value.
        MIN = Min;
        /// The largest value.
        MAX = Max;
        /// The first value.
        FIRST = First;
        /// The last value.
        LAST = Last;
        /// The square root of [`VAR`](Self::VAR), also where the variance itself is beyond the range of `f64`.
        STD = Std;
        /// The sum of squared deviations from the mean, divided by the number of values less the
        /// [degrees of freedom](super::TimeBuckets::ddof). Exactly 0 for equal values, NaN if a value is infinite or NaN.
        ///
        /// The [relative error](super#accuracy) is some units of roundoff, wherever the mean is.
        VAR = Var;
    }

    /// The value in the middle, or the mean of the two in the middle: the 50th percentile.
    pub const MEDIAN: Method = Method::new(Kind::Median);

    /// The value below which `percent` of 100 values are: with n values in ascending order, numbered from 0, that at
    /// h = (n − 1)·percent/100, interpolated linearly between its neighbours v₀ and v₁ as v₀ + (h − ⌊h⌋)·(v₁ − v₀):
    /// the default of numpy. Where h is a whole number, or v₀ = v₁, the percentile is v₀ itself, also beside an infinite
    /// value; between −∞ and another value it is NaN. Where v₁ − v₀ overflows, v₀·(1 − h + ⌊h⌋) + v₁·(h − ⌊h⌋) stands in.
    /// `percent` has to be from 0 to 100.
    pub const fn percentile(percent: f64) -> Method {
        Method::new(Kind::Percentile(percent))
    }

    /// The same of the rate: of the differences of each value to the one before it in the same series, also
    /// where that is in an earlier bucket. The first value of a series has none, and takes no part: its count is one
    /// less. Negative ones count. A difference is not divided by the time between the points. It is taken in `f64`, and
    /// infinite where it overflows.
    ///
    /// Points that are left out as [duplicates](super::Duplicates), and [NaN that is skipped](super::Nan::Skip), are no
    /// values: the rate is that between those on both sides. A rate that is NaN itself, as between two equal
    /// infinities, is a value like others, and what is computed from it is NaN.
    pub const fn rate(self) -> Method {
        Method {
            is_rate: true,
            ..self
        }
    }

    /// Whether it is of the rate.
    pub const fn is_rate(&self) -> bool {
        self.is_rate
    }

    const fn new(kind: Kind) -> Method {
        Method {
            kind,
            is_rate: false,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it needs more values than `ddof`.
    pub(crate) fn needs_degrees_of_freedom(&self) -> bool {
        matches!(self.kind, Kind::Statistic(Statistic::Std | Statistic::Var))
    }

    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        match self.kind.percentile() {
            Some(percent) if !(0.0..=100.0).contains(&percent) => Err(Error::input(
                operation,
                format!("percentile {percent} is not from 0 to 100"),
            )),
            _ => Ok(()),
        }
    }
}

const NAMES: [(&str, Method); 10] = [
    ("count", Method::COUNT),
    ("sum", Method::SUM),
    ("mean", Method::MEAN),
    ("min", Method::MIN),
    ("max", Method::MAX),
    ("first", Method::FIRST),
    ("last", Method::LAST),
    ("std", Method::STD),
    ("var", Method::VAR),
    ("median", Method::MEDIAN),
];

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_rate {
            f.write_str("rate:")?;
        }
        match self.kind {
            Kind::Percentile(percent) => write!(f, "p{percent}"),
            kind => {
                let name = NAMES.iter().find(|(_, method)| method.kind == kind);
                f.write_str(name.expect("all others have a name").0)
            }
        }
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Method> {
        if let Some(rest) = text.strip_prefix("rate:") {
            let method: Method = rest.parse()?;
            if method.is_rate {
                return Err(unknown(text));
            }
            return Ok(method.rate());
        }
        if let Some((_, method)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*method);
        }
        let digits = text.strip_prefix('p').ok_or_else(|| unknown(text))?;
        // Rust's own reading also knows signs, exponents and names of numbers.
        if !digits.starts_with(|c: char| c.is_ascii_digit())
            || !digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        {
            return Err(unknown(text));
        }
        let percent = digits.parse().map_err(|_| unknown(text))?;
        let method = Method::percentile(percent);
        method.check(PARSE)?;
        Ok(method)
    }
}

fn unknown(text: &str) -> Error {
    let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
    Error::input(
        PARSE,
        format!(
            "{text:?} is no method: there are {}, percentiles as p95 or p74.5, and each behind rate:",
            names.join(", ")
        ),
    )
}
