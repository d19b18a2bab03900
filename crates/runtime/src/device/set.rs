//! Sets of devices.

use std::sync::Arc;

use super::Device;

/// The devices on which a call with host arrays runs: a [`Device`], or several.
///
/// A `Vec`, an array or a slice of devices is a set, and so are references, boxes and `Arc`s of
/// sets, such as a `Box<dyn DeviceSet>` that a program's options choose. Each device takes the next
/// partition of the work (rows, sequences, series or chunks) when it is free, so faster devices do
/// more. Results do not depend on the number of devices of one kind, except for the order of additions
/// if a module's documentation says so. Clones of a device with a [limit](Device::with_memory_limit)
/// share the limit; give each device of a set its own.
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
pub trait DeviceSet: Send + Sync {
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

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<D: DeviceSet + ?Sized> DeviceSet for $pointer {
            fn devices(&self) -> &[Device] {
                (**self).devices()
            }
        }
    )*};
}
pointers! { &D, Box<D>, Arc<D> }

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls take sets as these do.
    fn count(devices: &(impl DeviceSet + ?Sized)) -> usize {
        devices.devices().len()
    }

    #[test]
    fn pointers_to_sets_are_sets() {
        let (one, two) = (Device::cpu(), [Device::cpu(), Device::cpu()]);
        assert_eq!(
            [count(&one), count(&&one), count(&Arc::new(one.clone()))],
            [1; 3]
        );
        let slice: &[Device] = &two;
        assert_eq!([count(slice), count(&slice), count(&two.to_vec())], [2; 3]);
        let chosen: [Box<dyn DeviceSet>; 2] = [Box::new(one), Box::new(two)];
        assert_eq!(
            [count(&chosen[0]), count(&*chosen[0]), count(&chosen[1])],
            [1, 1, 2]
        );
        let shared: Arc<dyn DeviceSet> = Arc::new(Vec::new());
        assert_eq!(count(&shared), 0);
    }
}
