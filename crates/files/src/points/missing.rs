//! Points that have a value.

use std::borrow::Cow;

use super::Points;
use super::value::is_missing;

/// The points of a column of values that have a value, series after series.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// The timestamps, in nanoseconds since 1970.
    pub timestamps: Cow<'a, [i64]>,
    /// The value of each point. NaN is a value.
    pub values: Cow<'a, [f64]>,
    /// Index of the first point of each series, and at the end the number of points.
    pub offsets: Cow<'a, [usize]>,
}

impl Points {
    /// Returns the points of a column of values without those whose value is missing.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, index: usize) -> Column<'_> {
        let values = &self.values[index];
        if !values.iter().copied().any(is_missing) {
            return Column {
                timestamps: Cow::Borrowed(&self.timestamps),
                values: Cow::Borrowed(values),
                offsets: Cow::Borrowed(&self.offsets),
            };
        }
        let mut kept = (Vec::new(), Vec::new(), vec![0]);
        for range in self.offsets.windows(2) {
            let range = range[0]..range[1];
            let points = self.timestamps[range.clone()].iter().zip(&values[range]);
            for (&timestamp, &value) in points.filter(|(_, value)| !is_missing(**value)) {
                kept.0.push(timestamp);
                kept.1.push(value);
            }
            kept.2.push(kept.0.len());
        }
        Column {
            timestamps: Cow::Owned(kept.0),
            values: Cow::Owned(kept.1),
            offsets: Cow::Owned(kept.2),
        }
    }
}
