//! Sessions, results, and random points.

use std::sync::Arc;

use datafusion::arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext, col};
use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride_datafusion::config::{self, DeviceName, set_default_device};

/// Returns a session on the CPU with a number of partitions.
pub fn session(partitions: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(partitions);
    let ctx = SessionContext::new_with_config(config);
    gridstride_datafusion::register(&ctx).unwrap();
    set(&ctx, "gridstride.device", "cpu");
    ctx
}

/// Sets an option.
pub fn set(ctx: &SessionContext, name: &str, value: &str) {
    let state = ctx.state_ref();
    let mut state = state.write();
    state.config_mut().options_mut().set(name, value).unwrap();
}

/// Makes a simulator with little memory the device of `auto` in this process, and returns it.
pub fn limited_device() -> Device {
    // False after the first test.
    let _ = set_default_device(Device::simulator().unwrap().with_memory_limit(128 << 10));
    let device = config::open(DeviceName::Auto).unwrap();
    assert_eq!(
        (device.kind(), device.memory_limit()),
        (DeviceKind::Simulator, Some(128 << 10))
    );
    device
}

/// Returns the rows of a query.
pub async fn rows(ctx: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    ctx.sql(sql).await.unwrap().collect().await.unwrap()
}

/// Returns the rows of a query as text.
pub async fn text(ctx: &SessionContext, sql: &str) -> String {
    pretty_format_batches(&rows(ctx, sql).await)
        .unwrap()
        .to_string()
}

/// Returns the message of a query that fails, in planning or in running.
pub async fn error(ctx: &SessionContext, sql: &str) -> String {
    let error = match ctx.sql(sql).await {
        Ok(frame) => match frame.collect().await {
            Ok(found) => panic!("{sql}:\n{}", pretty_format_batches(&found).unwrap()),
            Err(error) => error,
        },
        Err(error) => error,
    };
    error.strip_backtrace()
}

/// A point: the series, the timestamp and the value.
pub type Point = (String, i64, Option<f64>);

/// Returns a batch of the columns s, t and v.
pub fn batch(points: &[Point]) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("s", DataType::Utf8, true),
        Field::new("t", DataType::Int64, true),
        Field::new("v", DataType::Float64, true),
    ]);
    let series = points.iter().map(|point| Some(&point.0));
    let timestamps = points.iter().map(|point| Some(point.1));
    let values = points.iter().map(|point| point.2);
    let columns: Vec<datafusion::arrow::array::ArrayRef> = vec![
        Arc::new(StringArray::from_iter(series)),
        Arc::new(Int64Array::from_iter(timestamps)),
        Arc::new(Float64Array::from_iter(values)),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

/// Registers a table of partitions of batches, which may be declared to be in the order of s and t.
pub fn register(ctx: &SessionContext, table: &str, data: Vec<Vec<RecordBatch>>, is_sorted: bool) {
    let schema = data
        .iter()
        .flatten()
        .next()
        .expect("there is a batch")
        .schema();
    let mut provider = MemTable::try_new(schema, data).unwrap();
    if is_sorted {
        let key = |name: &str| col(name).sort(true, false);
        provider = provider.with_sort_order(vec![vec![key("s"), key("t")]]);
    }
    ctx.deregister_table(table).unwrap();
    ctx.register_table(table, Arc::new(provider)).unwrap();
}

/// Random numbers: xorshift64*.
pub struct Random(pub u64);

impl Random {
    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// Whether something of a probability of one in `odds` happens.
    pub fn happens(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    /// Brings elements in a random order.
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        for end in (1..elements.len()).rev() {
            elements.swap(end, self.below(end as u64 + 1) as usize);
        }
    }

    /// Cuts elements in at most `parts` parts.
    pub fn cut<'a, T>(&mut self, elements: &'a [T], parts: usize) -> Vec<&'a [T]> {
        let mut cuts: Vec<_> = (1..parts)
            .map(|_| self.below(elements.len() as u64 + 1) as usize)
            .collect();
        cuts.extend([0, elements.len()]);
        cuts.sort();
        cuts.windows(2)
            .map(|cut| &elements[cut[0]..cut[1]])
            .collect()
    }

    /// Returns points in the order of series and timestamps, of few long and many short series.
    /// Values are small integers, so that sums are exact; some are null or NaN.
    pub fn points(&mut self, count: usize, has_duplicates: bool) -> Vec<Point> {
        let mut points = Vec::with_capacity(count);
        for index in 0..count {
            let series = match self.below(3) {
                0 => "long".to_owned(),
                1 => format!("short {}", self.below(count as u64)),
                _ => format!("middle {}", self.below(5)),
            };
            let time = match has_duplicates {
                true => self.below(count as u64) as i64,
                false => index as i64,
            };
            let value = match self.below(12) {
                0 => None,
                1 => Some(f64::NAN),
                value => Some(value as f64 - 6.0),
            };
            points.push((series, 3 * time - count as i64, value));
        }
        points.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        points
    }
}
