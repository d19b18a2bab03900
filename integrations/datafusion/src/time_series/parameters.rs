//! The parameters of a plan node, and the types of its columns.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, plan_err};
use gridstride::time_series::{Fill, Method, TimeBuckets};
use serde::{Deserialize, Serialize};

use super::duration::Resolution;
use super::options::TimeBucketOptions;
use crate::config::DeviceName;
use crate::error::message;

/// The name of the plan node in EXPLAIN and in errors.
pub(super) const EXEC_NAME: &str = "TimeBucketExec";
/// The name of the output's first column, if there are series.
pub(super) const SERIES: &str = "series";
/// The name of the output's column of bucket starts.
pub(super) const TIMESTAMP: &str = "timestamp";
/// The name of the values, which the output does not have.
pub(super) const VALUE: &str = "value";

/// All parameters of a [`TimeBucketExec`](super::TimeBucketExec), in a form that can be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeBucketParameters {
    /// The user's names of the columns, for messages.
    pub names: ColumnNames,
    /// The length of a bucket, in the unit of the timestamps.
    pub every: i64,
    /// When a bucket begins, in the unit of the timestamps.
    pub origin: i64,
    /// The statistics of each bucket: a column each.
    pub methods: Methods,
    /// All other options. Their origin is in [`origin`](Self::origin) instead.
    pub options: TimeBucketOptions,
    /// The device on which the library computes.
    pub device: DeviceName,
    /// The number of rows to gather for a call of the library.
    pub batch_rows: usize,
    /// Whether partitions that are sorted already are merged into one stream.
    pub merge_sorted: bool,
}

/// The user's names of the columns series, which may be missing, timestamp and value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ColumnNames {
    pub series: Option<String>,
    pub timestamp: String,
    pub value: String,
}

impl TimeBucketParameters {
    /// Returns the library's aggregation. Buckets without points are not part of it: the operator
    /// adds them to the output, in batches of bounded size.
    pub(super) fn buckets(&self) -> TimeBuckets {
        let buckets = TimeBuckets::every(self.every).origin(self.origin);
        self.options.apply(buckets.methods(&self.methods.0))
    }

    /// Returns how often buckets are in memory: twice if empty ones are filled in among them.
    pub(super) fn copies_of_buckets(&self) -> usize {
        match self.options.fill.is_none() {
            true => 1,
            false => 2,
        }
    }

    /// Whether a method is of the rate.
    pub(super) fn has_rates(&self) -> bool {
        self.methods.0.iter().any(Method::is_rate)
    }

    /// Returns the output's columns for an input of the columns series, which may be missing,
    /// timestamp and value.
    ///
    /// # Errors
    /// If the parameters or the types are invalid.
    pub(super) fn output_schema(&self, input: &Schema) -> Result<SchemaRef> {
        let (series, timestamp, value) = match &input.fields()[..] {
            [series, timestamp, value] => (Some(series), timestamp, value),
            [timestamp, value] => (None, timestamp, value),
            other => {
                return plan_err!(
                    "{EXEC_NAME}: the input has {} columns, and has to have a series, a timestamp and a value",
                    other.len()
                );
            }
        };
        Resolution::of(timestamp.name(), timestamp.data_type())?;
        if !matches!(value.data_type(), DataType::Float32 | DataType::Float64) {
            return plan_err!("{EXEC_NAME}: values of {}", value.data_type());
        }
        if self.every < 1 || self.batch_rows == 0 {
            return plan_err!(
                "{EXEC_NAME}: every={} and batch_rows={} have to be 1 at least",
                self.every,
                self.batch_rows
            );
        }
        if let Err(error) = self.options.fill.check(SERIES, &self.methods.0) {
            return plan_err!("time_buckets: {}", message(error));
        }
        let mut fields = Vec::new();
        if let Some(series) = series {
            fields.push(Field::new(SERIES, series.data_type().clone(), false));
        }
        fields.push(Field::new(TIMESTAMP, timestamp.data_type().clone(), false));
        for method in &self.methods.0 {
            fields.push(self.column(method)?);
        }
        Ok(Arc::new(Schema::new(fields)))
    }

    fn column(&self, method: &Method) -> Result<Field> {
        let is_count = is_count(method);
        let fill = self.options.fill.of(method);
        if let Fill::Value(number) = fill
            && is_count
            && integer(number).is_none()
        {
            return plan_err!(
                "time_buckets: fill={number} cannot fill the column {method}, which has integers: use an integer, null or previous"
            );
        }
        // Counts always exist, except in empty buckets.
        let nullable = !is_count || fill == Fill::Nan;
        let data_type = match is_count {
            true => DataType::Int64,
            false => DataType::Float64,
        };
        Ok(Field::new(method.to_string(), data_type, nullable))
    }

    /// Formats the parameters with the unit of the timestamps.
    pub(super) fn display(&self, unit: Resolution) -> String {
        let unit = unit.name();
        let ColumnNames {
            series,
            timestamp,
            value,
        } = &self.names;
        let mut text = String::new();
        if let Some(series) = series {
            text += &format!("series={series}, ");
        }
        text += &format!("timestamp={timestamp}, value={value}, ");
        text += &format!("every={}{unit}, methods=[{}]", self.every, self.methods);
        if self.origin != 0 {
            text += &format!(", origin={}{unit}", self.origin);
        }
        if self.options != TimeBucketOptions::default() {
            text += &format!(", {}", self.options);
        }
        text
    }
}

/// Whether the column of a method has integers.
pub(super) fn is_count(method: &Method) -> bool {
    [Method::COUNT, Method::COUNT.rate()].contains(method)
}

/// Returns a number as an integer, if it is one that `f64` holds exactly.
pub(super) fn integer(number: f64) -> Option<i64> {
    let is_exact = number.fract() == 0.0 && number.abs() <= (1u64 << 53) as f64;
    is_exact.then_some(number as i64)
}

/// Methods, as text with commas between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Methods(pub Vec<Method>);

impl Methods {
    /// Reads methods such as `count,mean,p95,rate:max`.
    ///
    /// # Errors
    /// If there are none, or one is unknown or occurs twice.
    pub fn parse(text: &str) -> Result<Methods> {
        let mut methods = Vec::new();
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let method: Method = match name.parse() {
                Ok(method) => method,
                Err(error) => return plan_err!("time_buckets: {error}"),
            };
            if methods.contains(&method) {
                return plan_err!("time_buckets: the method {method} is named twice");
            }
            methods.push(method);
        }
        match methods.is_empty() {
            true => {
                plan_err!("time_buckets: no methods are named: name some, such as 'count,mean'")
            }
            false => Ok(Methods(methods)),
        }
    }
}

impl fmt::Display for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(Method::to_string).collect();
        f.write_str(&names.join(","))
    }
}

impl TryFrom<String> for Methods {
    type Error = DataFusionError;

    fn try_from(text: String) -> Result<Methods> {
        Methods::parse(&text)
    }
}

impl From<Methods> for String {
    fn from(methods: Methods) -> String {
        methods.to_string()
    }
}
