//! Sets of devices.

use super::Device;

/// Where a call over arrays of the host runs: a [`Device`], or several, over which it divides its work.
///
/// A `Vec`, an array or a slice of devices is a set. Each device gets parts of the work, rows, sequences, series or
/// chunks, in which it is free: a faster one does more of them. So results do not depend on the number of devices, as
/// long as they are of one kind, but for the order of additions where a module's documentation says so. Clones of a
/// device with a [limit](Device::with_memory_limit) share it; devices of a set should have a limit each.
///
/// ```
/// use gridstride::Device;
/// use gridstride::matmul::matmul;
/// use ndarray::array;
///
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// let devices = [Device::simulator()?, Device::simulator()?]; // or Device::gpus()
/// assert_eq!(matmul(&devices, a.view(), a.view())?, a.dot(&a));
/// # Ok::<(), gridstride::Error>(())
/// ```
pub trait DeviceSet: Sync {
    /// The devices.
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
