//! Data frames and tables as arguments that are matrices: pandas, polars and pyarrow.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::array::numpy;

/// A data frame of pandas or polars, or a table of pyarrow.
pub struct DataFrame<'py> {
    frame: Bound<'py, PyAny>,
    /// The columns' names; `None` if they are numbers, as those of arrays that became frames.
    pub names: Option<Vec<String>>,
}

impl<'py> DataFrame<'py> {
    /// Takes an object if it is a data frame.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<DataFrame<'py>>> {
        let py = object.py();
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
        let names = names.try_iter()?.map(|name| Ok(name?.extract().ok()));
        let names = names.collect::<PyResult<Option<Vec<String>>>>()?;
        let is_number = |(index, name): (usize, &String)| *name == format!("column_{index}");
        let names = names.filter(|names| !names.iter().enumerate().all(is_number));
        Ok(Some(DataFrame {
            frame: object.clone(),
            names,
        }))
    }

    /// Returns the columns with some names as an array, or all columns.
    pub fn to_array(&self, names: Option<&[String]>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.frame.py();
        let frame = &self.frame;
        let is_polars = frame.hasattr(intern!(py, "lazy"))?;
        let is_arrow = frame.hasattr(intern!(py, "column_names"))?;
        let selected = match names {
            Some(names) if is_polars || is_arrow => {
                frame.call_method1("select", (names.to_vec(),))?
            }
            Some(names) => frame.get_item(PyList::new(py, names)?)?,
            None => frame.clone(),
        };
        if !is_arrow {
            return selected.call_method0("to_numpy");
        }
        let columns = selected.getattr("columns")?.try_iter()?;
        let columns = columns.map(|column| numpy(py)?.call_method1("asarray", (column?,)));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        numpy(py)?.call_method1("column_stack", (columns,))
    }
}
