//! The memory of buffers.

use super::handle::Backend;
use super::host_allocation::{Content, ForeignOwner, HostMemory};
use super::limit::Reservation;
use super::{Device, cuda};
use crate::Result;
use std::alloc::Layout;

/// The memory of a buffer, which graphs share if their work uses the buffer.
pub struct Memory {
    pub place: Place,
    /// The share of the device's limit.
    _reservation: Option<Reservation>,
}

pub enum Place {
    Host(HostMemory),
    Cuda(cuda::Allocation),
}

impl Memory {
    /// Allocates memory of a device. Only memory of the host has the given content: that of a GPU is
    /// unspecified.
    pub fn new(device: &Device, layout: Layout, content: Content) -> Result<Memory> {
        let reservation = device.reserve(layout.size())?;
        let place = match &device.backend {
            Backend::Cuda(gpu) => gpu.allocate(layout.size()).map(Place::Cuda),
            Backend::Cpu | Backend::Simulator(_) => {
                HostMemory::new(layout, content).map(Place::Host)
            }
        };
        Ok(Memory {
            place: place?,
            _reservation: reservation,
        })
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
    ) -> Result<Memory> {
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
        Ok(Memory {
            place,
            _reservation: None,
        })
    }
}
