//! Host memory that a GPU copies from and to at full speed.

use super::cuda;
use super::handle::Backend;
use super::{Device, Element, zeroed_lazily};
use crate::Result;
use crate::error::During;
use std::any::type_name;
use std::fmt;
use std::ops::{Deref, DerefMut};

const PINNED: &str = "allocation of page-locked memory";

/// An array in host memory that is page-locked for a GPU. Its copies run at the bus's speed and
/// beside kernels. The array derefs to a slice.
///
/// Page-locked memory is scarce and slow to allocate: keep and reuse it. For the CPU and the
/// simulator the memory is ordinary.
///
/// ```
/// use gridstride::Device;
///
/// let mut pinned = Device::auto().pinned::<f32>(1000)?;
/// pinned[3] = 1.5;
/// assert_eq!(pinned[2..4], [0.0, 1.5]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub struct PinnedBuffer<T: Element>(Memory<T>);

enum Memory<T: Element> {
    Host(Vec<T>),
    Cuda(cuda::HostAllocation<T>),
}

impl Device {
    /// Allocates page-locked host memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation) if the host cannot lock so much memory.
    pub fn pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        let memory = match &self.backend {
            Backend::Cuda(gpu) => {
                let mut allocation = gpu.page_locked::<T>(len).during(PINNED)?;
                allocation.as_mut_slice().fill(T::zeroed());
                Memory::Cuda(allocation)
            }
            Backend::Cpu | Backend::Simulator(_) => {
                Memory::Host(zeroed_lazily(len).during(PINNED)?)
            }
        };
        Ok(PinnedBuffer(memory))
    }
}

impl<T: Element> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Host(elements) => elements,
            Memory::Cuda(allocation) => allocation.as_slice(),
        }
    }
}

impl<T: Element> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Host(elements) => elements,
            Memory::Cuda(allocation) => allocation.as_mut_slice(),
        }
    }
}

impl<T: Element> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer<{}>({})", type_name::<T>(), self.len())
    }
}
