//! Takes the place of the module `cuda` in builds without that feature: a GPU that cannot exist.

use super::{DeviceInfo, Element, LaunchConfig, Module};
use crate::{Error, Result};
use std::convert::Infallible;
use std::ffi::c_void;
use std::marker::PhantomData;

pub fn count() -> usize {
    0
}

#[derive(Clone)]
pub struct Gpu(Infallible);

#[derive(Debug)]
pub struct Event(Infallible);

pub struct Allocation(Infallible);

pub struct HostAllocation<T>(Gpu, PhantomData<T>);

impl Gpu {
    pub fn open(ordinal: usize) -> Result<Gpu> {
        Err(Error::Unavailable {
            device: format!("cuda:{ordinal}"),
            reason: "gridstride was built without its feature `cuda`".into(),
        })
    }
}

/// Methods that nothing can call.
macro_rules! never {
    ($($type:ident { $(fn $name:ident(self $(, $argument:ty)*) $(-> $result:ty)?;)* })*) => {$(
        impl $type {
            $(pub fn $name(&self $(, _: $argument)*) $(-> $result)? {
                match self.0 {}
            })*
        }
    )*};
}
never! {
    Gpu {
        fn ordinal(self) -> usize;
        fn compute_capability(self) -> (u32, u32);
        fn shared_memory_per_block(self) -> u32;
        fn multiprocessors(self) -> usize;
        fn total_memory(self) -> u64;
        fn info(self) -> DeviceInfo;
        fn with_new_stream(self) -> Result<Gpu>;
        fn shares_stream(self, &Gpu) -> bool;
        fn wait_for(self, &Gpu) -> Result<()>;
        fn synchronize(self) -> Result<()>;
        fn is_idle(self) -> bool;
        fn event(self) -> Result<Event>;
        fn record(self, &Event) -> Result<()>;
        fn wait(self, &Event) -> Result<()>;
        fn use_any_buffer(self) -> Result<()>;
        fn use_own_buffers(self);
        fn allocate(self, usize) -> Result<Allocation>;
    }
    Event {
        fn synchronize(self) -> Result<()>;
        fn milliseconds_since(self, &Event) -> Result<Option<f32>>;
    }
    Allocation {
        fn address(self) -> u64;
        fn fill_zero(self, usize) -> Result<()>;
        fn copy_from(self, &[u8]) -> Result<()>;
        fn copy_to(self, usize, &mut [u8]) -> Result<()>;
    }
}

impl Gpu {
    pub unsafe fn launch(
        &self,
        _: &'static Module,
        _: &'static str,
        _: LaunchConfig,
        _: &mut [*mut c_void],
    ) -> Result<()> {
        match self.0 {}
    }
}

impl Allocation {
    pub fn pass_to(&mut self, _: &Gpu) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn start_copy_from(&self, _: &Gpu, _: usize, _: &[u8]) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn start_copy_of(&self, _: &Gpu, _: &Allocation, _: usize) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn start_copy_to(&self, _: &Gpu, _: usize, _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }
}

impl<T: Element> HostAllocation<T> {
    pub fn new(gpu: &Gpu, _: usize) -> Result<Self> {
        match gpu.0 {}
    }

    pub fn as_slice(&self) -> &[T] {
        match self.0.0 {}
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match self.0.0 {}
    }
}
