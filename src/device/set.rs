//! Sets of devices.

use super::Device;

/// The devices on which a call with host arrays runs: a [`Device`], or several.
///
/// A `Vec`, an array or a slice of devices is a set. Each device takes the next partition of the
/// work (rows, sequences, series or chunks) when it is free, so faster devices do more. Results do
/// not depend on the number of devices of one kind, except for the order of additions if a module's
/// documentation says so. Clones of a device with a [limit](Device::with_memory_limit) share the
/// limit; give each device of a set its own.
///
/// ```
/// use gridstride::{Device, matmul::matmul};
/// use ndarray::array;
///
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// let devices = [Device::simulator()?, Device::simulator()?]; // or Device::gpus()
/// assert_eq!(matmul(&devices, a.view(), a.view())?, a.dot(&a));
/// # Ok::<(), gridstride::Error>(())
/// ```
pub trait DeviceSet: Sync {
    /// Returns the devices.
    fn devices(&self) -> &[Device];
}

impl DeviceSet for Device {
    fn devices(&self) -> &[Device] {
        std::slice::from_ref(self)
    }
}

impl DeviceSet for [Device] {
    fn devices(&self) -> &[Device] {
        self
    }
}

impl<const N: usize> DeviceSet for [Device; N] {
    fn devices(&self) -> &[Device] {
        self
    }
}

impl DeviceSet for Vec<Device> {
    fn devices(&self) -> &[Device] {
        self
    }
}
