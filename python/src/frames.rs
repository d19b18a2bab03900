//! Data frames of pandas and polars, and tables of pyarrow.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::column::{self, Name};
use crate::objects::is_of;

/// A data frame of pandas or polars, or a table of pyarrow.
pub struct DataFrame<'py> {
    pub name: Name,
    pub frame: Bound<'py, PyAny>,
    /// The columns' names, as texts.
    pub labels: Vec<String>,
    /// The columns' names; `None` if they are numbers, as those of arrays that became frames.
    pub names: Option<Vec<String>>,
}

/// Returns the first integer of a column or a table that is not exact in float64, with its row; `None`
/// for objects of other packages than pandas, polars and pyarrow.
pub fn first_inexact(object: &Bound<'_, PyAny>) -> PyResult<Option<(usize, String)>> {
    let name = Name {
        operation: "",
        argument: "",
    };
    if !(is_of(object, "pandas")? || is_of(object, "polars")? || is_of(object, "pyarrow")?) {
        return Ok(None);
    }
    let Some(frame) = DataFrame::of(name, object)? else {
        return column::first_inexact(object);
    };
    for place in 0..frame.labels.len() {
        let found = column::first_inexact(&frame.column(place)?)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

impl<'py> DataFrame<'py> {
    /// Takes an object if it is a data frame.
    pub fn of(name: Name, object: &Bound<'py, PyAny>) -> PyResult<Option<DataFrame<'py>>> {
        let py = object.py();
        if is_of(object, "polars")? && object.hasattr(intern!(py, "collect"))? {
            return Err(PyTypeError::new_err(format!(
                "{}: {} is a {}: call its collect() first",
                name.operation,
                name.argument,
                object.get_type().name()?
            )));
        }
        let names = match object.getattr_opt(intern!(py, "column_names"))? {
            Some(names) => names,
            None if object.hasattr(intern!(py, "to_numpy"))? => {
                match object.getattr_opt(intern!(py, "columns"))? {
                    Some(names) => names,
                    None => return Ok(None),
                }
            }
            None => return Ok(None),
        };
        let names = names.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let labels = names.iter().map(ToString::to_string).collect();
        let names = names.iter().map(|name| name.extract().ok());
        let names = names.collect::<Option<Vec<String>>>();
        let is_number = |(index, name): (usize, &String)| *name == format!("column_{index}");
        let names = names.filter(|names| !names.iter().enumerate().all(is_number));
        Ok(Some(DataFrame {
            name,
            frame: object.clone(),
            labels,
            names,
        }))
    }

    pub fn column(&self, place: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.frame.py();
        if let Some(rows_and_columns) = self.frame.getattr_opt(intern!(py, "iloc"))? {
            return rows_and_columns.get_item((PySlice::full(py), place));
        }
        let method = match self.frame.hasattr(intern!(py, "to_series"))? {
            true => "to_series",
            false => "column",
        };
        self.frame.call_method1(method, (place,))
    }
}
