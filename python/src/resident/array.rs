//! The class `DeviceArray`.

use std::sync::Arc;

use dlpark::DlpackFlags;
use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::{CudaStreamRequest, DlpackExporter, ExportRequest, export_dlpack};
use dlpark::{DlpackElement, Managed, ManagedTensorBase};
use gridstride::Device;
use gridstride::device::{DeviceArray, DeviceKind, Element};
use gridstride::half::{bf16, f16};
use gridstride::ndarray::{Dimension, IxDyn};
use numpy::{IntoPyArray, PyArrayDescr};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::argument::{DeviceArgument, Place};
use super::dtype::{name_of, typestr_of};
use super::stream::{RawStream, make_wait};
use crate::array::{Argument, Number, by_dtype};
use crate::call::call;
use crate::device::PyDevice;
use crate::error::OrRaise;

const NUMPY: &str = "DeviceArray.numpy";
const UPLOAD: &str = "Device.upload";

/// An array in the memory of a device, in row-major order: the result of calls on such arrays, and
/// of ``Device.upload``.
///
/// Calls return before the work on a GPU has finished; ``numpy()`` waits for it. torch, cupy
/// and numba take the array without a copy, by DLPack (``torch.from_dlpack(array)``) or the CUDA
/// array interface (``cupy.asarray(array)``), and share its memory.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import gridstride
/// >>> a = gridstride.Device("cpu").upload(np.array([[1.0, 2.0], [3.0, 4.0]]))
/// >>> a
/// <DeviceArray (2, 2) float64 on cpu>
/// >>> gridstride.matmul(a, a).numpy()
/// array([[ 7., 10.],
///        [15., 22.]])
/// >>> np.from_dlpack(a)[0]
/// array([1., 2.])
#[pyclass(frozen, name = "DeviceArray", module = "gridstride")]
pub struct PyDeviceArray(Arc<Content>);

/// What a [`PyDeviceArray`] shares with calls and with other libraries.
pub struct Content {
    pub dtype: DLDataType,
    pub shape: Vec<usize>,
    pub address: usize,
    /// Keeps the memory, and frees it in the order of the stream.
    _owner: Arc<dyn Send + Sync>,
    /// The device as the caller gave it.
    pub base: Device,
    /// Orders work on the elements.
    pub device: Device,
    /// The stream of the device, if it is a GPU.
    pub stream: Option<RawStream>,
}

impl PyDeviceArray {
    /// Makes the result of a call at `place`.
    pub fn new<T: Number + Element, D: Dimension + 'static>(
        place: &Place,
        array: DeviceArray<T, D>,
    ) -> PyDeviceArray {
        let (shape, address) = (array.shape().to_vec(), array.buffer().as_ptr().addr());
        PyDeviceArray::part_of(place, Arc::new(array), T::DTYPE, address, shape)
    }

    /// Makes an array of elements that `owner` keeps, in row-major order.
    pub fn part_of(
        place: &Place,
        owner: Arc<dyn Send + Sync>,
        dtype: DLDataType,
        address: usize,
        shape: Vec<usize>,
    ) -> PyDeviceArray {
        PyDeviceArray(Arc::new(Content {
            dtype,
            shape,
            address,
            _owner: owner,
            base: place.base.clone(),
            device: place.device.clone(),
            stream: place.stream.clone(),
        }))
    }

    pub fn content(&self) -> &Arc<Content> {
        &self.0
    }

    fn exported<M: ManagedTensorBase>(&self, is_foreign: bool) -> PyResult<Managed<M>> {
        let content = &*self.0;
        let owner = Export {
            content: self.0.clone(),
            is_foreign,
        };
        let exported = Dynamic::compact(&content.shape[..]).initialize_as::<M>(Box::new(owner));
        let mut exported = exported.map_err(|error| PyBufferError::new_err(error.to_string()))?;
        exported
            .set_data(content.address as *mut _)
            .set_dtype(content.dtype)
            .set_device(self.device_of_dlpack());
        // SAFETY: the elements are those of this shape and type, which the owner keeps.
        Ok(unsafe { exported.finish() })
    }

    fn device_of_dlpack(&self) -> DLDevice {
        match self.0.device.kind() {
            DeviceKind::Cuda { ordinal } => DLDevice::cuda(ordinal as i32),
            _ => DLDevice::CPU,
        }
    }
}

/// What keeps the elements for another library.
struct Export {
    content: Arc<Content>,
    /// Whether the other library works on the elements on another stream.
    is_foreign: bool,
}

impl Drop for Export {
    fn drop(&mut self) {
        if self.is_foreign {
            // Memory is freed in the order of the array's stream. The other stream may not exist
            // any more, so that all streams are waited for, without Python's lock, which their work
            // may take. Memory that work may still use is not freed.
            let wait = || self.content.device.synchronize_all();
            let waited = Python::try_attach(|py| py.detach(wait)).unwrap_or_else(wait);
            if waited.is_err() {
                std::mem::forget(self.content.clone());
            }
        }
    }
}

/// An export to a stream.
struct Exporter<'a> {
    array: &'a PyDeviceArray,
    is_foreign: bool,
}

impl DlpackExporter for Exporter<'_> {
    fn device(&self) -> DLDevice {
        self.array.device_of_dlpack()
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, py: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        let content = &self.array.0;
        if !self.is_foreign {
            return Ok(());
        }
        let Some(handle) = consumer_of(request)? else {
            return Ok(());
        };
        // SAFETY: by the protocol, the handle is that of a stream of the array's GPU.
        unsafe { make_wait(&content.device, handle) }.or_raise(py, "DeviceArray")
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.array.exported(self.is_foreign)
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.array.exported(self.is_foreign)
    }
}

/// Returns the handle of the stream that asks for an array; `None` if it asks for no order.
fn consumer_of(request: &ExportRequest<'_>) -> PyResult<Option<usize>> {
    Ok(match request.cuda_stream()? {
        CudaStreamRequest::NoSync => None,
        CudaStreamRequest::Omitted | CudaStreamRequest::LegacyDefault => Some(0),
        CudaStreamRequest::PerThreadDefault => Some(2),
        CudaStreamRequest::Pointer(handle) => Some(handle),
    })
}

#[pymethods]
impl PyDeviceArray {
    /// The lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.shape)
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.shape.len()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.0.shape.iter().product()
    }

    /// The bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.size() * usize::from(self.0.dtype.bits) / 8
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        if self.0.dtype == bf16::DTYPE {
            // It makes the dtype known to numpy.
            py.import("ml_dtypes")?;
        }
        PyArrayDescr::new(py, name_of(self.0.dtype))
    }

    /// The device that has the array in its memory.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice::of(self.0.base.clone())
    }

    /// Wait for the work on the array, and return a copy in the memory of the host.
    fn numpy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let argument = DeviceArgument::of_content(NUMPY, "self", &self.0);
        by_dtype!(
            argument,
            [f32, f64, f16, bf16, i32, i64, u8],
            downloaded(py, argument)
        )
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            let message = "a DeviceArray becomes a numpy array by a copy, or without by numpy.from_dlpack if its \
                           device is the CPU or the simulator";
            return Err(PyValueError::new_err(message));
        }
        let array = self.numpy(py)?.into_bound(py);
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let request = ExportRequest::parse(stream, max_version, dl_device, copy)?;
        let is_foreign = match &self.0.stream {
            Some(own) => consumer_of(&request)?.is_none_or(|handle| !own.is(handle)),
            None => false,
        };
        let exporter = Exporter {
            array: self,
            is_foreign,
        };
        export_dlpack(&exporter, py, request)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        self.device_of_dlpack().into()
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let content = &self.0;
        let (Some(stream), Some(typestr)) = (&content.stream, typestr_of(content.dtype)) else {
            return Err(PyAttributeError::new_err(format!(
                "an array of {} on {} has no CUDA array interface",
                name_of(content.dtype),
                content.device
            )));
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", typestr)?;
        // By the interface, arrays without elements have no address.
        let address = if self.size() == 0 { 0 } else { content.address };
        interface.set_item("data", (address, false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", stream.handle_in_interface())?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.0.shape.first().copied();
        first.ok_or_else(|| PyTypeError::new_err("an array without axes has no length"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Content { dtype, device, .. } = &*self.0;
        let shape = self.shape(py)?.repr()?;
        Ok(format!(
            "<DeviceArray {shape} {} on {device}>",
            name_of(*dtype)
        ))
    }
}

fn downloaded<T: Number + Element>(
    py: Python<'_>,
    argument: DeviceArgument,
) -> PyResult<Py<PyAny>> {
    let array = argument.array::<T, IxDyn>()?;
    let operations = array.len() as f64;
    let elements = call(py, NUMPY, operations, move || array.download())?;
    Ok(elements.into_pyarray(py).into_any().unbind())
}

/// Copies an array from the memory of the host to a device.
pub fn uploaded(
    py: Python<'_>,
    device: &Device,
    array: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyDeviceArray> {
    let stream = stream.map(|stream| RawStream::of(UPLOAD, stream));
    let place = Place::new(py, UPLOAD, device, stream.transpose()?)?;
    let argument = Argument::new(UPLOAD, "array", array)?;
    by_dtype!(
        argument,
        [f32, f64, f16, bf16, i32, i64, u8],
        upload(py, &place, &argument)
    )
}

fn upload<T: Number + Element + DlpackElement>(
    py: Python<'_>,
    place: &Place,
    argument: &Argument<'_>,
) -> PyResult<PyDeviceArray> {
    let input = argument.input::<T, IxDyn>(None)?;
    let device = place.device.clone();
    let operations = input.view().len() as f64;
    let array = call(py, UPLOAD, operations, move || device.upload(&input.view()))?;
    Ok(PyDeviceArray::new(place, array))
}
