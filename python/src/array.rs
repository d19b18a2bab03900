//! numpy arrays as arguments and results. An argument becomes a view only here.

use std::borrow::Cow;
use std::ops::Range;

use files::points::value::is_exact;
use gridstride::Result;
use gridstride::half::bf16;
use gridstride::ndarray::{Array, ArrayView, ArrayView1, ArrayViewMut, Dimension, Ix1};
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE};
use numpy::{
    IntoPyArray, PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::at_index;
use crate::number::Number;
use crate::objects::{is_masked, numpy};

/// The most axes that the crate `numpy` takes: with more, which numpy has from version 2 on, it panics.
const MOST_AXES: usize = 32;

/// An array argument of any dtype.
#[derive(Clone)]
pub struct Argument<'py> {
    operation: &'static str,
    name: &'static str,
    array: Bound<'py, PyUntypedArray>,
}

/// Returns the elements as neighbours in memory.
pub fn whole<T: Clone>(elements: ArrayView1<'_, T>) -> Cow<'_, [T]> {
    match elements.to_slice() {
        Some(elements) => Cow::Borrowed(elements),
        None => Cow::Owned(elements.to_vec()),
    }
}

impl<'py> Argument<'py> {
    /// Takes a numpy array. Numbers in another byte order than that of the machine are copied.
    pub fn of_array(
        operation: &'static str,
        name: &'static str,
        array: Bound<'py, PyUntypedArray>,
    ) -> PyResult<Argument<'py>> {
        let dtype = array.dtype();
        let is_swapped = dtype.is_native_byteorder() == Some(false);
        let array = match is_swapped && b"iuf".contains(&dtype.kind()) {
            true => {
                let py = array.py();
                let native = dtype.call_method1(intern!(py, "newbyteorder"), ("=",))?;
                let native = array.call_method1(intern!(py, "astype"), (native,))?;
                native.cast_into()?
            }
            false => array,
        };
        Ok(Argument {
            operation,
            name,
            array,
        })
    }

    pub fn py(&self) -> Python<'py> {
        self.array.py()
    }

    /// The number of axes.
    pub fn axes(&self) -> usize {
        self.array.ndim()
    }

    /// Whether the elements are of type `T`.
    pub fn has<T: Number>(&self) -> bool {
        T::is(&self.array.dtype())
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    pub fn dtype(&self) -> Bound<'py, PyArrayDescr> {
        self.array.dtype()
    }

    pub fn array(&self) -> &Bound<'py, PyUntypedArray> {
        &self.array
    }

    /// Exchanges the last two axes.
    pub fn transposed(&mut self) -> PyResult<()> {
        if self.axes() > 1 {
            let array = self
                .array
                .call_method1(intern!(self.py(), "swapaxes"), (-2, -1))?;
            self.array = array.cast_into()?;
        }
        Ok(())
    }

    /// Adds a first axis of length 1.
    pub fn batch_of_one(&mut self) -> PyResult<()> {
        self.array = self.array.get_item(self.py().None())?.cast_into()?;
        Ok(())
    }

    /// Gives an argument without rows, such as an empty list, the columns and the dtype of another.
    pub fn fill_empty(&mut self, other: Option<&Argument<'py>>) -> PyResult<()> {
        if !self.array.is_empty() || self.axes() != 1 {
            return Ok(());
        }
        let (columns, dtype) = match other {
            Some(other) if other.axes() == 2 => (other.array.shape()[1], other.array.dtype()),
            _ => (4, self.array.dtype()),
        };
        let empty = numpy(self.py())?.call_method1("empty", ((0, columns), dtype))?;
        self.array = empty.cast_into()?;
        Ok(())
    }

    /// Whether all elements, which are integers, are in the range of int32.
    fn fits_int32(&self) -> PyResult<bool> {
        if self.array.is_empty() {
            return Ok(true);
        }
        let [least, most] =
            ["min", "max"].map(|name| self.array.call_method0(name)?.extract::<i128>());
        Ok(i128::from(i32::MIN) <= least? && most? <= i128::from(i32::MAX))
    }

    /// Fails if an integer is not exact in float64.
    fn require_exact(&self) -> PyResult<()> {
        if self.array.dtype().itemsize() < 8 {
            return Ok(());
        }
        let py = self.py();
        let flat = self.array.call_method0(intern!(py, "ravel"))?;
        let flat = Argument::of_array(self.operation, self.name, flat.cast_into()?)?;
        let Some((index, number)) = inexact(&flat, None)? else {
            return Ok(());
        };
        let error = PyValueError::new_err(format!(
            "{}: {} has the integer {number}, which float64 would round: convert the array to float64 if that is meant",
            self.operation, self.name
        ));
        Err(at_index(py, error, index))
    }

    /// Returns the exception for a dtype that is not among those `possible`.
    pub fn wrong_dtype(&self, possible: &[&str]) -> PyErr {
        let mut possible = possible.to_vec();
        // The dtype of the sums may be that of the factors.
        possible.dedup();
        wrong_dtype(self.operation, self.name, &self.array, &possible.join(", "))
    }

    /// Returns the elements. They are copied only if they are unaligned, or share memory with
    /// `out`.
    ///
    /// # Errors
    /// TypeError for another dtype, ValueError for another number of axes.
    pub fn input<T: Number, D: Dimension>(&self, out: Option<&Memory>) -> PyResult<Input<T, D>> {
        if !self.has::<T>() {
            return Err(self.wrong_dtype(&[T::NAME]));
        }
        require_axes::<D>(self.operation, self.name, &self.array)?;
        let is_shared = out.is_some_and(|out| out.overlaps(&Memory::of(&self.array)));
        let array = match is_shared || !has_whole_strides(&self.array) {
            true => self.array.call_method0(intern!(self.array.py(), "copy"))?,
            false => self.array.clone().into_any(),
        };
        let array = array.cast_into::<PyArrayDyn<T>>()?;
        let view = match array.is_empty() {
            true => ArrayView::from_shape(array.shape(), &[]).expect("no elements"),
            // SAFETY: the elements are aligned, strides are multiples of their size, and `owner`
            // keeps the memory as long as the view. numpy's own functions read without the lock
            // too: writing to an argument during a call is forbidden to callers by the
            // documentation.
            false => unsafe { array.as_array().raw_view().deref_into_view() },
        };
        Ok(Input {
            view: view.into_dimensionality().expect("as many axes"),
            _owner: array.into_any().unbind(),
        })
    }
}

/// Returns the first of the valid integers with one axis that is not exact in float64, with its index.
pub fn inexact(
    integers: &Argument<'_>,
    valid: Option<&[bool]>,
) -> PyResult<Option<(usize, String)>> {
    let is_valid = |index: usize| valid.is_none_or(|valid| valid[index]);
    if integers.has::<i64>() {
        let integers = integers.input::<i64, Ix1>(None)?;
        let mut integers = integers.view.iter().enumerate();
        let found =
            integers.find(|(index, number)| !is_exact((**number).into()) && is_valid(*index));
        return Ok(found.map(|(index, number)| (index, number.to_string())));
    }
    if integers.has::<u64>() {
        let integers = integers.input::<u64, Ix1>(None)?;
        let mut integers = integers.view.iter().enumerate();
        let found =
            integers.find(|(index, number)| !is_exact((**number).into()) && is_valid(*index));
        return Ok(found.map(|(index, number)| (index, number.to_string())));
    }
    Ok(None)
}

/// The elements of an argument, for a call on any thread.
pub struct Input<T: 'static, D: Dimension> {
    /// Valid as long as `_owner`.
    view: ArrayView<'static, T, D>,
    _owner: Py<PyAny>,
}

impl<T, D: Dimension> Input<T, D> {
    /// Returns a view of the elements, with any strides.
    pub fn view(&self) -> ArrayView<'_, T, D> {
        self.view.view()
    }

    /// Returns the elements if they are neighbours in memory, in row-major order.
    pub fn slice(&self) -> Option<&[T]> {
        self.view.as_slice()
    }
}

/// The elements of an argument `out`, for a call on any thread.
pub struct Output<T: 'static, D: Dimension> {
    /// Valid as long as `owner`.
    view: ArrayViewMut<'static, T, D>,
    owner: Py<PyAny>,
}

impl<T: Number, D: Dimension> Output<T, D> {
    /// Takes an optional numpy array to write to.
    ///
    /// # Errors
    /// TypeError for anything but an array of `T`, ValueError for arrays that cannot be written to
    /// and for another number of axes.
    pub fn new(
        operation: &'static str,
        object: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Output<T, D>>> {
        object
            .map(|object| Output::named(operation, "out", object))
            .transpose()
    }

    /// Takes a numpy array to write to, with the name of the argument.
    ///
    /// # Errors
    /// As `new`.
    pub fn named(
        operation: &'static str,
        name: &'static str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Output<T, D>> {
        let refuse = |what: &str| PyValueError::new_err(format!("{operation}: {name} {what}"));
        require_no_mask(operation, name, object)?;
        let Ok(untyped) = object.cast::<PyUntypedArray>() else {
            let type_name = object.get_type().name()?;
            let message = format!("{operation}: {name} is a {type_name}, not a numpy array");
            return Err(PyTypeError::new_err(message));
        };
        if !T::is(&untyped.dtype()) {
            return Err(wrong_dtype(operation, name, untyped, T::NAME));
        }
        require_axes::<D>(operation, name, untyped)?;
        if !is_writeable(untyped) {
            return Err(refuse("is read-only"));
        }
        if !has_whole_strides(untyped) {
            return Err(refuse("is not aligned"));
        }
        if may_repeat(untyped) {
            return Err(refuse("has elements with the same place in memory"));
        }
        let array = untyped.clone().into_any().cast_into::<PyArrayDyn<T>>()?;
        let view = match array.is_empty() {
            true => ArrayViewMut::from_shape(array.shape(), &mut []).expect("no elements"),
            // SAFETY: as for inputs; the array is writeable, and inputs that share its memory are
            // copied before.
            false => unsafe { array.as_array_mut().raw_view_mut().deref_into_view_mut() },
        };
        Ok(Output {
            view: view.into_dimensionality().expect("as many axes"),
            owner: array.into_any().unbind(),
        })
    }
}

/// The result of a call.
pub enum Outcome<T, D: Dimension> {
    New(Array<T, D>),
    /// The array that was given as `out`.
    Written(Py<PyAny>),
}

impl<T: Number, D: Dimension> Outcome<T, D> {
    /// Writes to `out` if it is given, and else returns a new array.
    pub fn of(
        out: Option<Output<T, D>>,
        write: impl FnOnce(ArrayViewMut<'_, T, D>) -> Result<()>,
        compute: impl FnOnce() -> Result<Array<T, D>>,
    ) -> Result<Outcome<T, D>> {
        let Some(mut out) = out else {
            return compute().map(Outcome::New);
        };
        write(out.view.view_mut())?;
        Ok(Outcome::Written(out.owner))
    }

    pub fn into_array(self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Outcome::New(array) => array.into_pyarray(py).into_any().unbind(),
            Outcome::Written(array) => array,
        }
    }
}

/// The addresses between the first and the last byte of an array.
pub struct Memory(Range<usize>);

impl Memory {
    /// Returns the memory of an argument `out`, if it is an array.
    pub fn of_out(out: Option<&Bound<'_, PyAny>>) -> Option<Memory> {
        let array = out?.cast::<PyUntypedArray>();
        array.ok().map(Memory::of)
    }

    fn of(array: &Bound<'_, PyUntypedArray>) -> Memory {
        // SAFETY: the pointer is that of a live array.
        let start = unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data } as usize;
        let mut addresses = start..start + array.dtype().itemsize();
        for (&length, &stride) in array.shape().iter().zip(array.strides()) {
            let span = stride * length.saturating_sub(1) as isize;
            match span < 0 {
                true => addresses.start -= span.unsigned_abs(),
                false => addresses.end += span.unsigned_abs(),
            }
        }
        Memory(addresses)
    }

    fn overlaps(&self, other: &Memory) -> bool {
        self.0.start < other.0.end && other.0.start < self.0.end
    }
}

/// Whether calls take bools for numbers: not if they take integers as they are.
pub fn takes_bools(possible: &[&str]) -> bool {
    !possible.contains(&"int32")
}

/// Converts arguments to the dtype that numpy promotes them to, if it is one of those `possible`.
/// Integers become int32 if that is possible and has all of them, and otherwise float64, which has to
/// have them exactly. Other dtypes stay, for the call to refuse.
pub fn promote(arguments: &mut [&mut Argument<'_>], possible: &[&str]) -> PyResult<()> {
    let Some(first) = arguments.first() else {
        return Ok(());
    };
    let py = first.py();
    let dtypes = arguments.iter().map(|argument| argument.array.dtype());
    let dtypes = dtypes.collect::<Vec<_>>();
    let names = dtypes
        .iter()
        .map(|dtype| dtype.getattr(intern!(py, "name"))?.extract::<String>());
    let names = names.collect::<PyResult<Vec<_>>>()?;
    let is_known = |(dtype, name): (&Bound<'_, PyArrayDescr>, &String)| {
        let kind = dtype.kind();
        b"iuf".contains(&kind)
            || (name == bf16::NAME && dtype.is_native_byteorder() != Some(false))
            || (kind == b'b' && takes_bools(possible))
    };
    let all_known = dtypes.iter().zip(&names).all(is_known);
    let are_equal = names.iter().all(|name| *name == names[0]);
    if !all_known || (are_equal && possible.contains(&&names[0][..])) {
        return Ok(());
    }
    let common = numpy(py)?.call_method1("result_type", PyTuple::new(py, &dtypes)?)?;
    let common = common.cast_into::<PyArrayDescr>()?;
    let name = common.getattr(intern!(py, "name"))?.extract::<String>()?;
    let target = match common.kind() {
        b'i' | b'u' | b'b' if possible.contains(&"int32") => {
            let mut all_fit = true;
            for argument in &*arguments {
                all_fit &= argument.fits_int32()?;
            }
            if all_fit { "int32" } else { "float64" }
        }
        b'i' | b'u' | b'b' => "float64",
        b'f' if name == "float16" && !possible.contains(&"float16") => "float32",
        _ => &name,
    };
    if !possible.contains(&target) {
        return Ok(());
    }
    for (argument, name) in arguments.iter_mut().zip(&names) {
        if name == target {
            continue;
        }
        if target != "int32" && b"iu".contains(&argument.array.dtype().kind()) {
            argument.require_exact()?;
        }
        let array = argument
            .array
            .call_method1(intern!(py, "astype"), (target,))?;
        argument.array = array.cast_into()?;
    }
    Ok(())
}

pub fn require_no_mask(operation: &str, name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if !is_masked(object)? {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!(
        "{operation}: {name} is a masked array, whose mask the library does not know: fill it, or leave the \
         masked elements out"
    )))
}

fn is_writeable(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the pointer is that of a live array.
    let flags = unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags };
    flags & NPY_ARRAY_WRITEABLE != 0
}

/// Whether the elements are aligned, with strides of whole elements: fields of records often are
/// not.
fn has_whole_strides(array: &Bound<'_, PyUntypedArray>) -> bool {
    let size = array.dtype().itemsize() as isize;
    let mut axes = array.shape().iter().zip(array.strides());
    array.is_aligned() && axes.all(|(&length, &stride)| length < 2 || stride % size == 0)
}

/// Whether several elements may have the same place in memory: along each axis, the stride has to
/// pass all elements of the axes with smaller strides.
fn may_repeat(array: &Bound<'_, PyUntypedArray>) -> bool {
    let axes = array.shape().iter().zip(array.strides());
    let mut axes = axes
        .filter(|(length, _)| **length > 1)
        .map(|(&length, &stride)| (stride.unsigned_abs(), length))
        .collect::<Vec<_>>();
    axes.sort_unstable();
    let mut passed = array.dtype().itemsize();
    let repeats = axes.into_iter().any(|(stride, length)| {
        let repeats = stride < passed;
        passed += stride * (length - 1);
        repeats
    });
    repeats && !array.is_empty()
}

/// Fails if the array does not have as many axes as `D`, or if `D` has any number and the array has too many.
fn require_axes<D: Dimension>(
    operation: &str,
    name: &str,
    array: &Bound<'_, PyUntypedArray>,
) -> PyResult<()> {
    let axes = array.ndim();
    let needed = match D::NDIM {
        Some(needed) if axes != needed => needed.to_string(),
        None if axes > MOST_AXES => format!("at most {MOST_AXES}"),
        _ => return Ok(()),
    };
    let message = format!(
        "{operation}: {name} has {axes} axes, with the shape {:?}, but has to have {needed}",
        array.shape()
    );
    Err(PyValueError::new_err(message))
}

fn wrong_dtype(
    operation: &str,
    name: &str,
    array: &Bound<'_, PyUntypedArray>,
    possible: &str,
) -> PyErr {
    let dtype = array.dtype();
    PyTypeError::new_err(format!(
        "{operation}: the dtype of {name} is {dtype}, but possible are {possible}"
    ))
}
