//! Matrices: arrays, and all or some columns of data frames.

use pyo3::prelude::*;

use crate::array::{Argument, promote};
use crate::column::Name;
use crate::columns::cells;
use crate::frames::DataFrame;
use crate::objects::numpy;

/// Reads a matrix: an array, or all columns of a data frame.
pub fn matrix<'py>(
    name: Name,
    object: &Bound<'py, PyAny>,
    possible: &[&str],
) -> PyResult<Argument<'py>> {
    match DataFrame::of(name, object)? {
        Some(frame) => frame.to_array(None, possible),
        None => Argument::new(name.operation, name.argument, object),
    }
}

impl<'py> DataFrame<'py> {
    /// Returns the columns with some names as an array, or all columns. They become one of the dtypes
    /// that are `possible` as different arguments do.
    pub fn to_array(&self, names: Option<&[String]>, possible: &[&str]) -> PyResult<Argument<'py>> {
        let py = self.frame.py();
        let place = |name| self.labels.iter().position(|label| label == name);
        let places = match names {
            Some(names) => names.iter().filter_map(place).collect(),
            None => (0..self.labels.len()).collect::<Vec<_>>(),
        };
        let columns = places.into_iter().map(|place| {
            let column = self.column(place)?;
            cells(self.name, &self.labels[place], &column, possible)
        });
        let mut columns = columns.collect::<PyResult<Vec<_>>>()?;
        promote(&mut columns.iter_mut().collect::<Vec<_>>(), possible)?;
        let arrays = columns.iter().map(Argument::array).collect::<Vec<_>>();
        let array = match arrays.is_empty() {
            true => numpy(py)?.call_method1("empty", ((0, 0),))?,
            false => numpy(py)?.call_method1("column_stack", (arrays,))?,
        };
        Argument::new(self.name.operation, self.name.argument, &array)
    }
}
