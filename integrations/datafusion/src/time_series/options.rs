//! The options of an aggregation as text.

use std::fmt;
use std::str::FromStr;

use datafusion::common::{DataFusionError, Result, plan_err};
use gridstride::time_series::{Duplicates, Fills, Nan, Singletons, TimeBuckets};
use serde::{Deserialize, Serialize};

use crate::error::{choice, message};

/// The options of [`time_buckets`](super::TimeBucketsExt::time_buckets), beside what is computed.
///
/// As text, options are `name=value` with commas between them; those that are not named have their
/// defaults:
///
/// | name | values | default | meaning |
/// |---|---|---|---|
/// | `origin` | a time, or an integer in the column's unit | 1970 | when a bucket begins |
/// | `fill` | `none`, `null`, `previous`, a number; with blanks between them, also for methods, as in `null count=0` | `none` | [buckets without points](Fills) |
/// | `duplicates` | `keep`, `first`, `last` | `keep` | points with [equal timestamps](Duplicates) |
/// | `nan` | `skip`, `propagate` | `skip` | [NaN](Nan) among the values |
/// | `singletons` | `nan`, `drop` | `nan` | buckets [without a variance](Singletons) |
/// | `ddof` | 0, 1, … | 1 | [degrees of freedom](TimeBuckets::ddof) of `var` and `std` |
///
/// ```
/// use gridstride::time_series::Fill;
/// use gridstride_datafusion::time_series::TimeBucketOptions;
///
/// let options: TimeBucketOptions = "fill=previous, origin=2026-01-05".parse()?;
/// assert_eq!(options.fill, Fill::Previous.into());
/// assert_eq!(options.to_string(), "origin=2026-01-05,fill=previous");
/// assert_eq!("".parse::<TimeBucketOptions>()?, TimeBucketOptions::default());
/// # Ok::<(), datafusion::common::DataFusionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeBucketOptions {
    /// When a bucket begins: a time such as `2026-01-31T12:00:00Z`, in UTC unless it has an offset,
    /// or an integer in the unit of the timestamps. `None` is 1970, or the integer 0.
    pub origin: Option<String>,
    /// The rows of buckets without points.
    pub fill: Fills,
    /// How to treat points of a series with equal timestamps.
    pub duplicates: Duplicates,
    /// How to treat NaN among the values.
    pub nan: Nan,
    /// How to treat buckets with at most `ddof` values if a method needs more.
    pub singletons: Singletons,
    /// The delta degrees of freedom of variances and standard deviations.
    pub ddof: u32,
}

impl Default for TimeBucketOptions {
    fn default() -> TimeBucketOptions {
        TimeBucketOptions {
            origin: None,
            fill: Fills::default(),
            duplicates: Duplicates::default(),
            nan: Nan::default(),
            singletons: Singletons::default(),
            ddof: 1,
        }
    }
}

const FUNCTION: &str = "time_buckets";
const NAMES: &str = "origin, fill, duplicates, nan, singletons, ddof";
impl FromStr for TimeBucketOptions {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<TimeBucketOptions> {
        let mut options = TimeBucketOptions::default();
        let mut named = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some((name, value)) = part.split_once('=') else {
                return plan_err!(
                    "time_buckets: option {part:?} is not name=value: the names are {NAMES}"
                );
            };
            let (name, value) = (name.trim(), value.trim());
            if named.contains(&name) {
                return plan_err!("time_buckets: option {name} is given twice");
            }
            named.push(name);
            match name {
                "origin" => options.origin = Some(value.to_owned()),
                "fill" => match value.parse() {
                    Ok(fills) => options.fill = fills,
                    Err(error) => return plan_err!("{FUNCTION}: {}", message(error)),
                },
                "duplicates" => options.duplicates = choice(FUNCTION, value)?,
                "nan" => options.nan = choice(FUNCTION, value)?,
                "singletons" => options.singletons = choice(FUNCTION, value)?,
                "ddof" => match value.parse() {
                    Ok(ddof) => options.ddof = ddof,
                    Err(_) => {
                        return plan_err!(
                            "time_buckets: ddof={value} has to be a whole number from 0 to {}",
                            u32::MAX
                        );
                    }
                },
                _ => {
                    return plan_err!(
                        "time_buckets: there is no option {name:?}: the names are {NAMES}"
                    );
                }
            }
        }
        Ok(options)
    }
}

/// Formats the options that are not the defaults, as they are parsed.
impl fmt::Display for TimeBucketOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let defaults = TimeBucketOptions::default();
        let mut parts = Vec::new();
        if let Some(origin) = &self.origin {
            parts.push(format!("origin={origin}"));
        }
        if self.fill != defaults.fill {
            parts.push(format!("fill={}", self.fill));
        }
        if self.duplicates != defaults.duplicates {
            parts.push(format!("duplicates={}", self.duplicates));
        }
        if self.nan != defaults.nan {
            parts.push(format!("nan={}", self.nan));
        }
        if self.singletons != defaults.singletons {
            parts.push(format!("singletons={}", self.singletons));
        }
        if self.ddof != defaults.ddof {
            parts.push(format!("ddof={}", self.ddof));
        }
        f.write_str(&parts.join(","))
    }
}

impl TryFrom<String> for TimeBucketOptions {
    type Error = DataFusionError;

    fn try_from(text: String) -> Result<TimeBucketOptions> {
        text.parse()
    }
}

impl From<TimeBucketOptions> for String {
    fn from(options: TimeBucketOptions) -> String {
        options.to_string()
    }
}

impl TimeBucketOptions {
    /// Returns the library's aggregation, without filling and origin.
    pub(super) fn apply(&self, buckets: TimeBuckets) -> TimeBuckets {
        buckets
            .duplicates(self.duplicates)
            .nan(self.nan)
            .singletons(self.singletons)
            .ddof(self.ddof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_written() {
        for text in [
            "",
            "origin=2026-01-05T00:00:00Z",
            "fill=null",
            "fill=null count=0,duplicates=last",
            "fill=-2.5,nan=propagate,singletons=drop,ddof=0",
            "fill=previous,duplicates=first,ddof=2",
            "fill=inf",
        ] {
            assert_eq!(text.parse::<TimeBucketOptions>().unwrap().to_string(), text);
        }
        let spaced: TimeBucketOptions = " nan = propagate , fill=none,".parse().unwrap();
        assert_eq!(spaced.to_string(), "nan=propagate");
        let sent = serde_json::to_string(&spaced).unwrap();
        assert_eq!(sent, "\"nan=propagate\"");
        assert_eq!(
            serde_json::from_str::<TimeBucketOptions>(&sent).unwrap(),
            spaced
        );
    }

    #[test]
    fn wrong_options_say_what_is_possible() {
        for (text, part) in [
            (
                "fil=null",
                "there is no option \"fil\": the names are origin, fill",
            ),
            ("null", "option \"null\" is not name=value"),
            (
                "fill=linear",
                "possible are none, null, previous and a number",
            ),
            (
                "duplicates=mean",
                "duplicates is \"mean\", but possible are keep, first and last",
            ),
            (
                "ddof=-1",
                "ddof=-1 has to be a whole number from 0 to 4294967295",
            ),
            (
                "ddof=99999999999",
                "ddof=99999999999 has to be a whole number from 0 to 4294967295",
            ),
            ("nan=skip,nan=skip", "option nan is given twice"),
        ] {
            let message = text
                .parse::<TimeBucketOptions>()
                .unwrap_err()
                .strip_backtrace();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
