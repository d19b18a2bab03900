//! Array arguments in the memory of a device.

use std::sync::Arc;

use dlpark::DlpackFlags;
use dlpark::ffi::DLDataType;
use dlpark::python::ImportRequest;
use gridstride::Device;
use gridstride::device::{Buffer, DeviceArray, DeviceKind, DeviceView, Element};
use gridstride::ndarray::{Dimension, IxDyn};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::{Content, PyDeviceArray};
use super::dtype::{from_typestr, name_of};
use super::location::Location;
use super::place::Place;
use super::stream::RawStream;
use crate::call::require_threads;
use crate::device::Devices;
use crate::error::OrRaise;
use crate::number::Number;

/// The bytes that kernels access at once.
const ALIGNMENT: usize = 16;

/// More elements than memory has.
const MOST: usize = isize::MAX as usize / 16;

/// An argument `out`, and its object.
pub type Out<'a, 'py> = Option<(DeviceArgument, &'a Bound<'py, PyAny>)>;

impl Place {
    /// Runs `work` as [`call`] does, with the array `out` to write to, or else for a new array.
    pub fn write<T: Number + Element, D: Dimension + 'static>(
        &self,
        py: Python<'_>,
        operations: f64,
        out: Out<'_, '_>,
        work: impl FnOnce(
            Option<&mut DeviceArray<T, D>>,
        ) -> gridstride::Result<Option<DeviceArray<T, D>>>
        + Send
        + 'static,
    ) -> PyResult<Py<PyAny>> {
        let (out, object) = out.unzip();
        let out = out.map(|out| out.array::<T, D>()).transpose()?;
        let new = self.call(py, operations, move || {
            let mut out = out;
            work(out.as_mut())
        })?;
        match (object, new) {
            (None, Some(new)) => Ok(Py::new(py, PyDeviceArray::new(self, new))?.into_any()),
            (object, _) => Ok(object.expect("written to").clone().unbind()),
        }
    }
}

/// An argument's name and value.
pub type Named<'a, 'py> = (&'static str, Option<&'a Bound<'py, PyAny>>);

/// Takes the arguments of a call if they are in the memory of a device, and the place of the call;
/// `None` if all are in the memory of the host.
///
/// # Errors
/// TypeError if only some arguments are in the memory of a device, ValueError if they are on
/// several devices, or on another than `device`.
pub fn resident<'py, const N: usize>(
    py: Python<'py>,
    operation: &'static str,
    arguments: [Named<'_, 'py>; N],
    device: Option<&Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<(Place, [Option<DeviceArgument>; N])>> {
    let mut on_device = Vec::with_capacity(N);
    let mut host = None;
    for (name, object) in arguments {
        let Some(object) = object else { continue };
        match Location::of(object)? {
            Some(location) => on_device.push((name, location)),
            None => host = Some(name),
        }
    }
    let Some((first, location)) = on_device.first() else {
        return match stream {
            Some(_) => Err(PyValueError::new_err(format!(
                "{operation}: there is a stream, but the arrays are in the memory of the host"
            ))),
            None => Ok(None),
        };
    };
    if let Some(host) = host {
        return Err(PyTypeError::new_err(format!(
            "{operation}: {host} is in the memory of the host, but {first} in that of a device: copy one of \
             them, for example by Device.upload"
        )));
    }
    require_threads()?;
    let device = match device {
        Some(devices) => devices.only(operation)?,
        None => location.device(py)?,
    };
    let stream = stream.map(|stream| RawStream::of(operation, stream));
    let stream = stream.transpose()?.or_else(|| match location {
        Location::Own(array) => array.get().content().stream.clone(),
        _ => None,
    });
    let mut place = Place::new(py, operation, &device, stream)?;
    let mut taken = [const { None }; N];
    let mut locations = on_device.into_iter();
    for (taken, (name, object)) in taken.iter_mut().zip(arguments) {
        let Some(object) = object else { continue };
        let (_, location) = locations.next().expect("one for each argument");
        let argument = DeviceArgument::new(py, &mut place, name, object, &location)?;
        *taken = Some(argument);
    }
    Ok(Some((place, taken)))
}

/// An array argument of any dtype in the memory of a device.
pub struct DeviceArgument {
    operation: &'static str,
    name: &'static str,
    /// Orders work on the elements.
    device: Device,
    dtype: DLDataType,
    address: usize,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<usize>,
    is_writeable: bool,
    /// The owner of the memory.
    owner: Box<dyn Send + Sync>,
}

impl DeviceArgument {
    fn new(
        py: Python<'_>,
        place: &mut Place,
        name: &'static str,
        object: &Bound<'_, PyAny>,
        location: &Location<'_, '_>,
    ) -> PyResult<DeviceArgument> {
        let other = match location {
            Location::Interface if matches!(place.device.kind(), DeviceKind::Cuda { .. }) => None,
            Location::Interface => Some("a GPU".to_string()),
            _ => {
                let other = location.device(py)?;
                (!other.same_as(&place.device)).then(|| other.to_string())
            }
        };
        if let Some(other) = other {
            return Err(PyValueError::new_err(format!(
                "{}: {name} is on {other}, but the call runs on {}",
                place.operation, place.device
            )));
        }
        match location {
            Location::Own(array) => {
                let content = array.get().content();
                if let Some(stream) = &content.stream {
                    // SAFETY: the array keeps its stream, and the call keeps the array.
                    unsafe { place.order_with(py, stream.handle_in_interface())? };
                }
                let operation = place.operation;
                let mut argument = DeviceArgument::of_content(operation, name, content);
                argument.device = place.device.clone();
                Ok(argument)
            }
            Location::Dlpack(_) => DeviceArgument::from_dlpack(place, name, object),
            Location::Interface => DeviceArgument::from_interface(py, place, name, object),
        }
    }

    /// Takes an array of this package.
    pub fn of_content(
        operation: &'static str,
        name: &'static str,
        content: &Arc<Content>,
    ) -> DeviceArgument {
        DeviceArgument {
            operation,
            name,
            device: content.device.clone(),
            dtype: content.dtype,
            address: content.address,
            strides: row_major(&content.shape),
            shape: content.shape.clone(),
            is_writeable: true,
            owner: Box::new(content.clone()),
        }
    }

    fn from_dlpack(
        place: &Place,
        name: &'static str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<DeviceArgument> {
        // Of torch. Its exchange by DLPack says nothing of gradients.
        let gradients = object.getattr_opt(intern!(object.py(), "requires_grad"))?;
        if gradients.is_some_and(|gradients| gradients.is_truthy().unwrap_or(false)) {
            return Err(PyValueError::new_err(format!(
                "{}: {name} requires gradients, which the call does not record: pass {name}.detach()",
                place.operation
            )));
        }
        let stream = place.stream.as_ref();
        let stream = stream.map(|stream| stream as &dyn dlpark::python::DlpackStream);
        let tensor = ImportRequest::new(object.as_borrowed())?.import(stream, None)?;
        let refuse = |what: &dyn std::fmt::Display| {
            PyValueError::new_err(format!(
                "{}: {name}: {what}: pass a contiguous copy",
                place.operation
            ))
        };
        let view = tensor.validate().map_err(|error| refuse(&error))?;
        let strides = view.strides_or_compact().map_err(|error| refuse(&error))?;
        let taken = Layout {
            operation: place.operation,
            name,
            shape: view.shape(),
            strides: &strides,
        };
        let (shape, strides) = taken.checked()?;
        Ok(DeviceArgument {
            operation: place.operation,
            name,
            device: place.device.clone(),
            dtype: view.dtype(),
            address: view.data_ptr().addr() + view.byte_offset() as usize,
            shape,
            strides,
            is_writeable: !tensor.flags().contains(DlpackFlags::READ_ONLY),
            owner: Box::new(tensor.into_deleter()),
        })
    }

    /// Takes an array with the CUDA array interface, version 2 or 3.
    fn from_interface(
        py: Python<'_>,
        place: &mut Place,
        name: &'static str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<DeviceArgument> {
        let operation = place.operation;
        let interface = object.getattr(intern!(py, "__cuda_array_interface__"))?;
        let interface = interface.cast_into::<PyDict>()?;
        let entry = |key: &str| Ok::<_, PyErr>(interface.get_item(key)?.filter(|it| !it.is_none()));
        let required = |key: &str| {
            let missing = || {
                let message = format!("{operation}: the interface of {name} has no {key:?}");
                PyValueError::new_err(message)
            };
            entry(key)?.ok_or_else(missing)
        };
        if entry("mask")?.is_some() {
            return Err(PyTypeError::new_err(format!(
                "{operation}: {name} has a mask, which the library does not know: fill the masked elements"
            )));
        }
        let typestr = required("typestr")?.extract::<String>()?;
        let dtype = from_typestr(&typestr).ok_or_else(|| {
            PyTypeError::new_err(format!("{operation}: the dtype of {name} is {typestr}"))
        })?;
        let (address, is_read_only) = required("data")?.extract::<(usize, bool)>()?;
        let shape = required("shape")?.extract::<Vec<i64>>()?;
        let size = i64::from(dtype.bits) / 8;
        let strides = match entry("strides")? {
            Some(strides) => {
                let bytes = strides.extract::<Vec<i64>>()?;
                if bytes.iter().any(|bytes| bytes % size != 0) {
                    return Err(PyValueError::new_err(format!(
                        "{operation}: {name} has strides of {bytes:?} bytes, which are no whole elements"
                    )));
                }
                bytes.into_iter().map(|bytes| bytes / size).collect()
            }
            None => {
                let lengths = shape.iter().map(|&length| length.max(0) as usize);
                let strides = row_major(&lengths.collect::<Vec<_>>());
                strides.into_iter().map(|stride| stride as i64).collect()
            }
        };
        let taken = Layout {
            operation,
            name,
            shape: &shape,
            strides: &strides as &Vec<i64>,
        };
        let (shape, strides) = taken.checked()?;
        if let Some(stream) = entry("stream")? {
            // SAFETY: by the interface, the stream is that of the array's work, which exists.
            unsafe { place.order_with(py, stream.extract()?)? };
        }
        Ok(DeviceArgument {
            operation,
            name,
            device: place.device.clone(),
            dtype,
            address,
            shape,
            strides,
            is_writeable: !is_read_only,
            owner: Box::new(object.clone().unbind()),
        })
    }

    /// The number of axes.
    pub fn axes(&self) -> usize {
        self.shape.len()
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the elements are of type `T`.
    pub fn has<T: Number>(&self) -> bool {
        self.dtype == T::DTYPE
    }

    /// Returns the exception for a dtype that is not among those `possible`.
    pub fn wrong_dtype(&self, possible: &[&str]) -> PyErr {
        PyTypeError::new_err(format!(
            "{}: the dtype of {} is {}, but possible are {}",
            self.operation,
            self.name,
            name_of(self.dtype),
            possible.join(", ")
        ))
    }

    /// Adds a first axis of length 1.
    pub fn batch_of_one(&mut self) -> PyResult<()> {
        self.shape.insert(0, 1);
        self.strides.insert(0, 0);
        Ok(())
    }

    /// Fails if this argument cannot be written to, or shares memory with one of the `inputs`.
    pub fn require_output(&self, inputs: &[&DeviceArgument]) -> PyResult<()> {
        let refuse = |what: &str| {
            let (operation, name) = (self.operation, self.name);
            Err(PyValueError::new_err(format!("{operation}: {name} {what}")))
        };
        if !self.is_writeable {
            return refuse("is read-only");
        }
        if !self.address.is_multiple_of(ALIGNMENT) && self.span() > 0 {
            return refuse("does not begin at a multiple of 16 bytes");
        }
        let overlaps = |input: &&DeviceArgument| {
            let (own, other) = (self.addresses(), input.addresses());
            own.start < other.end && other.start < own.end
        };
        match inputs.iter().find(|input| overlaps(input)) {
            Some(input) => refuse(&format!("shares memory with {}", input.name)),
            None => Ok(()),
        }
    }

    fn addresses(&self) -> std::ops::Range<usize> {
        self.address..self.address + self.span() * usize::from(self.dtype.bits) / 8
    }

    /// The number of elements from the first to the last in memory.
    fn span(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        let axes = self.shape.iter().zip(&self.strides);
        axes.map(|(length, stride)| (length - 1) * stride)
            .sum::<usize>()
            + 1
    }

    /// Returns the elements, with any strides.
    ///
    /// # Errors
    /// TypeError for another dtype, ValueError for another number of axes.
    pub fn elements<T: Number + Element, D: Dimension>(self) -> PyResult<Elements<T, D>> {
        if !self.has::<T>() {
            return Err(self.wrong_dtype(&[T::NAME]));
        }
        let shape = D::from_dimension(&IxDyn(&self.shape));
        let strides = D::from_dimension(&IxDyn(&self.strides));
        let (Some(shape), Some(strides)) = (shape, strides) else {
            return Err(PyValueError::new_err(format!(
                "{}: {} has {} axes, with the shape {:?}, but has to have {}",
                self.operation,
                self.name,
                self.axes(),
                self.shape,
                D::NDIM.unwrap_or(self.axes())
            )));
        };
        if self.span() > 0 && !self.address.is_multiple_of(size_of::<T>()) {
            return Err(PyValueError::new_err(format!(
                "{}: {} begins at {:#x}, no multiple of its elements' {} bytes: pass a copy",
                self.operation,
                self.name,
                self.address,
                size_of::<T>()
            )));
        }
        // Buffers begin at multiples of 16 bytes, at which the memory of every library begins.
        let skipped = match self.span() {
            0 => 0,
            _ => self.address % ALIGNMENT,
        };
        let start = skipped / size_of::<T>();
        let span = self.span() + start;
        let address = (self.address - skipped) as *mut T;
        // SAFETY: the producer of the array vouches for these elements, which `owner` keeps, and
        // has ordered its work on them with `device`. Work of the caller on other streams is ordered
        // by the caller, as the documentation asks for.
        let buffer = unsafe { Buffer::from_raw(&self.device, address, span, self.owner) };
        Python::attach(|py| {
            Ok(Elements {
                buffer: buffer.or_raise(py, self.operation)?,
                start,
                shape,
                strides,
            })
        })
    }

    /// Returns the elements as an array in row-major order: a copy on the device if they do not begin
    /// at a multiple of 16 bytes.
    ///
    /// # Errors
    /// The errors of [`elements`](Self::elements), and ValueError for another order.
    pub fn array<T: Number + Element, D: Dimension>(self) -> PyResult<DeviceArray<T, D>> {
        let order = row_major(&self.shape);
        let mut axes = self.shape.iter().zip(self.strides.iter().zip(&order));
        let is_packed = axes.all(|(&length, (stride, packed))| length < 2 || stride == packed);
        if !is_packed && !self.shape.contains(&0) {
            return Err(PyValueError::new_err(format!(
                "{}: {} is not in row-major order without gaps: pass a contiguous copy",
                self.operation, self.name
            )));
        }
        let operation = self.operation;
        let elements = self.elements::<T, D>()?;
        let array = match elements.start {
            0 => DeviceArray::from_buffer(elements.buffer, elements.shape),
            _ => elements.view().and_then(|view| view.to_array()),
        };
        Python::attach(|py| array.or_raise(py, operation))
    }
}

/// The elements of an argument, with any strides.
pub struct Elements<T: Element, D: Dimension> {
    buffer: Buffer<T>,
    /// The index of the first element in the buffer.
    start: usize,
    shape: D,
    strides: D,
}

impl<T: Element, D: Dimension> Elements<T, D> {
    pub fn view(&self) -> gridstride::Result<DeviceView<'_, T, D>> {
        DeviceView::new(
            &self.buffer,
            self.start,
            self.shape.clone(),
            self.strides.clone(),
        )
    }
}

/// The layout of an array of another library.
struct Layout<'a> {
    operation: &'static str,
    name: &'static str,
    shape: &'a [i64],
    strides: &'a [i64],
}

impl Layout<'_> {
    /// Returns the shape and the strides as numbers that are not negative, of elements that are not
    /// farther apart than memory is long: cupy's negative strides look so.
    fn checked(&self) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let unsigned = |numbers: &[i64]| {
            let numbers = numbers.iter().map(|&number| usize::try_from(number).ok());
            numbers.collect::<Option<Vec<_>>>()
        };
        let layout = unsigned(self.shape).zip(unsigned(self.strides));
        let layout = layout.filter(|(shape, strides)| {
            let mut axes = shape.iter().zip(strides);
            let last = axes.try_fold(0usize, |last, (&length, &stride)| {
                last.checked_add(length.saturating_sub(1).checked_mul(stride)?)
            });
            shape.len() == strides.len() && last.is_some_and(|last| last < MOST)
        });
        layout.ok_or_else(|| {
            PyValueError::new_err(format!(
                "{}: {} has the shape {:?} and strides of {:?} elements: pass a contiguous copy",
                self.operation, self.name, self.shape, self.strides
            ))
        })
    }
}

/// Returns the strides of row-major order without gaps.
fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}
