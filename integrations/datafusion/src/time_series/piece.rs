//! The rows of one batch of the input, checked.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, RecordBatch, make_comparator,
};
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::compute::{
    CastOptions, SortOptions, cast_with_options, filter_record_batch, is_not_null,
};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::common::{DataFusionError, Result, exec_err};

use super::parameters::{ColumnNames, EXEC_NAME};

/// Rows of one batch, without those whose value is null.
pub(super) struct Piece {
    /// `None` if all points are one series.
    pub series: Option<ArrayRef>,
    pub timestamps: Int64Array,
    /// `f32` or `f64`, without nulls.
    pub values: ArrayRef,
}

impl Piece {
    /// Checks a batch, and returns its rows whose value is not null; `None` if there are none.
    ///
    /// # Errors
    /// If a series or timestamp is null.
    pub fn new(names: &ColumnNames, batch: &RecordBatch) -> Result<Option<Piece>> {
        let filtered;
        let (keys, values) = match batch.columns() {
            [keys @ .., values] => (keys, values),
            [] => return exec_err!("{EXEC_NAME}: the input has no columns"),
        };
        let key_names = names.series.iter().chain([&names.timestamp]);
        for (array, name) in keys.iter().zip(key_names) {
            let nulls = array.logical_null_count();
            if nulls > 0 {
                return exec_err!(
                    "{EXEC_NAME}: {nulls} of {} rows are null in column {name:?}: a point needs a series and a timestamp; leave these rows out by a view with {name:?} IS NOT NULL",
                    array.len()
                );
            }
        }
        let batch = match values.null_count() {
            0 => batch,
            _ => {
                filtered = filter_record_batch(batch, &is_not_null(values)?)?;
                &filtered
            }
        };
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        let (timestamps, values) = (batch.column(keys.len() - 1), batch.column(keys.len()));
        let options = CastOptions {
            safe: false,
            ..Default::default()
        };
        // Free except for dates of 32 bits and smaller integers.
        let timestamps =
            cast_with_options(timestamps, &DataType::Int64, &options).map_err(|error| {
                DataFusionError::from(error).context(format!(
                    "{EXEC_NAME}: a timestamp in column {:?} is beyond the 64 bits of a signed integer: leave such rows out, or divide all timestamps, in a view",
                    names.timestamp
                ))
            })?;
        Ok(Some(Piece {
            series: (keys.len() == 2).then(|| Arc::clone(batch.column(0))),
            timestamps: timestamps.as_primitive::<Int64Type>().clone(),
            values: Arc::clone(values),
        }))
    }

    pub fn slice(&self, start: usize, len: usize) -> Piece {
        Piece {
            series: self.series.as_ref().map(|series| series.slice(start, len)),
            timestamps: self.timestamps.slice(start, len),
            values: self.values.slice(start, len),
        }
    }

    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Returns the memory of the rows, except the buffers that were counted before, and of their
    /// copy beside those of other pieces.
    pub fn memory(&self, counter: &mut RecordBatchMemoryCounter) -> Result<usize> {
        let timestamps: ArrayRef = Arc::new(self.timestamps.clone());
        let arrays = [Some(&timestamps), Some(&self.values), self.series.as_ref()];
        let arrays = arrays
            .into_iter()
            .flatten()
            .map(|array| ("", Arc::clone(array)));
        let width = self
            .values
            .data_type()
            .primitive_width()
            .unwrap_or_default();
        let copied = self.len() * (size_of::<i64>() + width);
        Ok(counter.count_batch(&RecordBatch::try_from_iter(arrays)?) + copied)
    }

    /// Returns the memory of the series if each row is copied. The values of dictionaries are not
    /// copied for each row.
    pub fn series_memory(&self) -> Result<usize> {
        let Some(series) = &self.series else {
            return Ok(0);
        };
        let views = self.len() * size_of::<u128>();
        Ok(match series.data_type() {
            DataType::Utf8View => views + series.as_string_view().total_buffer_bytes_used(),
            DataType::BinaryView => views + series.as_binary_view().total_buffer_bytes_used(),
            DataType::Dictionary(..) => {
                let keys = series.as_any_dictionary().keys();
                keys.to_data().get_slice_memory_size()?
            }
            _ => series.to_data().get_slice_memory_size()?,
        })
    }

    pub fn value(&self, row: usize) -> f64 {
        match self.values.data_type() {
            DataType::Float32 => f64::from(self.values.as_primitive::<Float32Type>().value(row)),
            _ => self.values.as_primitive::<Float64Type>().value(row),
        }
    }

    /// Returns the first row of each series that begins here, and not in the rows before.
    ///
    /// # Errors
    /// If a series is below the one before it. All rows are compared: a wrong order would give wrong
    /// buckets.
    pub fn first_rows(&self, before: Option<&Piece>) -> Result<Vec<usize>> {
        let Some(series) = &self.series else {
            return Ok(if before.is_none() {
                vec![0]
            } else {
                Vec::new()
            });
        };
        let options = SortOptions::default();
        let mut firsts = Vec::new();
        let begins = match before.and_then(|before| before.series.as_ref()) {
            None => true,
            Some(before) => {
                let order = make_comparator(before, series, options)?(before.len() - 1, 0);
                is_next(order)?
            }
        };
        if begins {
            firsts.push(0);
        }
        let compare = make_comparator(series, series, options)?;
        for row in changes(series)? {
            if is_next(compare(row - 1, row))? {
                firsts.push(row);
            }
        }
        Ok(firsts)
    }
}

/// Returns the rows whose value differs from the one before, and perhaps some whose value does not.
pub(super) fn changes(array: &ArrayRef) -> Result<Vec<usize>> {
    let last = array.len() - 1;
    let views = match array.data_type() {
        DataType::Utf8View => array.as_string_view().views(),
        DataType::BinaryView => array.as_binary_view().views(),
        _ => {
            let differs = distinct(&array.slice(0, last), &array.slice(1, last))?;
            return Ok(differs.values().set_indices().map(|row| row + 1).collect());
        }
    };
    // Equal views of an array are equal texts. Those of dictionaries have one view for each text.
    Ok((1..views.len())
        .filter(|&row| views[row] != views[row - 1])
        .collect())
}

/// Whether a series is another than the one before it.
fn is_next(order: Ordering) -> Result<bool> {
    match order {
        Ordering::Less => Ok(true),
        Ordering::Equal => Ok(false),
        Ordering::Greater => exec_err!(
            "{EXEC_NAME}: the input is not in the order of series and timestamps: is the table's WITH ORDER right?"
        ),
    }
}
