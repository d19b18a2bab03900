//! Boxes as arguments: arrays by position, and data frames by the names of their columns.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{Argument, promote};
use crate::columns::Name;
use crate::frames::DataFrame;

/// The coordinates, in the order in which boxes have them, with three axes and with two.
const COORDINATES: [&str; 6] = ["minX", "minY", "minZ", "maxX", "maxY", "maxZ"];

/// The dtypes of boxes.
const DTYPES: [&str; 3] = ["float32", "float64", "int32"];

/// Other names, without underscores and in lower case.
const ALIASES: [(&str, &str); 14] = [
    ("xmin", "minX"),
    ("left", "minX"),
    ("west", "minX"),
    ("ymin", "minY"),
    ("bottom", "minY"),
    ("south", "minY"),
    ("zmin", "minZ"),
    ("xmax", "maxX"),
    ("right", "maxX"),
    ("east", "maxX"),
    ("ymax", "maxY"),
    ("top", "maxY"),
    ("north", "maxY"),
    ("zmax", "maxZ"),
];

/// Reads one or two sets of boxes of one dtype.
pub fn read<'py>(
    operation: &'static str,
    set1: &Bound<'py, PyAny>,
    set2: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Argument<'py>, Option<Argument<'py>>)> {
    let mut set1 = argument(operation, "set1", set1)?;
    let set2 = set2.map(|set2| argument(operation, "set2", set2));
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

fn argument<'py>(
    operation: &'static str,
    name: &'static str,
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
        PyValueError::new_err(format!("{operation}: {name} is a data frame {message}"))
    })?;
    frame.to_array(Some(&columns), &DTYPES)
}

/// Returns the columns of the coordinates in their order, or what is wrong with the names.
fn columns(names: &[String]) -> Result<Vec<String>, String> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let has_zeros = names
        .iter()
        .any(|name| ["x0", "y0", "z0"].contains(&&plain(name)[..]));
    let coordinate = |name: &str| {
        let name = plain(name);
        let own = COORDINATES
            .iter()
            .find(|coordinate| coordinate.to_lowercase() == name);
        let alias = ALIASES
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|(_, coordinate)| coordinate);
        // Corners with numbers from 0 or from 1 on.
        let corner = || {
            let (axis, number) = name.split_at_checked(1)?;
            let place = ["x", "y", "z"].iter().position(|name| *name == axis)?;
            match (number, has_zeros) {
                ("0", _) | ("1", false) => Some(&COORDINATES[place]),
                ("1", true) | ("2", false) => Some(&COORDINATES[3 + place]),
                _ => None,
            }
        };
        own.or(alias).or_else(corner).copied()
    };
    let mut found: [Option<&String>; 6] = [None; 6];
    for name in names {
        let Some(coordinate) = coordinate(name) else {
            return Err(format!(
                "with the column {name:?}, which is no coordinate: select the columns of {}",
                COORDINATES.join(", ")
            ));
        };
        let place = COORDINATES.iter().position(|other| *other == coordinate);
        let place = &mut found[place.expect("one of them")];
        if let Some(other) = place {
            return Err(format!(
                "whose columns {other:?} and {name:?} both are {coordinate}: select one of them"
            ));
        }
        *place = Some(name);
    }
    let is_flat = found[2].is_none() && found[5].is_none();
    let mut columns = Vec::with_capacity(6);
    for (name, coordinate) in found.iter().zip(COORDINATES) {
        match name {
            Some(name) => columns.push((*name).clone()),
            None if is_flat && coordinate.ends_with('Z') => (),
            None => {
                return Err(format!(
                    "without a column {coordinate}: the columns are {}",
                    names.join(", ")
                ));
            }
        }
    }
    Ok(columns)
}
