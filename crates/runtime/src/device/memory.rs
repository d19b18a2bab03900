//! The memory of buffers.

use super::allocations::Listed;
use super::handle::Backend;
use super::host_allocation::{Content, Elements, ForeignOwner, HostMemory};
use super::limit::Reservation;
use super::{Device, DeviceId, cuda};
use crate::Result;
use std::alloc::Layout;
use std::any::Any;
use std::sync::Arc;

/// The memory of a buffer, which graphs share if their work uses the buffer.
pub struct Memory {
    /// Dropped first, before the memory is freed.
    pub listed: Listed,
    device: DeviceId,
    bytes: usize,
    /// Whether the memory is another library's.
    is_foreign: bool,
    pub place: Place,
    /// The share of the device's limit.
    _reservation: Option<Reservation>,
}

pub enum Place {
    Host(HostMemory),
    Cuda(cuda::Allocation),
}

impl Memory {
    /// Allocates memory of a device, for these elements. Only memory of the host has the given content:
    /// that of a GPU is unspecified.
    pub fn new(
        device: &Device,
        layout: Layout,
        content: Content,
        elements: Elements,
    ) -> Result<Arc<Memory>> {
        let reservation = device.reserve(layout.size())?;
        let place = match &device.backend {
            Backend::Cuda(gpu) => gpu.allocate(layout.size()).map(Place::Cuda),
            Backend::Cpu => HostMemory::new(layout, content).map(Place::Host),
            Backend::Simulator(simulator) => {
                let memory = simulator.allocate(layout, content, elements);
                memory.map(Place::Host)
            }
        };
        let memory = Arc::new(Memory {
            listed: Listed::nowhere(),
            device: device.id(),
            bytes: layout.size(),
            is_foreign: false,
            place: place?,
            _reservation: reservation,
        });
        memory.list();
        Ok(memory)
    }

    /// Takes memory of another library, which `owner` keeps. No limit counts it.
    ///
    /// # Safety
    /// Until `owner` is dropped, the device's kernels may access the bytes from `address` on, and
    /// other work on them is ordered with that of the `device`.
    pub unsafe fn foreign(
        device: &Device,
        address: *mut u8,
        layout: Layout,
        owner: ForeignOwner,
    ) -> Result<Arc<Memory>> {
        let place = match &device.backend {
            Backend::Cuda(gpu) => {
                // SAFETY: the caller keeps the contract, which is that of `Gpu::borrow` too: until
                // `owner` is dropped, kernels may access the bytes, and other work on them is
                // ordered with that of the device.
                Place::Cuda(unsafe { gpu.borrow(address, layout.size(), owner)? })
            }
            Backend::Cpu | Backend::Simulator(_) => {
                Place::Host(HostMemory::foreign(address, layout, owner))
            }
        };
        let memory = Arc::new(Memory {
            listed: Listed::nowhere(),
            device: device.id(),
            bytes: layout.size(),
            is_foreign: true,
            place,
            _reservation: None,
        });
        memory.list();
        Ok(memory)
    }

    /// Adds the memory to the list of live buffers.
    pub fn list(self: &Arc<Memory>) {
        let start = self.address() as usize;
        let addresses = start..start + self.bytes;
        let memory: Arc<dyn Any + Send + Sync> = self.clone();
        self.listed
            .add(&memory, addresses, self.device, self.is_foreign);
    }

    pub fn address(&self) -> *mut u8 {
        match &self.place {
            Place::Host(memory) => memory.address(),
            Place::Cuda(allocation) => allocation.address() as *mut u8,
        }
    }
}
