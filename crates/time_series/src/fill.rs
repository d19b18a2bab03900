//! The results of buckets without points.

use std::fmt;
use std::str::FromStr;

use gridstride_runtime::{Error, Result};

use super::method::Method;

/// The result of a method for the buckets without points between a series' first and last bucket.
///
/// As text, these are `none`, `null`, a number and `previous`; `nan` is read as `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fill {
    /// Such buckets are left out.
    #[default]
    None,
    /// There is no result, which is NaN in columns of numbers.
    Nan,
    /// A number.
    Value(f64),
    /// The last result before the bucket that is not NaN, in the same series and column. Without
    /// such a result, NaN.
    Previous,
}

/// The results of all methods for the buckets without points.
///
/// A [`Fill`] is the same result for all methods. [`with`](Self::with) sets the result of one
/// method, and the methods without a result then have NaN, unless a `Fill` says otherwise.
///
/// As text, fills are separated by commas or white space. One of a method has the name of the method
/// in front.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Fill, Fills, Method, TimeBuckets};
/// use ndarray::array;
///
/// let fills = Fills::from(Fill::Previous).with(Method::COUNT, Fill::Value(0.0));
/// assert_eq!("previous,count=0".parse::<Fills>()?, fills);
/// let found = TimeBuckets::every(1)
///     .methods(&[Method::COUNT, Method::MAX])
///     .fill(fills)
///     .aggregate(&Device::cpu(), array![0, 2].view(), array![7.0, 8.0].view())?;
/// assert_eq!(found.column(0), array![1.0, 0.0, 1.0]);
/// assert_eq!(found.column(1), array![7.0, 7.0, 8.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fills {
    all: Fill,
    each: Vec<(Method, Fill)>,
}

impl Fills {
    /// Sets the result of one method. [`Fill::None`] is then the same as [`Fill::Nan`], since a bucket
    /// is left out in all columns or in none.
    pub fn with(mut self, method: Method, fill: Fill) -> Fills {
        self.each.retain(|(other, _)| *other != method);
        self.each.push((method, fill));
        self
    }

    /// Returns whether buckets without points are left out.
    pub fn is_none(&self) -> bool {
        self.all == Fill::None && self.each.is_empty()
    }

    /// Returns the result of a method. It is [`Fill::None`] only if buckets without points are left
    /// out.
    ///
    /// ```
    /// use gridstride::time_series::{Fill, Fills, Method};
    ///
    /// let fills = Fills::default().with(Method::COUNT, Fill::Value(0.0));
    /// assert_eq!(fills.of(&Method::COUNT), Fill::Value(0.0));
    /// assert_eq!(fills.of(&Method::MEAN), Fill::Nan);
    /// ```
    pub fn of(&self, method: &Method) -> Fill {
        let found = self.each.iter().find(|(other, _)| other == method);
        match found.map_or(self.all, |(_, fill)| *fill) {
            Fill::None if !self.is_none() => Fill::Nan,
            fill => fill,
        }
    }

    /// Checks that only `methods` have results of their own.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] with the name of the operation, for another method.
    pub fn check(&self, operation: &'static str, methods: &[Method]) -> Result<()> {
        let is_missing = |(method, _): &&(Method, Fill)| !methods.contains(method);
        match self.each.iter().find(is_missing) {
            None => Ok(()),
            Some((method, _)) => {
                let message =
                    format!("fill has a result of {method}, which is no method of the call");
                Err(Error::input(operation, message))
            }
        }
    }
}

impl From<Fill> for Fills {
    fn from(all: Fill) -> Fills {
        Fills {
            all,
            each: Vec::new(),
        }
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fill::None => f.pad("none"),
            Fill::Nan => f.pad("null"),
            Fill::Value(number) => f.pad(&number.to_string()),
            Fill::Previous => f.pad("previous"),
        }
    }
}

impl FromStr for Fill {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fill> {
        Ok(match text {
            "none" => Fill::None,
            "null" => Fill::Nan,
            "previous" => Fill::Previous,
            _ => match text.parse::<f64>() {
                Ok(number) if number.is_nan() => Fill::Nan,
                // Infinity may be meant.
                Ok(number)
                    if number.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) =>
                {
                    let message = format!("fill is {text:?}, which is out of the range of f64");
                    return Err(Error::input("Fill::from_str", message));
                }
                Ok(number) if is_rounded(text.as_bytes(), number) => {
                    let message = format!(
                        "fill is {text:?}, which f64 does not have: the nearest number is {number}"
                    );
                    return Err(Error::input("Fill::from_str", message));
                }
                Ok(number) => Fill::Value(number),
                Err(_) => {
                    let message = format!(
                        "fill is {text:?}, but possible are none, null, previous and a number, or \
                         these for a method, as in count=0,mean=null"
                    );
                    return Err(Error::input("Fill::from_str", message));
                }
            },
        })
    }
}

/// The size up to which `f64` holds all integers, 2⁵³. Readers of files use it too.
#[doc(hidden)]
pub const MAX_EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

/// Returns whether a text is another number than `value`, the nearest f64. Only numbers of at least
/// 2⁵³ in size are looked at: smaller ones are fractions that hardly any f64 has.
///
/// However the number is written, its digits are compared with those of `value`. With an exponent, the
/// fewest digits that read back as `value` are no other number, since programs write an f64 so.
///
/// ```
/// use gridstride::time_series::is_rounded;
///
/// assert!(is_rounded(b"9007199254740993", 9007199254740992.0));
/// assert!(is_rounded(b"9.007199254740993e15", 9007199254740992.0));
/// assert!(is_rounded(b"-9007199254740994.5", -9007199254740994.0));
/// assert!(!is_rounded(b"9007199254740994.0", 9007199254740994.0));
/// assert!(!is_rounded(b"9e300", 9e300));
/// assert!(!is_rounded(b"0.1", 0.1));
/// ```
#[doc(hidden)]
#[inline]
pub fn is_rounded(text: &[u8], value: f64) -> bool {
    value.abs() >= MAX_EXACT && value.is_finite() && is_other(text, value)
}

/// Compares the digits of a number with those of the nearest, which has the same power of ten.
#[cold]
fn is_other(text: &[u8], value: f64) -> bool {
    let digits = |number: &str| {
        let number = number.trim_start_matches(['-', '+']);
        let (digits, _) = number.split_once(['e', 'E']).unwrap_or((number, ""));
        digits.replace('.', "").trim_matches('0').to_owned()
    };
    let text = String::from_utf8_lossy(text);
    let written = digits(&text);
    let is_shortest = || text.contains(['e', 'E']) && written == digits(&format!("{value:e}"));
    written != digits(&format!("{value:.0}")) && !is_shortest()
}

/// Formats the fills as they are parsed, separated by blanks.
impl fmt::Display for Fills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = (self.all != Fill::None || self.each.is_empty()).then(|| self.all.to_string());
        let each = self.each.iter();
        let each = each.map(|(method, fill)| format!("{method}={fill}"));
        f.pad(&all.into_iter().chain(each).collect::<Vec<_>>().join(" "))
    }
}

impl FromStr for Fills {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fills> {
        let (mut fills, mut has_all) = (Fills::default(), false);
        let refuse = |message| Err(Error::input("Fills::from_str", message));
        let parts = text.split(|c: char| c == ',' || c.is_whitespace());
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        for part in &parts {
            match part.split_once('=') {
                None if has_all => {
                    return refuse(format!("fill has two results for all methods: {text}"));
                }
                None => (fills.all, has_all) = (part.parse()?, true),
                Some((method, fill)) => {
                    let (method, fill) = (method.parse()?, fill.parse()?);
                    if fills.each.iter().any(|(other, _)| *other == method) {
                        return refuse(format!("fill has two results of {method}: {text}"));
                    }
                    fills.each.push((method, fill));
                }
            }
        }
        match parts.is_empty() {
            // The sentence about an empty text.
            true => text.trim().parse::<Fill>().map(Fills::from),
            false => Ok(fills),
        }
    }
}

gridstride_runtime::serialize_by_name!(Fill);
gridstride_runtime::serialize_by_name!(Fills);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_are_read_as_they_are_formatted() {
        for text in [
            "none",
            "null",
            "previous",
            "-2.5",
            "count=0",
            "previous count=0 rate:p95=null",
        ] {
            let fills: Fills = text.parse().unwrap();
            assert_eq!(fills.to_string(), text);
            assert_eq!(text.replace(' ', ", ").parse::<Fills>().unwrap(), fills);
        }
        assert_eq!("nan".parse::<Fill>().unwrap(), Fill::Nan);
        for (text, part) in [
            ("", "but possible are none, null, previous and a number"),
            ("next", "fill is \"next\", but possible are"),
            (
                "-1e400",
                "fill is \"-1e400\", which is out of the range of f64",
            ),
            (
                "9007199254740993",
                "fill is \"9007199254740993\", which f64 does not have: the nearest number is 9007199254740992",
            ),
            ("mean=-9.007199254740993e15", "which f64 does not have"),
            ("count=", "fill is \"\", but possible are"),
            ("counts=0", "\"counts\" is no method"),
            ("0 null", "two results for all methods"),
            ("count=0 count=1", "two results of count"),
        ] {
            let message = text.parse::<Fills>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
