//! Aggregates of one's own.

use cuda_std::DeviceParam;
use time_series_kernels::Aggregate;
use time_series_kernels::Kernels;

use super::gpu;
use super::series::Series;
use super::{Aggregation, CustomAggregates, Value, cpu};
use crate::device::Module;
use crate::device::{DeviceKind, Element};
use crate::{Device, Result};

/// An [`Aggregate`], and the kernels that run it on GPUs and in the simulator.
///
/// The folder `examples/custom_aggregate` of the repository shows one with a kernel crate of its own.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Aggregate, Aggregation, Custom, Point};
/// use ndarray::array;
///
/// /// Σ vᵢ²: the energy of a signal.
/// #[derive(Clone, Copy)]
/// struct Energy;
///
/// impl Aggregate for Energy {
///     type State = f64;
///     type Output = f64;
///     fn empty(&self) -> f64 { 0.0 }
///     fn push(&self, energy: f64, point: Point) -> f64 { energy + point.value * point.value }
///     fn merge(&self, earlier: f64, later: f64) -> f64 { earlier + later }
///     fn finish(&self, energy: f64) -> f64 { energy }
/// }
///
/// let (timestamps, values) = (array![0, 1, 9], array![1.0, 2.0, 3.0]);
/// let energy = Custom::new(Energy);
/// let found = Aggregation::every(5).run_custom_single(
///     &Device::cpu(), &energy, timestamps.view(), values.view(),
/// )?;
/// assert_eq!(found.results(), array![5.0, 9.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub struct Custom<A: Aggregate> {
    aggregate: A,
    launches: Option<Box<dyn gpu::Launches<A>>>,
}

impl<A: Aggregate> Custom<A> {
    /// For the CPU alone.
    pub fn new(aggregate: A) -> Custom<A> {
        Custom {
            aggregate,
            launches: None,
        }
    }

    /// For all devices: with the kernels that
    /// [`aggregate_kernels!`](https://docs.rs/gridstride_time_series_kernels) makes, and the module with their
    /// PTX.
    pub fn with_kernels(
        aggregate: A,
        module: &'static Module,
        kernels: &'static Kernels<A>,
    ) -> Custom<A>
    where
        A: DeviceParam + Send + Sync,
    {
        Custom {
            aggregate,
            launches: Some(Box::new(gpu::OwnKernels {
                aggregate,
                module,
                kernels,
            })),
        }
    }

    pub(super) fn run<T: Value>(
        &self,
        with: &Aggregation,
        device: &Device,
        series: &Series<T>,
    ) -> Result<CustomAggregates<A::Output>>
    where
        A: Aggregate<State: Send, Output: Element> + Send + Sync,
    {
        match device.kind() {
            DeviceKind::Cpu => cpu::custom(with, &self.aggregate, series),
            _ => gpu::custom(with, device, self.launches.as_deref(), series),
        }
    }
}
