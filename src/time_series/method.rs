//! What can be computed of each bucket, and its names.

use std::fmt;
use std::str::FromStr;

pub use time_series_kernels::Statistic;

use crate::{Error, Result};

const PARSE: &str = "method";

/// A column of a result: a statistic of the values of each bucket, or of their rate.
///
/// As text, a method is `count`, `sum`, `mean`, `min`, `max`, `first`, `last`, `std`, `var`,
/// `median`, a percentile as `p95` or `p74.5`, or one of these behind `rate:`.
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

/// A method without the choice between values and rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Statistic(Statistic),
    /// The 50th percentile, whose name is `median`.
    Median,
    Percentile(f64),
}

/// Statistics or percentages, each with the index of its column.
pub(super) type InColumns<T> = Vec<(usize, T)>;

/// Returns the statistics and the percentiles among the methods of the rates, or of the values.
pub(super) fn split(methods: &[Method], are_rates: bool) -> (InColumns<Statistic>, InColumns<f64>) {
    let (mut statistics, mut percents) = (Vec::new(), Vec::new());
    let columns = methods.iter().enumerate();
    for (column, method) in columns.filter(|(_, method)| method.is_rate == are_rates) {
        match method.kind {
            Kind::Statistic(statistic) => statistics.push((column, statistic)),
            Kind::Median => percents.push((column, 50.0)),
            Kind::Percentile(percent) => percents.push((column, percent)),
        }
    }
    (statistics, percents)
}

macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident = $statistic:ident, $text:literal;)*) => {
        impl Method {$(
            $(#[$doc])*
            pub const $name: Method = Method::new(Kind::Statistic(Statistic::$statistic));
        )*}

        const NAMES: [(&str, Method); 10] = [
            $(($text, Method::$name),)*
            ("median", Method::MEDIAN),
        ];
    };
}
statistics! {
    /// The number of values.
    COUNT = Count, "count";
    /// The sum, 0 without values: rounded about once, whatever the number of values, and infinite
    /// only if the exact sum is beyond the range of `f64`.
    SUM = Sum, "sum";
    /// The sum divided by the number of values: finite if all values are finite.
    MEAN = Mean, "mean";
    /// The smallest value. Of zeros with different signs it is the first.
    MIN = Min, "min";
    /// The largest value. Of zeros with different signs it is the first.
    MAX = Max, "max";
    /// The first value.
    FIRST = First, "first";
    /// The last value.
    LAST = Last, "last";
    /// The square root of [`VAR`](Self::VAR), even if the variance is beyond the range of `f64`.
    STD = Std, "std";
    /// The sum of squared deviations from the mean, divided by the number of values less
    /// [`ddof`](super::TimeBuckets::ddof). Exactly 0 for equal values, NaN if a value is infinite
    /// or NaN. The [relative error](super#accuracy) does not depend on the mean.
    VAR = Var, "var";
}

impl Method {
    /// The 50th percentile: the middle value, or the mean of the two middle values.
    pub const MEDIAN: Method = Method::new(Kind::Median);

    /// The value below which `percent` of 100 values are. `percent` must be from 0 to 100.
    ///
    /// As by default in numpy, the percentile of n values in ascending order is at the index
    /// h = (n − 1)·percent/100, interpolated linearly between the neighbours v₀ and v₁ of h as
    /// v₀ + (h − ⌊h⌋)·(v₁ − v₀). If h is an integer or v₀ = v₁, the percentile is v₀, also beside
    /// an infinite value; between −∞ and another value it is NaN. If v₁ − v₀ overflows, the
    /// percentile is v₀·(1 − h + ⌊h⌋) + v₁·(h − ⌊h⌋). In the ascending order −0 comes before 0.
    pub const fn percentile(percent: f64) -> Method {
        // So that -0 is called p0, too.
        Method::new(Kind::Percentile(percent + 0.0))
    }

    /// Returns the same method of the rate: of the difference of each value to the value before it
    /// in the same series, which may be in an earlier bucket. The first value of a series has no
    /// rate, so that there is one rate less than values. Rates may be negative. They are not
    /// divided by the time between the points. They are computed in `f64`, and infinite if they
    /// overflow.
    ///
    /// Rates pass over points that are left out as [duplicates](super::Duplicates), and over
    /// [skipped NaN](super::Nan::Skip). A rate that is NaN itself, as between two equal infinities,
    /// is not skipped: results that depend on it are NaN.
    pub const fn rate(self) -> Method {
        Method {
            is_rate: true,
            ..self
        }
    }

    /// Whether the method is of the rate.
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

    /// Whether the method is a percentile, such as the median.
    pub(crate) fn is_percentile(&self) -> bool {
        !matches!(self.kind, Kind::Statistic(_))
    }

    /// Whether the method needs more values than `ddof`.
    pub(crate) fn needs_degrees_of_freedom(&self) -> bool {
        matches!(self.kind, Kind::Statistic(Statistic::Std | Statistic::Var))
    }

    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        match self.kind {
            Kind::Percentile(percent) if !(0.0..=100.0).contains(&percent) => {
                let message = format!("percentile {percent} is not from 0 to 100");
                Err(Error::input(operation, message))
            }
            _ => Ok(()),
        }
    }
}

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
        // Rust's parser would also take signs, exponents and names of numbers.
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
    let names = NAMES.map(|(name, _)| name).join(", ");
    let message = format!(
        "{text:?} is no method: there are {names}, percentiles as p95 or p74.5, and each behind rate:"
    );
    Error::input(PARSE, message)
}
