//! Replaces the module `cuda` in builds without the feature: its types have no values.

use super::host_allocation::ForeignOwner;
use super::info::Properties;
use super::{DeviceInfo, DriverState, LaunchConfig, Module};
use crate::{Error, Result};
use cuda_std::host::{ConstantStatic, TensorTiles};
use cuda_std::tensor::TensorMap;
use std::convert::Infallible;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;

pub fn count() -> usize {
    0
}

pub fn driver_state() -> DriverState {
    DriverState::NotBuilt
}

pub fn driver_version() -> Option<(u32, u32)> {
    None
}

#[derive(Clone)]
pub struct Gpu(Infallible);

pub struct Stream(Infallible);

#[derive(Debug)]
pub struct Event(Infallible);

pub struct Allocation(Infallible);

pub struct Graph(Infallible);

pub struct Recording(Infallible);

pub struct HostAllocation<T>(Infallible, PhantomData<T>);

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
        fn properties(self) -> &Properties;
        fn info(self) -> DeviceInfo;
        fn stream(self) -> &Stream;
        fn with_new_stream(self) -> Result<Gpu>;
        fn on_side_stream(self) -> Result<Gpu>;
        fn keep_side_stream(self);
        fn is_locked(self, &[u8]) -> bool;
        fn shares_stream(self, &Gpu) -> bool;
        fn event(self) -> Result<Event>;
        fn record(self) -> Result<Recording>;
        fn recorded_by(self, &Recording) -> Gpu;
        fn set_stack_size(self, usize) -> Result<()>;
        fn tensor_map(self, &TensorTiles) -> Result<TensorMap>;
        fn use_any_buffer(self) -> Result<()>;
        fn use_own_buffers(self);
        fn allocate(self, usize) -> Result<Allocation>;
        fn give_back(self);
        fn synchronize_all(self) -> Result<()>;
    }
    Stream {
        fn synchronize(self) -> Result<()>;
        fn is_idle(self) -> bool;
        fn wait_for(self, &Stream) -> Result<()>;
        fn refuse_capture(self) -> Result<()>;
    }
    Event {
        fn record(self, &Stream) -> Result<()>;
        fn make_wait(self, &Stream) -> Result<()>;
        fn synchronize(self) -> Result<()>;
        fn milliseconds_since(self, &Event) -> Result<Option<f32>>;
    }
    Allocation {
        fn address(self) -> u64;
        fn pass_to(self, &Gpu) -> Result<()>;
        fn fill_zero(self, &Gpu, usize) -> Result<()>;
        fn copy_from(self, &[u8]) -> Result<()>;
        fn copy_to(self, usize, &mut [u8]) -> Result<()>;
    }
}

impl Gpu {
    pub fn open(ordinal: usize) -> Result<Gpu> {
        let (device, reason) = (format!("cuda:{ordinal}"), driver_state().count());
        let reason = reason.expect_err("there are no GPUs without the feature");
        Err(Error::Unavailable { device, reason })
    }

    pub fn page_locked<T>(&self, _: usize) -> Result<HostAllocation<T>> {
        match self.0 {}
    }

    pub fn occupancy(
        &self,
        _: &'static Module,
        _: &'static str,
        _: u32,
        _: u32,
    ) -> Result<(u32, u32)> {
        match self.0 {}
    }

    pub unsafe fn with_raw_stream(&self, _: *mut c_void) -> Result<Gpu> {
        match self.0 {}
    }

    pub unsafe fn borrow(&self, _: *mut u8, _: usize, _: ForeignOwner) -> Result<Allocation> {
        match self.0 {}
    }

    pub unsafe fn launch(
        &self,
        _: &'static Module,
        _: &'static str,
        _: LaunchConfig,
        _: &mut [*mut c_void],
    ) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn launch_graph(&self, _: &mut Graph) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn set_constant(
        &self,
        _: &'static Module,
        _: &'static ConstantStatic,
        _: *const u8,
    ) -> Result<()> {
        match self.0 {}
    }
}

pub struct Uploads(Infallible);

impl Uploads {
    pub fn new(gpu: &Gpu) -> Uploads {
        match gpu.0 {}
    }

    pub fn start<T>(
        &mut self,
        _: usize,
        _: &Allocation,
        _: &mut dyn FnMut(Range<usize>, &mut [T]),
    ) -> Option<Result<()>> {
        match self.0 {}
    }
}

impl Recording {
    pub fn end(self) -> Result<Graph> {
        match self.0 {}
    }
}

impl Allocation {
    pub unsafe fn start_copy_from_locked(
        &self,
        _: &Gpu,
        _: usize,
        _: &HostAllocation<u8>,
    ) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn start_copy_from(&self, _: &Gpu, _: usize, _: &[u8]) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn start_copy_of(&self, _: &Gpu, _: &Allocation, _: usize, _: usize) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn start_copy_to(&self, _: &Gpu, _: usize, _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }
}

impl<T> HostAllocation<T> {
    pub fn as_slice(&self) -> &[T] {
        match self.0 {}
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match self.0 {}
    }
}
