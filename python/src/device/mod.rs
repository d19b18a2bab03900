//! Devices, and the argument `device`.

mod methods;

use std::sync::OnceLock;

use gridstride::Device;
use gridstride::device::{DeviceName, UnknownDevice};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::OrRaise;

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
    let name = name.parse();
    match name.map_err(|error: UnknownDevice| PyValueError::new_err(error.to_string()))? {
        DeviceName::Auto => Ok(py.detach(auto)),
        name => py.detach(|| name.open()).or_raise(py, "Device"),
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
            let type_name = object.get_type();
            let message = format!(
                "device is {type_name}, but has to be a Device, its name, or several of them"
            );
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
