//! User-defined aggregates.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use cuda_std::{DeviceParam, DeviceSliceMut};
use gridstride_runtime::device::{LaunchConfig, Module};
use gridstride_runtime::{Device, Error, Result};
use time_series_kernels::{
    Aggregate, Buckets, Join, Kernels, Parameter, Pieces, Points, Reports, Units,
};

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
    launches: Option<Arc<dyn Launches<A>>>,
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
            launches: Some(Arc::new(CustomKernels {
                aggregate,
                module,
                kernels,
            })),
        }
    }

    /// Returns the kernels. Fails if there are none.
    pub(super) fn launches(&self, device: &Device) -> Result<&dyn Launches<A>> {
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

/// The tiles that a launch aggregates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TileFilter {
    All,
    /// Tiles with short buckets.
    Short,
    /// Tiles that a launch for short buckets left out.
    LeftOut,
}

/// Memory for states of any type.
#[derive(Clone, Copy)]
pub struct AnyPieces {
    pub lead: *mut u64,
    pub trail: *mut u64,
    /// The number of states of each.
    pub units: usize,
}

impl AnyPieces {
    /// # Safety
    /// There is memory for `units` states of type `S` at both addresses, aligned for `S`, and it
    /// lives until the launches with it end.
    pub unsafe fn of<S>(self) -> Pieces<S> {
        // SAFETY: the caller has aligned memory for `units` states at `start`, which is one of the
        // addresses.
        let states =
            |start: *mut u64| unsafe { DeviceSliceMut::from_raw_parts(start.cast(), self.units) };
        Pieces {
            lead: states(self.lead),
            trail: states(self.trail),
        }
    }

    /// # Safety
    /// As for [`of`](Self::of), of both.
    pub unsafe fn join<S>([pieces, joined]: [AnyPieces; 2]) -> Join<S> {
        // SAFETY: the caller has memory for the states of both.
        unsafe {
            Join {
                pieces: pieces.of(),
                joined: joined.of(),
            }
        }
    }
}

/// The arguments of a kernel of a pass, except the aggregate and the room for results.
pub enum KernelArguments<V> {
    Reduce(TileFilter, Points<V>, Reports, Buckets, AnyPieces),
    /// With the states to join, and room for the states that blocks leave.
    Join(TileFilter, Units, [AnyPieces; 2]),
}

/// Launches the kernels of an aggregate. A trait object, since only an aggregate with kernels has
/// to be a [`DeviceParam`].
pub trait Launches<A: Aggregate>: Send + Sync {
    /// # Safety
    /// The contract of the kernel, with memory for states of type `A::State`.
    unsafe fn launch(
        &self,
        device: &Device,
        config: LaunchConfig,
        arguments: KernelArguments<f64>,
        results: DeviceSliceMut<A::Output>,
    ) -> Result<()>;
}

/// An aggregate with its kernels.
struct CustomKernels<A: Aggregate> {
    aggregate: A,
    module: &'static Module,
    kernels: &'static Kernels<A>,
}

impl<A: Aggregate + DeviceParam + Send + Sync> Launches<A> for CustomKernels<A> {
    unsafe fn launch(
        &self,
        device: &Device,
        config: LaunchConfig,
        arguments: KernelArguments<f64>,
        results: DeviceSliceMut<A::Output>,
    ) -> Result<()> {
        let aggregate = Parameter::new(self.aggregate);
        // SAFETY: the caller has memory for the states, and keeps the kernel's contract.
        unsafe {
            match arguments {
                KernelArguments::Reduce(_, points, reports, buckets, pieces) => {
                    let arguments = (aggregate, points, reports, buckets, pieces.of(), results);
                    device.launch(self.module, self.kernels.reduce(), config, arguments)
                }
                KernelArguments::Join(_, units, pieces) => {
                    let arguments = (aggregate, units, AnyPieces::join(pieces), results);
                    device.launch(self.module, self.kernels.join(), config, arguments)
                }
            }
        }
    }
}
