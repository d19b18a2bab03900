//! Kernels of user-defined aggregates.

use cuda_std::DeviceParam;
use cuda_std::DeviceSliceMut;
use time_series_kernels::{
    Aggregate, Buckets, Join, Kernels, Parameter, Pieces, Points, Progress, Units,
};

use crate::device::{LaunchConfig, Module};
use crate::{Device, Result};

/// What the kernel that aggregates takes besides the aggregate.
pub type ReduceArguments<A> = (
    Points<f64>,
    Progress,
    Buckets,
    Pieces<<A as Aggregate>::State>,
    DeviceSliceMut<<A as Aggregate>::Output>,
);

/// What the kernel that joins takes besides the aggregate.
pub type JoinArguments<A> = (
    Units,
    Join<<A as Aggregate>::State>,
    DeviceSliceMut<<A as Aggregate>::Output>,
);

/// The kernels of an aggregate, ready to be launched: an aggregate for the CPU alone need not be a parameter of
/// kernels.
pub trait Launches<A: Aggregate>: Send + Sync {
    /// # Safety
    /// As of the kernel.
    unsafe fn reduce(
        &self,
        device: &Device,
        config: LaunchConfig,
        arguments: ReduceArguments<A>,
    ) -> Result<()>;

    /// # Safety
    /// As of the kernel.
    unsafe fn join(
        &self,
        device: &Device,
        config: LaunchConfig,
        arguments: JoinArguments<A>,
    ) -> Result<()>;
}

/// An aggregate with its kernels.
pub struct CustomKernels<A: Aggregate> {
    pub aggregate: A,
    pub module: &'static Module,
    pub kernels: &'static Kernels<A>,
}

impl<A: Aggregate + DeviceParam + Send + Sync> Launches<A> for CustomKernels<A> {
    unsafe fn reduce(
        &self,
        device: &Device,
        config: LaunchConfig,
        (points, progress, buckets, pieces, results): ReduceArguments<A>,
    ) -> Result<()> {
        let aggregate = Parameter::new(self.aggregate);
        let arguments = (aggregate, points, progress, buckets, pieces, results);
        // SAFETY: passed on to the caller.
        unsafe { device.launch(self.module, self.kernels.reduce(), config, arguments) }
    }

    unsafe fn join(
        &self,
        device: &Device,
        config: LaunchConfig,
        (units, pieces, results): JoinArguments<A>,
    ) -> Result<()> {
        let aggregate = Parameter::new(self.aggregate);
        let arguments = (aggregate, units, pieces, results);
        // SAFETY: passed on to the caller.
        unsafe { device.launch(self.module, self.kernels.join(), config, arguments) }
    }
}
