//! numpy arrays as arguments and results: the one place where an argument becomes a view.

use std::ops::Range;

use dlpark::DlpackElement;
use gridstride::Result;
use gridstride::half::{bf16, f16};
use gridstride::ndarray::{Array, ArrayView, ArrayViewMut, Axis, Dimension};
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE};
use numpy::{
    Element, IntoPyArray, PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

use crate::resident::{lists_device_arrays, on_device};

/// The most axes that the crate `numpy` takes: with more, which numpy has from version 2 on, it panics.
const MOST_AXES: usize = 32;

/// A type of elements.
pub trait Number: Element + DlpackElement + Copy + Sync {
    /// numpy's name of the type.
    const NAME: &'static str;

    /// Whether this is the type of a dtype, with the byte order of the machine.
    fn is(dtype: &Bound<'_, PyArrayDescr>) -> bool {
        dtype.is_equiv_to(&Self::get_dtype(dtype.py()))
    }
}

macro_rules! numbers {
    ($($type:ty = $name:literal;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = $name;
        }
    )*};
}
numbers! {
    f16 = "float16";
    f32 = "float32";
    f64 = "float64";
    i32 = "int32";
    i64 = "int64";
    u8 = "uint8";
}

impl Number for bf16 {
    const NAME: &'static str = "bfloat16";

    /// numpy knows the type only if another package, such as ml_dtypes, has registered it.
    fn is(dtype: &Bound<'_, PyArrayDescr>) -> bool {
        let name = dtype.getattr(intern!(dtype.py(), "name"));
        name.is_ok_and(|name| name.eq(Self::NAME).unwrap_or(false))
            && dtype.is_native_byteorder() != Some(false)
    }
}

/// An array argument of any dtype.
pub struct Argument<'py> {
    operation: &'static str,
    name: &'static str,
    array: Bound<'py, PyUntypedArray>,
}

/// Calls a function with the first of the types that an argument has, or fails with the names of
/// all of them.
macro_rules! by_dtype {
    ($argument:expr, [$($type:ty),+], $function:ident $arguments:tt) => {{
        use $crate::array::Number;

        $(if $argument.has::<$type>() {
            return $function::<$type> $arguments;
        })+
        Err($argument.wrong_dtype(&[$(<$type>::NAME),+]))
    }};
}
pub(crate) use by_dtype;

impl<'py> Argument<'py> {
    /// Takes a numpy array as it is, and anything else as `numpy.asarray` converts it.
    pub fn new(
        operation: &'static str,
        name: &'static str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Argument<'py>> {
        let array = match object.cast_exact::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => as_array(operation, name, object)?,
        };
        Ok(Argument {
            operation,
            name,
            array,
        })
    }

    /// The number of axes.
    pub fn axes(&self) -> usize {
        self.array.ndim()
    }

    /// Whether the elements are of type `T`.
    pub fn has<T: Number>(&self) -> bool {
        T::is(&self.array.dtype())
    }

    /// Returns the exception for a dtype that is not among those `possible`.
    pub fn wrong_dtype(&self, possible: &[&str]) -> PyErr {
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

    /// Adds a first axis of length 1.
    pub fn batch_of_one(self) -> Input<T, D::Larger> {
        Input {
            view: self.view.insert_axis(Axis(0)),
            _owner: self._owner,
        }
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
        const NAME: &str = "out";
        let Some(object) = object else {
            return Ok(None);
        };
        let refuse = |what: &str| PyValueError::new_err(format!("{operation}: out {what}"));
        require_no_mask(operation, NAME, object)?;
        let Ok(untyped) = object.cast::<PyUntypedArray>() else {
            let found = object.get_type().name()?;
            let message = format!("{operation}: out is a {found}, not a numpy array");
            return Err(PyTypeError::new_err(message));
        };
        if !T::is(&untyped.dtype()) {
            return Err(wrong_dtype(operation, NAME, untyped, T::NAME));
        }
        require_axes::<D>(operation, NAME, untyped)?;
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
        Ok(Some(Output {
            view: view.into_dimensionality().expect("as many axes"),
            owner: array.into_any().unbind(),
        }))
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

fn as_array<'py>(
    operation: &str,
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    require_no_mask(operation, name, object)?;
    if on_device(object)? {
        let message = format!(
            "{operation}: {name} is in the memory of a device, but the call takes arrays of the host: pass a copy, \
             for example its numpy()"
        );
        return Err(PyTypeError::new_err(message));
    }
    if lists_device_arrays(object)? {
        let message = format!(
            "{operation}: {name} is a list with arrays in the memory of a device, which the call does not copy to \
             the host: pass a list of copies, for example by their numpy()"
        );
        return Err(PyTypeError::new_err(message));
    }
    let numpy = object.py().import(intern!(object.py(), "numpy"))?;
    let array = numpy.call_method1(intern!(object.py(), "asarray"), (object,))?;
    Ok(array.cast_into()?)
}

fn require_no_mask(operation: &str, name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if object.cast_exact::<PyUntypedArray>().is_ok() || object.cast::<PyUntypedArray>().is_err() {
        return Ok(());
    }
    let numpy = object.py().import(intern!(object.py(), "numpy"))?;
    if !object.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)? {
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
