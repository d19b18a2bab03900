//! The points of a call without nulls, those of a series after each other.

use gridstride::ndarray::{ArrayView1, Ix1};
use gridstride::time_series::{Nan, check_offsets};
use gridstride::{Error, Result};
use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::array::{Argument, Input, whole};
use crate::call::threads;
use crate::column::Name;
use crate::columns::{Numbers, Times, Values};
use crate::conversion::require_host;
use crate::error::{OrRaise, at_index};
use crate::labels::{Groups, Series};
use crate::number::Number;
use crate::objects::numpy;

/// The operations that a point takes at most: sorting and percentiles take about 100 ns.
pub const POINT: f64 = 100.0;

/// Elements of an argument, or copies of them.
pub enum Elements<T: 'static> {
    Given(Input<T, Ix1>),
    Arranged(Vec<T>),
}

impl<T> Elements<T> {
    pub fn view(&self) -> ArrayView1<'_, T> {
        match self {
            Elements::Given(elements) => elements.view(),
            Elements::Arranged(elements) => ArrayView1::from(&elements[..]),
        }
    }
}

/// Points with one type of values.
pub struct PointsOf<T: 'static> {
    pub timestamps: Elements<i64>,
    pub values: Elements<T>,
    /// Index of the first point of each series, and at the end the number of points.
    pub offsets: Option<Vec<usize>>,
    places: Places,
}

impl<T> PointsOf<T> {
    /// Calls `work`, and gives errors about a timestamp the caller's index.
    pub fn call<R>(&self, work: impl FnOnce(&PointsOf<T>) -> Result<R>) -> Result<R> {
        work(self).map_err(|mut error| {
            if let Error::InvalidInput {
                index: Some(index),
                of: "timestamps",
                message,
                ..
            } = &mut error
            {
                let found = *index;
                let place = self.places.get(found, self.offsets.as_deref());
                *message = message.replacen(
                    &format!("at index {found}"),
                    &format!("at index {place}"),
                    1,
                );
                *index = place;
            }
            error
        })
    }
}

/// Points with any type of values.
pub enum Points {
    F32(PointsOf<f32>),
    F64(PointsOf<f64>),
}

/// Properties of a call other than its points.
pub struct Frame {
    pub unit: Option<String>,
    pub zone: Option<Py<PyAny>>,
    /// The label of each series.
    pub labels: Option<Py<PyAny>>,
}

impl Frame {
    pub fn clone_ref(&self, py: Python<'_>) -> Frame {
        let clone = |object: &Option<Py<PyAny>>| object.as_ref().map(|object| object.clone_ref(py));
        Frame {
            unit: self.unit.clone(),
            zone: clone(&self.zone),
            labels: clone(&self.labels),
        }
    }
}

/// The index of each point among the caller's points.
#[derive(Default)]
struct Places {
    /// The series of each of the caller's points, if they have been arranged by it.
    codes: Option<Vec<u32>>,
    /// Whether each of the caller's points is valid. `None` if all are.
    valid: Option<Vec<bool>>,
}

impl Places {
    fn get(&self, index: usize, offsets: Option<&[usize]>) -> usize {
        let is_valid = |place: &usize| self.valid.as_ref().is_none_or(|valid| valid[*place]);
        let (Some(codes), Some(offsets)) = (&self.codes, offsets) else {
            let Some(valid) = &self.valid else {
                return index;
            };
            return (0..valid.len())
                .filter(is_valid)
                .nth(index)
                .unwrap_or(index);
        };
        let series = offsets.partition_point(|&offset| offset <= index) - 1;
        let own = (0..codes.len()).filter(|&place| codes[place] as usize == series);
        let own = own.filter(is_valid).nth(index - offsets[series]);
        own.unwrap_or(index)
    }
}

/// Reads the points of a call.
pub fn read(
    operation: &'static str,
    timestamps: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    series: Option<&Bound<'_, PyAny>>,
    offsets: Option<&Bound<'_, PyAny>>,
    nan: Nan,
) -> PyResult<(Points, Frame)> {
    let py = timestamps.py();
    let name = |argument| Name {
        operation,
        argument,
    };
    let times = Times::read(name("timestamps"), timestamps, None)?;
    let numbers = Numbers::read(name("values"), values, nan == Nan::Skip)?;
    if series.is_some() && offsets.is_some() {
        return Err(PyValueError::new_err(format!(
            "{operation}: there are series and offsets, of which one is enough"
        )));
    }
    let count = times.ticks.view().len();
    let mut offsets = offsets.map(|offsets| offsets_of(operation, offsets, count));
    let mut offsets = offsets.take().transpose()?;
    let mut frame = Frame {
        unit: times.unit,
        zone: times.zone,
        labels: None,
    };
    let mut groups = None;
    let mut valid = numbers.valid.clone();
    if numbers.len() != count {
        // The library refuses the lengths.
        valid = None;
    } else if let Some(series) = series {
        let read = Series::read(operation, series, count)?;
        frame.labels = Some(read.labels.unbind());
        groups = Some(read.groups);
    } else if let (Some(_), Some(offsets)) = (&valid, &mut offsets) {
        // Without the nulls, wrong offsets could be right.
        check_offsets(operation, offsets, count).or_raise(py, operation)?;
    }
    let ticks = times.ticks;
    let points = py.detach(|| match numbers.values {
        Values::F32(values) => Points::F32(arranged(ticks, values, offsets, groups, valid)),
        Values::F64(values) => Points::F64(arranged(ticks, values, offsets, groups, valid)),
    });
    Ok((points, frame))
}

/// Leaves out nulls, and brings the points of a series together if they are not.
fn arranged<T: Number + Default>(
    timestamps: Input<i64, Ix1>,
    values: Input<T, Ix1>,
    offsets: Option<Vec<usize>>,
    groups: Option<Groups>,
    valid: Option<Vec<bool>>,
) -> PointsOf<T> {
    let given = |timestamps, values, offsets| PointsOf {
        timestamps: Elements::Given(timestamps),
        values: Elements::Given(values),
        offsets,
        places: Places::default(),
    };
    let Some(groups) = groups else {
        let Some(valid) = valid else {
            return given(timestamps, values, offsets);
        };
        let kept = |&place: &usize| valid[place];
        let places = || (0..valid.len()).filter(kept);
        let offsets = offsets.map(|offsets| {
            let mut before = Vec::with_capacity(valid.len() + 1);
            before.push(0);
            before.extend(valid.iter().scan(0, |count, &is_valid| {
                *count += usize::from(is_valid);
                Some(*count)
            }));
            offsets.iter().map(|&offset| before[offset]).collect()
        });
        return PointsOf {
            timestamps: Elements::Arranged(
                places().map(|place| timestamps.view()[place]).collect(),
            ),
            values: Elements::Arranged(places().map(|place| values.view()[place]).collect()),
            offsets,
            places: Places {
                codes: None,
                valid: Some(valid),
            },
        };
    };
    let Groups { codes, firsts } = groups;
    let counts = counts(&codes, valid.as_deref(), firsts.len());
    let mut offsets = Vec::with_capacity(firsts.len() + 1);
    offsets.push(0);
    for series in 0..firsts.len() {
        let points = counts
            .iter()
            .map(|(_, counts)| counts[series])
            .sum::<usize>();
        offsets.push(offsets[series] + points);
    }
    if valid.is_none() && codes.is_sorted() {
        return given(timestamps, values, Some(offsets));
    }
    let (ticks, values) = by_series(
        timestamps.view(),
        values.view(),
        &codes,
        valid.as_deref(),
        counts,
    );
    PointsOf {
        timestamps: Elements::Arranged(ticks),
        values: Elements::Arranged(values),
        offsets: Some(offsets),
        places: Places {
            codes: Some(codes),
            valid,
        },
    }
}

/// The numbers of points of each series in consecutive chunks of points, each with its length.
type Counts = Vec<(usize, Vec<usize>)>;

fn counts(codes: &[u32], valid: Option<&[bool]>, series: usize) -> Counts {
    // So that the counts take less memory than the points.
    let chunks = (codes.len() / (8 * series + 1)).clamp(1, threads().current_num_threads());
    let length = codes.len().div_ceil(chunks).max(1);
    threads().install(|| {
        let chunks = codes.par_chunks(length).enumerate().map(|(chunk, codes)| {
            let mut counts = vec![0; series];
            let start = chunk * length;
            for (index, &code) in codes.iter().enumerate() {
                counts[code as usize] +=
                    usize::from(valid.is_none_or(|valid| valid[start + index]));
            }
            (codes.len(), counts)
        });
        chunks.collect()
    })
}

/// Copies the points series by series, each in its order.
fn by_series<T: Number + Default>(
    timestamps: ArrayView1<'_, i64>,
    values: ArrayView1<'_, T>,
    codes: &[u32],
    valid: Option<&[bool]>,
    counts: Counts,
) -> (Vec<i64>, Vec<T>) {
    let total = counts.iter().flat_map(|(_, counts)| counts).sum();
    let mut sorted = (vec![0; total], vec![T::default(); total]);
    // Each chunk of points has a place of its own in each series.
    let (mut ticks, mut numbers) = (&mut sorted.0[..], &mut sorted.1[..]);
    let series = counts.first().map_or(0, |(_, counts)| counts.len());
    let mut places = counts
        .iter()
        .map(|_| Vec::with_capacity(series))
        .collect::<Vec<_>>();
    for series in 0..series {
        for ((_, counts), places) in counts.iter().zip(&mut places) {
            let (first, rest) = ticks.split_at_mut(counts[series]);
            ticks = rest;
            let (second, rest) = numbers.split_at_mut(counts[series]);
            numbers = rest;
            places.push(first.iter_mut().zip(second));
        }
    }
    let (timestamps, values) = (whole(timestamps), whole(values));
    let starts = counts.iter().scan(0, |start, (length, _)| {
        *start += length;
        Some(*start - length..*start)
    });
    let chunks = starts.zip(places).collect::<Vec<_>>();
    threads().install(|| {
        chunks.into_par_iter().for_each(|(range, mut places)| {
            for index in range {
                if valid.is_some_and(|valid| !valid[index]) {
                    continue;
                }
                let place = places[codes[index] as usize].next();
                let (tick, number) = place.expect("as many places as points");
                (*tick, *number) = (timestamps[index], values[index]);
            }
        });
    });
    sorted
}

/// Reads the argument `offsets`. The library checks the order of the offsets.
pub fn offsets_of(
    operation: &'static str,
    offsets: &Bound<'_, PyAny>,
    count: usize,
) -> PyResult<Vec<usize>> {
    let py = offsets.py();
    require_host(operation, "offsets", offsets)?;
    let array = numpy(py)?.call_method1("asarray", (offsets,))?;
    let untyped = array.cast::<numpy::PyUntypedArray>()?;
    let kind = array.getattr("dtype")?.getattr("kind")?.extract::<char>()?;
    if untyped.ndim() != 1 || (!untyped.is_empty() && !['i', 'u'].contains(&kind)) {
        return Err(PyTypeError::new_err(format!(
            "{operation}: offsets have the dtype {} and {} axes, but have to be integers with one axis",
            untyped.dtype(),
            untyped.ndim()
        )));
    }
    let array = array.call_method1("astype", ("=i8",))?;
    let offsets = Argument::new(operation, "offsets", &array)?.input::<i64, Ix1>(None)?;
    let offsets = offsets.view();
    let within = offsets.iter().enumerate().map(|(index, &offset)| {
        let within = usize::try_from(offset).ok().filter(|&offset| offset <= count);
        within.ok_or_else(|| {
            let message = format!(
                "{operation}: offset {offset} at index {index} is not in 0 to the number of points, {count}"
            );
            at_index(py, PyValueError::new_err(message), index)
        })
    });
    within.collect()
}
