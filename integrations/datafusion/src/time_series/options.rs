//! The options of an aggregation as text.

use std::fmt;
use std::str::FromStr;

use datafusion::common::{DataFusionError, Result, plan_err};
use gridstride::time_series::{Duplicates, Fills, Nan, Singletons, TimeBuckets};
use serde::{Deserialize, Serialize};

use crate::error::{choice, message};

const FUNCTION: &str = "time_buckets";

/// The value of an option as text.
trait Value: Sized + PartialEq {
    /// Reads the value of the option `name`.
    fn read(name: &str, text: &str) -> Result<Self>;

    /// Returns the text that is read as this value, which is not the default.
    fn written(&self) -> String;
}

impl Value for Option<String> {
    fn read(_: &str, text: &str) -> Result<Self> {
        Ok(Some(text.to_owned()))
    }

    fn written(&self) -> String {
        self.clone().unwrap_or_default()
    }
}

impl Value for Fills {
    fn read(_: &str, text: &str) -> Result<Self> {
        let fills = text.parse();
        fills.or_else(|error| plan_err!("{FUNCTION}: {}", message(error)))
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

impl Value for u32 {
    fn read(name: &str, text: &str) -> Result<Self> {
        let most = u32::MAX;
        text.parse().or_else(|_| {
            plan_err!("{FUNCTION}: {name}={text} has to be a whole number from 0 to {most}")
        })
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

/// Implements [`Value`] for choices.
macro_rules! choices {
    ($($choice:ty),*) => {$(
        impl Value for $choice {
            fn read(_: &str, text: &str) -> Result<Self> {
                choice(FUNCTION, text)
            }

            fn written(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

choices!(Duplicates, Nan, Singletons);

/// Makes a struct of options with their defaults, which is parsed and formatted by their names.
macro_rules! options {
    (
        $(#[$of_struct:meta])*
        pub struct $options:ident {
            $($(#[$of_field:meta])* pub $name:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$of_struct])*
        pub struct $options {
            $($(#[$of_field])* pub $name: $type,)*
        }

        impl Default for $options {
            fn default() -> $options {
                $options { $($name: $default,)* }
            }
        }

        impl $options {
            const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Sets an option; false if there is no such option.
            fn set(&mut self, name: &str, text: &str) -> Result<bool> {
                $(if name == stringify!($name) {
                    self.$name = Value::read(name, text)?;
                    return Ok(true);
                })*
                Ok(false)
            }
        }

        /// Formats the options that are not the defaults, as they are parsed.
        impl fmt::Display for $options {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let defaults = $options::default();
                let mut parts = Vec::new();
                $(if self.$name != defaults.$name {
                    parts.push(format!("{}={}", stringify!($name), self.$name.written()));
                })*
                f.write_str(&parts.join(","))
            }
        }
    };
}

options! {
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
        pub origin: Option<String> = None,
        /// The rows of buckets without points.
        pub fill: Fills = Fills::default(),
        /// How to treat points of a series with equal timestamps.
        pub duplicates: Duplicates = Duplicates::default(),
        /// How to treat NaN among the values.
        pub nan: Nan = Nan::default(),
        /// How to treat buckets with at most `ddof` values if a method needs more.
        pub singletons: Singletons = Singletons::default(),
        /// The delta degrees of freedom of variances and standard deviations.
        pub ddof: u32 = 1,
    }
}

impl FromStr for TimeBucketOptions {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<TimeBucketOptions> {
        let names = TimeBucketOptions::NAMES.join(", ");
        let mut options = TimeBucketOptions::default();
        let mut named = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some((name, value)) = part.split_once('=') else {
                return plan_err!(
                    "{FUNCTION}: option {part:?} is not name=value: the names are {names}"
                );
            };
            let (name, value) = (name.trim(), value.trim());
            if named.contains(&name) {
                return plan_err!("{FUNCTION}: option {name} is given twice");
            }
            named.push(name);
            if !options.set(name, value)? {
                return plan_err!("{FUNCTION}: there is no option {name:?}: the names are {names}");
            }
        }
        Ok(options)
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
