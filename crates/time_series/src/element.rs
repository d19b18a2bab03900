//! The types of values.

use gridstride_runtime::device::Element;
use gridstride_runtime::{Device, Real, Result};
use time_series_kernels::Aggregate;

use super::custom::Custom;
use super::device_output::{DeviceAggregates, DeviceCustomAggregates};
use super::input::{DeviceSeries, Series};
use super::output::{CustomAggregates, Summaries};
use super::room::Found;
use super::states::BucketState;

/// A type of values: `f64` or `f32`. Everything is computed in `f64`.
pub trait Value: Real + Dispatch {}

impl Value for f64 {}
impl Value for f32 {}

/// The implementations for a type of values: `dispatch.rs` compiles them, so that callers need not.
pub trait Dispatch: Real {
    /// Aggregates series on the host, with all of the devices.
    fn host(devices: &[Device], series: &Series<Self>) -> Result<Found>;

    /// Aggregates series in the memory of a device.
    fn device(series: &DeviceSeries<Self>) -> Result<DeviceAggregates>;

    /// Summarises series on the host, with all of the devices.
    fn summaries<S: BucketState>(devices: &[Device], series: &Series<Self>)
    -> Result<Summaries<S>>;

    /// Aggregates series on the host by a user-defined aggregate, with all of the devices.
    fn custom<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
        custom: &Custom<A>,
        devices: &[Device],
        series: &Series<Self>,
    ) -> Result<CustomAggregates<A::Output>>;

    /// Aggregates series in the memory of a device by a user-defined aggregate.
    fn custom_device<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
        custom: &Custom<A>,
        series: &DeviceSeries<Self>,
    ) -> Result<DeviceCustomAggregates<A::Output>>;
}
