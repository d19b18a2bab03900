//! The class `DeviceArray`.

use std::sync::Arc;

use dlpark::DlpackFlags;
use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::{CudaStreamRequest, DlpackExporter, ExportRequest, export_dlpack};
use dlpark::{Managed, ManagedTensorBase};
use gridstride::Device;
use gridstride::device::{DeviceArray, DeviceKind, Element};
use gridstride::ndarray::Dimension;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::place::Place;
use super::stream::{RawStream, make_wait};
use crate::error::OrRaise;
use crate::number::Number;

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
pub struct PyDeviceArray(pub(super) Arc<Content>);

/// The part of a [`PyDeviceArray`] that calls and other libraries share.
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

    /// Exports the array by DLPack.
    pub fn export(&self, py: Python<'_>, request: ExportRequest<'_>) -> PyResult<Py<PyAny>> {
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

    pub fn device_of_dlpack(&self) -> DLDevice {
        match self.0.device.kind() {
            DeviceKind::Cuda { ordinal } => DLDevice::cuda(ordinal as i32),
            _ => DLDevice::CPU,
        }
    }
}

/// Keeps the elements for another library.
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
