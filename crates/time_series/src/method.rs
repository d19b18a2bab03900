//! The statistics of a bucket, and their names.

use std::fmt;
use std::str::FromStr;

use gridstride_runtime::{Error, Result};
pub use time_series_kernels::{Accuracy, Statistic, Unit};
use time_series_kernels::{State, for_each_statistic};

const PARSE: &str = "method";

/// A column of a result: a statistic of the values of each bucket, or of their rate.
///
/// As text, a method is the name of one of [`ALL`](Self::ALL), such as `mean`, a percentile as `p95`
/// or `p74.5`, or one of these behind `rate:`. Percentiles are equal if their percentages have the same
/// bits, so methods can be keys of maps.
///
/// ```
/// use gridstride::time_series::Method;
///
/// assert_eq!("p74.5".parse::<Method>()?, Method::percentile(74.5));
/// assert_eq!("rate:last".parse::<Method>()?, Method::LAST.rate());
/// assert_eq!(Method::MEDIAN.to_string(), "median");
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    kind: Kind,
    is_rate: bool,
}

/// A method without the choice between values and rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Statistic(Statistic),
    /// The 50th percentile, whose name is `median`.
    Median,
    Percentile(Percent),
}

/// A percentage. It is compared by its bits: equality of `f64` has no `Eq`, and every percentage but NaN,
/// which calls refuse, has the same bits if it is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Percent(u64);

impl Percent {
    pub(crate) const fn new(percent: f64) -> Percent {
        // So that -0 is called p0, too.
        Percent((percent + 0.0).to_bits())
    }

    pub(crate) const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Debug for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Returns the smallest state that has all statistics of these methods.
pub(super) fn state(methods: &[Method]) -> State {
    State::of(methods.iter().filter_map(Method::statistic))
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
            Kind::Percentile(percent) => percents.push((column, percent.get())),
        }
    }
    (statistics, percents)
}

macro_rules! constants {
    ($($(#[doc = $doc:literal])* $name:ident = $statistic:ident, $text:literal, $($row:tt),*;)*) => {
        impl Method {
            $(
                $(#[doc = $doc])*
                pub const $name: Method = Method::new(Kind::Statistic(Statistic::$statistic));
            )*

            /// All methods of values that have a constant. Beside these there are
            /// [percentiles](Self::percentile) and the [rate](Self::rate) of each method.
            ///
            $(#[doc = concat!("- `", $text, "`:", $($doc),*)])*
            /// - `median`: the 50th percentile.
            pub const ALL: &[Method] = &[$(Method::$name,)* Method::MEDIAN];
        }
    };
}
for_each_statistic!(constants);

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
        Method::new(Kind::Percentile(Percent::new(percent)))
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

    /// Returns what the method is, as sentences. A method of rates has the sentences of the same method
    /// of values.
    ///
    /// ```
    /// use gridstride::time_series::Method;
    ///
    /// assert_eq!(Method::COUNT.rate().documentation(), "The number of values.");
    /// ```
    pub fn documentation(&self) -> &'static str {
        match self.kind {
            Kind::Statistic(statistic) => statistic.documentation(),
            Kind::Median => {
                "The 50th percentile: the middle value, or the mean of the two middle values."
            }
            Kind::Percentile(_) => {
                "The value below which this percentage of the values is, interpolated linearly."
            }
        }
    }

    /// Returns the names of [`ALL`](Self::ALL) with commas between them, for messages.
    ///
    /// ```
    /// use gridstride::time_series::Method;
    ///
    /// assert!(Method::names().starts_with("count, sum, mean, "));
    /// ```
    pub fn names() -> String {
        let names: Vec<_> = Method::ALL.iter().map(Method::to_string).collect();
        names.join(", ")
    }

    /// Returns what the results count or measure. A method of rates has the unit of the same method of
    /// values.
    pub fn unit(&self) -> Unit {
        self.statistic().map_or(Unit::Value, Statistic::unit)
    }

    /// Returns the [bound](super#accuracy) on the error of results.
    pub fn accuracy(&self) -> Accuracy {
        self.statistic()
            .map_or(Accuracy::Exact, Statistic::accuracy)
    }

    /// Returns the statistic, unless the method is a percentile.
    pub(super) fn statistic(&self) -> Option<Statistic> {
        match self.kind {
            Kind::Statistic(statistic) => Some(statistic),
            Kind::Median | Kind::Percentile(_) => None,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the method is a percentile, such as the median.
    pub(crate) fn is_percentile(&self) -> bool {
        self.statistic().is_none()
    }

    /// Whether the method needs more values than `ddof`.
    pub(crate) fn needs_degrees_of_freedom(&self) -> bool {
        self.statistic()
            .is_some_and(Statistic::needs_degrees_of_freedom)
    }

    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        match self.kind {
            Kind::Percentile(percent) if !(0.0..=100.0).contains(&percent.get()) => {
                let message = format!("percentile {} is not from 0 to 100", percent.get());
                Err(Error::input(operation, message))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = if self.is_rate { "rate:" } else { "" };
        f.pad(&match self.kind {
            Kind::Statistic(statistic) => format!("{rate}{}", statistic.name()),
            Kind::Median => format!("{rate}median"),
            Kind::Percentile(percent) => format!("{rate}p{}", percent.get()),
        })
    }
}

gridstride_runtime::serialize_by_name!(Method);

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
        let mut named = Method::ALL.iter();
        if let Some(method) = named.find(|method| method.to_string() == text) {
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
    let names = Method::names();
    let message = format!(
        "{text:?} is no method: there are {names}, percentiles as p95 or p74.5, and each behind rate:"
    );
    Error::input(PARSE, message)
}
