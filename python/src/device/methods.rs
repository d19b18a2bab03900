//! The methods of `Device`.

use gridstride::device::DeviceKind;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{PyDevice, named};
use crate::error::{OrRaise, not_negative};
use crate::resident::{PyDeviceArray, uploaded};

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (name = "auto"))]
    fn new(py: Python<'_>, name: &str) -> PyResult<PyDevice> {
        named(py, name).map(PyDevice)
    }

    /// The name with which `Device` opens it: 'cpu', 'cuda:0' and so on, or 'simulator'.
    #[getter]
    fn name(&self) -> String {
        self.0.kind().to_string()
    }

    /// 'cpu', 'cuda' or 'simulator'.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            DeviceKind::Cuda { .. } => "cuda",
            DeviceKind::Simulator => "simulator",
            _ => "cpu",
        }
    }

    /// A line with the name, memory and other properties.
    #[getter]
    fn info(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.info().to_string())
    }

    /// The memory of a GPU in bytes.
    #[getter]
    fn total_memory(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.0.info().total_memory)
    }

    /// The free memory of a GPU in bytes.
    #[getter]
    fn free_memory(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.0.info().free_memory)
    }

    /// The compute capability, or None for the CPU.
    #[getter]
    fn compute_capability(&self) -> Option<(u32, u32)> {
        self.0.info().compute_capability
    }

    /// The limit in bytes, if there is one.
    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.0.memory_limit()
    }

    /// The bytes that are in use below the limit, if there is one.
    #[getter]
    fn memory_used(&self) -> Option<u64> {
        self.0.memory_used()
    }

    /// Return the same device with a limit: calls divide their work so that they use at most
    /// `bytes` of its memory.
    fn with_memory_limit(&self, bytes: i128) -> PyResult<PyDevice> {
        let bytes = not_negative("with_memory_limit", "bytes", bytes)?;
        Ok(PyDevice(self.0.with_memory_limit(bytes)))
    }

    /// Copy an array to the memory of the device.
    ///
    /// Parameters
    /// ----------
    /// array : array_like
    ///     float32, float64, float16, bfloat16, int32, int64 or uint8, with any strides and at most 32
    ///     axes.
    /// stream : int or stream of torch, cupy or numba, optional
    ///     The stream of a GPU that orders the work on the array. The default is CUDA's legacy
    ///     default stream.
    ///
    /// Returns
    /// -------
    /// DeviceArray
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np
    /// >>> from gridstride import Device
    /// >>> Device("cpu").upload(np.arange(3.0))
    /// <DeviceArray (3,) float64 on cpu>
    #[pyo3(signature = (array, *, stream = None))]
    fn upload(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDeviceArray> {
        uploaded(py, &self.0, array, stream)
    }

    /// Wait for all work on the device, of all streams.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize_all())
            .or_raise(py, "Device")
    }

    /// Pickles hold the name and the limit, so that other processes open the device themselves.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let name = self.name();
        let Some(bytes) = self.0.memory_limit() else {
            let class = py.get_type::<PyDevice>().into_any();
            return Ok((class, PyTuple::new(py, [name])?));
        };
        let unlimited = Bound::new(py, PyDevice::new(py, &name)?)?;
        let limit = (intern!(py, "with_memory_limit"), bytes);
        let limit = py.import("operator")?.call_method1("methodcaller", limit)?;
        Ok((limit, PyTuple::new(py, [unlimited])?))
    }

    fn __copy__(device: Py<PyDevice>) -> Py<PyDevice> {
        device
    }

    fn __deepcopy__(device: Py<PyDevice>, _memo: &Bound<'_, PyAny>) -> Py<PyDevice> {
        device
    }

    fn __repr__(&self) -> String {
        match self.0.memory_limit() {
            Some(bytes) => format!("<Device {}, at most {bytes} bytes>", self.0),
            None => format!("<Device {}>", self.0),
        }
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDevice>().is_ok_and(|other| {
            let other = &other.get().0;
            self.0.same_as(other) && self.0.memory_limit() == other.memory_limit()
        })
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};

        let mut hasher = DefaultHasher::new();
        self.0.id().hash(&mut hasher);
        hasher.finish()
    }
}
