//! Recognises arrays in the memory of a device.

use dlpark::ffi::DLDeviceType;
use gridstride::Device;
use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;

use super::array::PyDeviceArray;
use crate::device::named;
use crate::objects::is_list;

/// The location of an argument.
pub enum Location<'a, 'py> {
    /// An array of this package.
    Own(&'a Bound<'py, PyDeviceArray>),
    /// A GPU, by DLPack.
    Dlpack(usize),
    /// A GPU that the CUDA array interface does not name.
    Interface,
}

impl<'a, 'py> Location<'a, 'py> {
    /// Returns `None` for the memory of the host, and for what is no array.
    pub fn of(object: &'a Bound<'py, PyAny>) -> PyResult<Option<Location<'a, 'py>>> {
        let py = object.py();
        if object.cast_exact::<PyUntypedArray>().is_ok() {
            return Ok(None);
        }
        if let Ok(array) = object.cast::<PyDeviceArray>() {
            return Ok(Some(Location::Own(array)));
        }
        if let Some(method) = object.getattr_opt(intern!(py, "__dlpack_device__"))? {
            // It fails for arrays of pyarrow with nulls, and of types that DLPack does not have.
            let device = method.call0().and_then(|device| device.extract());
            let Ok((kind, number)) = device as PyResult<(u32, usize)> else {
                return Ok(None);
            };
            let on_gpu = [DLDeviceType::CUDA.0, DLDeviceType::CUDAMANAGED.0].contains(&kind);
            return Ok(on_gpu.then_some(Location::Dlpack(number)));
        }
        let interface = object.getattr_opt(intern!(py, "__cuda_array_interface__"))?;
        Ok(interface.is_some().then_some(Location::Interface))
    }

    pub fn device(&self, py: Python<'_>) -> PyResult<Device> {
        match self {
            Location::Own(array) => Ok(array.get().content().base.clone()),
            Location::Dlpack(number) => named(py, &format!("cuda:{number}")),
            Location::Interface => named(py, "cuda"),
        }
    }
}

/// Returns whether an object is an array in the memory of a device.
pub fn on_device(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(Location::of(array)?.is_some())
}

/// Returns whether an object is a list or a tuple with a DeviceArray, which numpy would copy to the
/// host. Up to three lists may be within each other, such as for a batch of matrices.
pub fn lists_device_arrays(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    lists_within(object, 3)
}

fn lists_within(object: &Bound<'_, PyAny>, levels: u32) -> PyResult<bool> {
    if levels == 0 || !is_list(object) {
        return Ok(false);
    }
    for item in object.try_iter()? {
        let item = item?;
        if item.is_instance_of::<PyDeviceArray>() || lists_within(&item, levels - 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}
