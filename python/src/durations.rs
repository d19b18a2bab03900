//! Spans and points of time in the unit of timestamps.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDateTime, PyDelta, PyDict, PyInt, PyString};

use crate::objects::numpy;

/// The unit of timestamps in which a call takes its spans and points of time.
#[derive(Clone, Copy)]
pub struct Unit<'a> {
    operation: &'static str,
    /// `None` for integers.
    name: Option<&'a str>,
}

/// A time in parts of a nanosecond.
struct Time {
    parts: i128,
    /// The number of parts of a nanosecond.
    of_nanosecond: i128,
}

impl Time {
    fn nanoseconds(parts: i128) -> Time {
        Time {
            parts,
            of_nanosecond: 1,
        }
    }

    /// Returns one of a unit of numpy, if the unit has a fixed length.
    fn one(unit: &str) -> Option<Time> {
        let of_nanosecond = match unit {
            "ps" => 1000,
            "fs" => 1_000_000,
            "as" => 1_000_000_000,
            unit => {
                let one = files::time::duration(&format!("1{unit}"));
                return one.ok().map(Time::nanoseconds);
            }
        };
        Some(Time {
            parts: 1,
            of_nanosecond,
        })
    }

    /// Returns a time of numpy's timedelta64 or datetime64; `None` if its unit has no fixed length,
    /// or for NaT.
    fn of_numpy(time: &Bound<'_, PyAny>) -> PyResult<Option<Time>> {
        let data = numpy(time.py())?.call_method1("datetime_data", (time.getattr("dtype")?,))?;
        let (unit, count) = data.extract::<(String, i128)>()?;
        let ticks = time.call_method1("astype", ("i8",))?.extract::<i64>()?;
        // NaT is the least int64.
        let one = Time::one(&unit).filter(|_| ticks != i64::MIN);
        Ok(one.map(|one| Time {
            parts: i128::from(ticks)
                .saturating_mul(count)
                .saturating_mul(one.parts),
            ..one
        }))
    }
}

impl<'a> Unit<'a> {
    pub fn new(operation: &'static str, name: Option<&'a str>) -> Unit<'a> {
        Unit { operation, name }
    }

    /// Returns the argument `every` as a number of the unit, which has to be whole.
    pub fn span(self, every: &Bound<'_, PyAny>) -> PyResult<i64> {
        const EVERY: &str = "every";
        if let Some(ticks) = self.integer(EVERY, every)? {
            return Ok(ticks);
        }
        let time = if let Ok(text) = every.cast::<PyString>() {
            let nanoseconds = files::time::duration(text.to_str()?);
            let refuse = |error| self.refused(EVERY, every, &format!(": {error}"));
            Time::nanoseconds(nanoseconds.map_err(refuse)?)
        } else if every.is_instance_of::<PyDelta>() || is_numpy(every, "timedelta64")? {
            let exact = of_pandas(every, "to_timedelta64", "timedelta64")?;
            let refuse = || self.refused(EVERY, every, ", whose unit has no fixed length");
            Time::of_numpy(&exact)?.ok_or_else(refuse)?
        } else {
            let possible = "a text such as '35s', a timedelta or a timedelta64";
            return Err(self.wrong_type(EVERY, every, possible));
        };
        self.ticks(EVERY, every, time)
    }

    /// Returns the argument `origin` as a number of the unit, which has to be whole.
    pub fn point(self, origin: &Bound<'_, PyAny>) -> PyResult<i64> {
        const ORIGIN: &str = "origin";
        let py = origin.py();
        if let Some(ticks) = self.integer(ORIGIN, origin)? {
            return Ok(ticks);
        }
        if let Ok(text) = origin.cast::<PyString>() {
            let nanoseconds = files::time::point(text.to_str()?);
            let refuse = |error| {
                let operation = self.operation;
                PyValueError::new_err(format!("{operation}: origin {origin:?} {error}"))
            };
            let time = Time::nanoseconds(nanoseconds.map_err(refuse)?);
            return self.ticks(ORIGIN, origin, time);
        }
        let mut naive = origin.clone();
        if origin.is_instance_of::<PyDateTime>() && !origin.getattr("tzinfo")?.is_none() {
            let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
            let options = PyDict::new(py);
            options.set_item("tzinfo", py.None())?;
            naive = naive.call_method1("astimezone", (utc,))?;
            naive = naive.call_method("replace", (), Some(&options))?;
        }
        let exact = of_pandas(&naive, "to_datetime64", "datetime64").map_err(|_| {
            let possible = "a text such as '2026-01-31T12:00:00Z', a datetime or a datetime64";
            self.wrong_type(ORIGIN, origin, possible)
        })?;
        let time = match Time::of_numpy(&exact)? {
            Some(time) => Some(time),
            // Years and months begin with a day.
            None => Time::of_numpy(&exact.call_method1("astype", ("M8[D]",))?)?,
        };
        let time = time.ok_or_else(|| self.refused(ORIGIN, origin, ", which is no time"))?;
        self.ticks(ORIGIN, origin, time)
    }

    /// Returns an integer that is a number of the unit already.
    fn integer(self, argument: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        // A timedelta64 is one of numpy's integers.
        if is_numpy(object, "timedelta64")?
            || !(object.is_instance_of::<PyInt>() || is_numpy(object, "integer")?)
        {
            return Ok(None);
        }
        let ticks = object.extract::<i64>().map(Some);
        ticks.map_err(|_| self.beyond(argument, object))
    }

    fn ticks(self, argument: &str, object: &Bound<'_, PyAny>, time: Time) -> PyResult<i64> {
        let Some(name) = self.name else {
            let what = ", but the timestamps have no unit: give it as an integer in their unit";
            return Err(self.refused(argument, object, what));
        };
        let one = Time::one(name).expect("timestamps have a unit of fixed length");
        let Some(parts) = time.parts.checked_mul(one.of_nanosecond) else {
            return Err(self.beyond(argument, object));
        };
        let parts_of_one = one.parts * time.of_nanosecond;
        if parts % parts_of_one != 0 {
            let what = format!(", which is no multiple of the timestamps' unit, {name}");
            return Err(self.refused(argument, object, &what));
        }
        i64::try_from(parts / parts_of_one).map_err(|_| self.beyond(argument, object))
    }

    fn beyond(self, argument: &str, object: &Bound<'_, PyAny>) -> PyErr {
        self.refused(argument, object, ", which is beyond the range of int64")
    }

    fn refused(self, argument: &str, object: &Bound<'_, PyAny>, what: &str) -> PyErr {
        let operation = self.operation;
        PyValueError::new_err(format!("{operation}: {argument} is {object:?}{what}"))
    }

    fn wrong_type(self, argument: &str, object: &Bound<'_, PyAny>, possible: &str) -> PyErr {
        let operation = self.operation;
        PyTypeError::new_err(format!(
            "{operation}: {argument} is {object:?}, but has to be an integer, {possible}"
        ))
    }
}

fn is_numpy(object: &Bound<'_, PyAny>, class: &str) -> PyResult<bool> {
    object.is_instance(&numpy(object.py())?.getattr(class)?)
}

/// Converts a time to numpy's class. pandas' own conversion keeps the nanoseconds.
fn of_pandas<'py>(
    time: &Bound<'py, PyAny>,
    method: &str,
    class: &str,
) -> PyResult<Bound<'py, PyAny>> {
    match time.hasattr(method)? {
        true => time.call_method0(method),
        false => numpy(time.py())?.call_method1(class, (time,)),
    }
}
