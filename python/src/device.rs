//! Devices, and the argument `device`.

use std::sync::OnceLock;

use gridstride::Device;
use gridstride::device::DeviceKind;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::error::{OrRaise, not_negative};
use crate::resident::{PyDeviceArray, uploaded};

/// A device: the CPU, an NVIDIA GPU, or the simulator, which runs the GPU's kernels on the CPU.
///
/// Parameters
/// ----------
/// name : str
///     'auto', 'cpu', 'cuda' (the same as 'cuda:0'), 'cuda:1' and so on, or 'simulator'. 'auto' is
///     the first GPU, or else the CPU. Each 'simulator' is a new device.
///
/// Raises
/// ------
/// RuntimeError
///     If there is no such GPU, no driver, or no simulator in this build.
///
/// Examples
/// --------
/// >>> from gridstride import Device
/// >>> Device("cpu")
/// <Device cpu>
/// >>> Device("cpu").with_memory_limit(2**20)
/// <Device cpu, at most 1048576 bytes>
#[pyclass(frozen, name = "Device", module = "gridstride")]
pub struct PyDevice(Device);

impl PyDevice {
    /// Makes a handle for Python.
    pub fn of(device: Device) -> PyDevice {
        PyDevice(device)
    }
}

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

/// Return the usable devices: the CPU, the simulator if this build has it, and the GPUs.
#[pyfunction]
pub fn devices(py: Python<'_>) -> Vec<PyDevice> {
    py.detach(|| {
        let host = [Device::cpu()].into_iter().chain(Device::simulator().ok());
        host.chain(Device::gpus()).map(PyDevice).collect()
    })
}

/// Return the usable GPUs.
#[pyfunction]
pub fn gpus(py: Python<'_>) -> Vec<PyDevice> {
    py.detach(|| Device::gpus().into_iter().map(PyDevice).collect())
}

/// Returns the device with a name.
pub fn named(py: Python<'_>, name: &str) -> PyResult<Device> {
    match name {
        "auto" => Ok(py.detach(auto)),
        "cpu" => Ok(Device::cpu()),
        "simulator" => Device::simulator().or_raise(py, "Device"),
        "cuda" => py.detach(|| Device::cuda(0)).or_raise(py, "Device"),
        _ => {
            let ordinal = name.strip_prefix("cuda:");
            let Some(ordinal) = ordinal.and_then(|ordinal| ordinal.parse().ok()) else {
                let message = format!(
                    "there is no device {name:?}: possible are auto, cpu, cuda (the same as cuda:0), cuda:N \
                     and simulator"
                );
                return Err(PyValueError::new_err(message));
            };
            py.detach(|| Device::cuda(ordinal)).or_raise(py, "Device")
        }
    }
}

/// Returns the first GPU, or else the CPU. The device stays open, since opening a GPU takes long.
fn auto() -> Device {
    static AUTO: OnceLock<Device> = OnceLock::new();
    AUTO.get_or_init(Device::auto).clone()
}

/// The argument `device`: a [`PyDevice`], a name, several of them, or by default the best device.
pub struct Devices(Vec<Device>);

impl Devices {
    /// Returns the devices of an optional argument.
    pub fn of(py: Python<'_>, argument: Option<Devices>) -> Vec<Device> {
        match argument {
            Some(Devices(devices)) => devices,
            None => vec![py.detach(auto)],
        }
    }

    /// Returns the only device of an optional argument.
    ///
    /// # Errors
    /// ValueError for several devices.
    pub fn one_of(py: Python<'_>, operation: &str, argument: Option<Devices>) -> PyResult<Device> {
        Devices(Devices::of(py, argument)).only(operation)
    }

    /// Returns the only device.
    ///
    /// # Errors
    /// ValueError for several devices, or none.
    pub fn only(&self, operation: &str) -> PyResult<Device> {
        match &self.0[..] {
            [device] => Ok(device.clone()),
            devices => Err(PyValueError::new_err(format!(
                "{operation}: there are {} devices, but it runs on one",
                devices.len()
            ))),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Devices {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Devices> {
        if let Some(device) = one(&object)? {
            return Ok(Devices(vec![device]));
        }
        let refuse = |object: &Bound<'py, PyAny>| {
            let found = object.get_type();
            let message =
                format!("device is {found}, but has to be a Device, its name, or several of them");
            PyTypeError::new_err(message)
        };
        let Ok(items) = object.try_iter() else {
            return Err(refuse(&object));
        };
        let devices = items.map(|item| {
            let item = item?;
            one(&item)?.ok_or_else(|| refuse(&item))
        });
        devices.collect::<PyResult<_>>().map(Devices)
    }
}

fn one(object: &Bound<'_, PyAny>) -> PyResult<Option<Device>> {
    if let Ok(device) = object.cast::<PyDevice>() {
        return Ok(Some(device.get().0.clone()));
    }
    match object.cast::<PyString>() {
        Ok(name) => named(object.py(), &name.to_cow()?).map(Some),
        Err(_) => Ok(None),
    }
}
