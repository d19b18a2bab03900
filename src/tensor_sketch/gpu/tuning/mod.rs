//! How kernels are launched: functions of what is sketched and of the device.

pub mod direct;
pub mod fourier;
