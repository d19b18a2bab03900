//! How kernels are launched: functions of what is sketched and of the device.

pub(super) mod direct;
pub(super) mod fourier;
pub(super) mod windows;
