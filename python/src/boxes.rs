//! Boxes as arguments: arrays by position, and data frames by the names of their columns.

use gridstride::ndarray::Ix2;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::array::{Argument, Input, promote};
use crate::column::Name;
use crate::error::at_index;
use crate::frames::DataFrame;
use crate::number::Number;
use crate::objects::numpy;

/// The start of each row among the indices, the indices, and the numbers of boxes of both sets.
pub type Pairs<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, (usize, usize));

/// The dtypes of boxes.
const DTYPES: [&str; 3] = ["float32", "float64", "int32"];

/// One or two sets of boxes of any dtype.
pub type Sets<'py> = (Argument<'py>, Option<Argument<'py>>);

/// The boxes of one or two sets, for a call on any thread.
pub struct Boxes<T: 'static> {
    pub set1: Input<T, Ix2>,
    pub set2: Option<Input<T, Ix2>>,
}

impl<T: Number> Boxes<T> {
    pub fn of((set1, set2): &Sets<'_>) -> PyResult<Boxes<T>> {
        let set2 = set2.as_ref().map(|set2| set2.input(None));
        Ok(Boxes {
            set1: set1.input(None)?,
            set2: set2.transpose()?,
        })
    }

    /// Returns the number of boxes of the second set, or of the only one.
    pub fn others(&self) -> usize {
        self.set2.as_ref().unwrap_or(&self.set1).view().nrows()
    }

    /// Returns the number of pairs of boxes, overlapping or not.
    pub fn operations(&self) -> f64 {
        self.set1.view().nrows() as f64 * self.others() as f64
    }
}

/// Reads one or two sets of boxes of one dtype.
pub fn read<'py>(
    operation: &'static str,
    set1: &Bound<'py, PyAny>,
    set2: Option<&Bound<'py, PyAny>>,
) -> PyResult<Sets<'py>> {
    // As the library calls a single set.
    let single = if set2.is_some() { "set1" } else { "set" };
    let mut set1 = argument(operation, ["set1", single], set1)?;
    let set2 = set2.map(|set2| argument(operation, ["set2"; 2], set2));
    let Some(mut set2) = set2.transpose()? else {
        set1.fill_empty(None)?;
        promote(&mut [&mut set1], &DTYPES)?;
        return Ok((set1, None));
    };
    set1.fill_empty(Some(&set2))?;
    set2.fill_empty(Some(&set1))?;
    promote(&mut [&mut set1, &mut set2], &DTYPES)?;
    Ok((set1, Some(set2)))
}

/// Reads an argument. The second name is that of the set, for errors about a row.
fn argument<'py>(
    operation: &'static str,
    [name, set]: [&'static str; 2],
    boxes: &Bound<'py, PyAny>,
) -> PyResult<Argument<'py>> {
    let argument = Name {
        operation,
        argument: name,
    };
    let Some(frame) = DataFrame::of(argument, boxes)? else {
        return Argument::new(operation, name, boxes);
    };
    let Some(names) = &frame.names else {
        return frame.to_array(None, &DTYPES);
    };
    let columns = columns(names).map_err(|message| {
        PyValueError::new_err(format!("{operation}: {name} is a data frame: {message}"))
    })?;
    let array = frame.to_array(Some(&columns), &DTYPES)?;
    require_upright(operation, set, &columns, array.array())?;
    Ok(array)
}

/// Returns the columns of the coordinates in their order, or what is wrong with the names.
fn columns(names: &[String]) -> Result<Vec<String>, String> {
    let places = files::boxes::find(names, [None; 6]).map_err(|mismatch| {
        let names = names.join(", ");
        format!("{}: the columns are {names}", mismatch.what)
    })?;
    let columns: Vec<_> = places
        .iter()
        .map(|&(_, place)| names[place].clone())
        .collect();
    match names.iter().find(|name| !columns.contains(name)) {
        None => Ok(columns),
        Some(other) => Err(format!(
            "the column {other:?} is no coordinate beside the others: select {}",
            columns.join(", ")
        )),
    }
}

/// Refuses boxes of images, whose y grows downwards, with a bottom that is above the top.
fn require_upright(
    operation: &'static str,
    name: &str,
    columns: &[String],
    array: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = array.py();
    let [min, max] = [1, 1 + columns.len() / 2];
    if !files::boxes::are_of_image(&columns[min], &columns[max]) {
        return Ok(());
    }
    let column = |place: usize| array.get_item((PySlice::full(py), place));
    let wrong = column(min)?.rich_compare(column(max)?, CompareOp::Gt)?;
    let wrong = numpy(py)?.call_method1("flatnonzero", (wrong,))?;
    if wrong.len()? == 0 {
        return Ok(());
    }
    let row: usize = wrong.get_item(0)?.extract()?;
    let (min, max) = (&columns[min], &columns[max]);
    let message = format!(
        "{operation}: row {row} of {name} is no box: {min} is above {max}; if y grows downwards, as in images, \
         rename {max} to minY and {min} to maxY"
    );
    Err(at_index(py, PyValueError::new_err(message), row))
}
