//! User-defined aggregates.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use cuda_std::DeviceParam;
use time_series_kernels::{Aggregate, Kernels};

use super::gpu;
use crate::device::Module;
use crate::{Device, Error, Result};

/// An [`Aggregate`], and the kernels that compute it on GPUs and in the simulator.
///
/// The folder `examples/custom_aggregate` of the repository shows one with its kernel crate.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Aggregate, TimeBuckets, Custom, Point};
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
/// let found = TimeBuckets::every(5)
///     .custom(&Device::cpu(), &energy, timestamps.view(), values.view())?;
/// assert_eq!(found.results(), array![5.0, 9.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone)]
pub struct Custom<A: Aggregate> {
    pub(super) aggregate: A,
    launches: Option<Arc<dyn gpu::Launches<A>>>,
}

impl<A: Aggregate> Custom<A> {
    /// Returns an aggregate for the CPU only.
    pub fn new(aggregate: A) -> Custom<A> {
        Custom {
            aggregate,
            launches: None,
        }
    }

    /// Returns an aggregate for all devices, with the kernels that
    /// [`aggregate_kernels!`](https://docs.rs/gridstride_time_series_kernels) makes, and the module
    /// that has their PTX.
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
            launches: Some(Arc::new(gpu::CustomKernels {
                aggregate,
                module,
                kernels,
            })),
        }
    }

    /// Returns the kernels. Fails if there are none.
    pub(super) fn launches(&self, device: &Device) -> Result<&dyn gpu::Launches<A>> {
        self.launches.as_deref().ok_or_else(|| Error::Unavailable {
            device: device.to_string(),
            reason: "it runs kernels, and the aggregate has none: use Custom::with_kernels".into(),
        })
    }
}

impl<A: Aggregate> fmt::Debug for Custom<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels = match self.launches {
            Some(_) => "with kernels",
            None => "for the CPU only",
        };
        write!(f, "Custom<{}>({kernels})", type_name::<A>())
    }
}
