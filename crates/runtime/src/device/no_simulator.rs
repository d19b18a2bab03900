//! Replaces the module `simulator` in builds without the feature: its type has no values.

use super::LaunchConfig;
use super::gate::Gate;
use super::host_allocation::{Content, Elements, HostMemory};
use crate::{Error, Result};
use cuda_std::host::{Kernel, KernelArgs};
use std::alloc::Layout;
use std::convert::Infallible;

#[derive(Clone)]
pub struct Simulator(Infallible);

impl Simulator {
    pub fn open() -> Result<Simulator> {
        Err(Error::Unavailable {
            device: "simulator".into(),
            reason: "gridstride was built without its feature `simulator`: build with `--features simulator`"
                .into(),
        })
    }

    pub fn number(&self) -> u64 {
        match self.0 {}
    }

    pub fn gate(&self) -> &Gate {
        match self.0 {}
    }

    pub fn shared_memory_per_block(&self) -> u32 {
        match self.0 {}
    }

    pub fn allocate(&self, _: Layout, _: Content, _: Elements) -> Result<HostMemory> {
        match self.0 {}
    }

    pub unsafe fn launch<A: KernelArgs>(&self, _: &Kernel<A>, _: LaunchConfig, _: A) -> Result<()> {
        match self.0 {}
    }
}
