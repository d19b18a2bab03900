//! The types of values.

use gridstride_runtime::device::Element;
use gridstride_runtime::{Real, Result};
use time_series_kernels::Aggregate;

use super::custom::Custom;
use super::device_output::{DeviceAggregates, DeviceCustomAggregates};
use super::input::DeviceSeries;
use super::values::HostValue;

/// A type of values: `f64` or `f32`. Everything is computed in `f64`.
pub trait Value: Real + Dispatch {}

impl Value for f64 {}
impl Value for f32 {}

/// The implementations for a type of values: `dispatch.rs` compiles them, so that callers need not.
pub trait Dispatch: Real + HostValue {
    /// Aggregates series in the memory of a device.
    fn device(series: &DeviceSeries<Self>) -> Result<DeviceAggregates>;

    /// Aggregates series in the memory of a device by a user-defined aggregate.
    fn custom_device<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
        custom: &Custom<A>,
        series: &DeviceSeries<Self>,
    ) -> Result<DeviceCustomAggregates<A::Output>>;
}
