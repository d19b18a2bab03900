//! The GPUs of this machine.

use std::ffi::CStr;

use crate::error::CudaResult;
use crate::sys::{self, CUdevice, CUdevice_attribute};

attributes! {
    /// A property of a device.
    DeviceAttribute: CUdevice_attribute
    /// The number of multiprocessors.
    MultiprocessorCount = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    /// The major number of the compute capability.
    ComputeCapabilityMajor = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    /// The minor number of the compute capability.
    ComputeCapabilityMinor = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    /// The most threads of a multiprocessor.
    MaxThreadsPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    /// Bytes of shared memory that a block may have if its kernel opts in.
    MaxSharedMemoryPerBlockOptin = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    /// Whether the device has memory pools.
    MemoryPoolsSupported = CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
}

/// A handle to a device.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Device {
    pub(crate) device: CUdevice,
}

impl Device {
    /// Returns the number of devices.
    ///
    /// # Errors
    ///
    /// If the driver is not initialised.
    pub fn num_devices() -> CudaResult<u32> {
        let mut count = 0;
        // SAFETY: it writes one integer.
        unsafe { sys::cuDeviceGetCount(&mut count) }.to_result()?;
        Ok(count as u32)
    }

    /// Returns device `ordinal` of `0..num_devices()`.
    ///
    /// # Errors
    ///
    /// If there is no such device.
    pub fn get_device(ordinal: u32) -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: it writes one integer.
        unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) }.to_result()?;
        Ok(Device { device })
    }

    /// Returns the device's memory in bytes.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn total_memory(self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: it writes one integer; the device is the driver's.
        unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, self.device) }.to_result()?;
        Ok(bytes)
    }

    /// Returns the device's name.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0u8; 128];
        let length = name.len() as i32;
        // SAFETY: it writes at most `length` bytes; the device is the driver's.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), length, self.device) }
            .to_result()?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns a property of the device.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: it writes one integer; the device is the driver's.
        unsafe { sys::cuDeviceGetAttribute(&mut value, attribute.raw(), self.device) }
            .to_result()?;
        Ok(value)
    }

    /// Returns the driver's handle.
    pub fn as_raw(&self) -> CUdevice {
        self.device
    }
}
