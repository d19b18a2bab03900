//! The types of values.

use super::device_output::{DeviceAggregates, DeviceSummaries};
use super::gpu::HasKernels;
use super::input::{DeviceSeries, Series};
use super::output::{Aggregates, Summaries};
use crate::{Device, Real, Result};

/// A type of values: `f64` or `f32`. Everything is computed in `f64`.
pub trait Value: Real + Dispatch {}

impl Value for f64 {}
impl Value for f32 {}

/// The implementations for a type of values: `dispatch.rs` compiles them, so that callers need not.
pub trait Dispatch: Real + HasKernels {
    /// Aggregates series on the host, with all of the devices.
    fn host(devices: &[Device], series: &Series<Self>) -> Result<Aggregates>;

    /// Aggregates series in the memory of a device.
    fn device(series: &DeviceSeries<Self>) -> Result<DeviceAggregates>;

    /// Summarises series on the host, with all of the devices.
    fn summaries(devices: &[Device], series: &Series<Self>) -> Result<Summaries>;

    /// Summarises series in the memory of a device.
    fn summaries_device(series: &DeviceSeries<Self>) -> Result<DeviceSummaries>;
}
