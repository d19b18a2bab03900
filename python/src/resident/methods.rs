//! The methods of `DeviceArray`, and copies to and from devices.

use dlpark::DlpackElement;
use dlpark::python::ExportRequest;
use gridstride::Device;
use gridstride::device::Element;
use gridstride::half::{bf16, f16};
use gridstride::ndarray::IxDyn;
use numpy::{IntoPyArray, PyArrayDescr};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::argument::DeviceArgument;
use super::array::{Content, PyDeviceArray};
use super::dtype::{name_of, typestr_of};
use super::place::Place;
use super::stream::RawStream;
use crate::array::Argument;
use crate::call::call;
use crate::device::PyDevice;
use crate::number::{Number, by_dtype};

const NUMPY: &str = "DeviceArray.numpy";
const UPLOAD: &str = "Device.upload";

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
        self.export(py, request)
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
