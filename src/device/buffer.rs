//! One-dimensional arrays in a device's memory.

use super::available::no_memory;
use super::cuda;
use super::handle::Backend;
use super::limit::Reservation;
use super::{Device, Element, MemoryKind, require_available, zeroed_lazily};
use crate::error::During;
use crate::{Error, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

const ALLOC: &str = "allocation of a buffer";
pub(super) const COPY_TO: &str = "copy to a buffer";
pub(super) const COPY_FROM: &str = "copy from a buffer";

/// An array of `len` elements in the memory of a device.
///
/// All work on a buffer is ordered on the stream of the handle that made the buffer: the device's
/// main stream, or a stream that was [chosen](Device::on). Dropping the buffer frees its memory
/// after that work.
pub struct Buffer<T: Element> {
    device: Device,
    memory: Memory,
    length: usize,
    /// The share of the device's limit.
    _reservation: Option<Reservation>,
    element: PhantomData<T>,
}

enum Memory {
    Host(HostMemory),
    Cuda(cuda::Allocation),
}

impl Device {
    /// Allocates a buffer of `len` elements whose content is unspecified.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the device's memory or its [limit](Device::with_memory_limit) does
    /// not suffice.
    pub fn alloc<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let layout = Layout::array::<T>(len)
            .and_then(|layout| layout.align_to(HostMemory::ALIGNMENT))
            .map_err(|_| {
                let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
                no_memory(self.memory_kind(), bytes, None).during(ALLOC)
            })?;
        let reservation = self.reserve(layout.size()).during(ALLOC)?;
        let memory = match &self.backend {
            Backend::Cuda(gpu) => gpu.allocate(layout.size()).map(Memory::Cuda),
            Backend::Cpu | Backend::Simulator(_) => HostMemory::new(layout).map(Memory::Host),
        };
        Ok(Buffer {
            device: self.clone(),
            memory: memory.during(ALLOC)?,
            length: len,
            _reservation: reservation,
            element: PhantomData,
        })
    }

    /// Allocates a buffer of `len` elements, all bytes zero.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if the GPU fails.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(len)?;
        buffer.fill_zero()?;
        Ok(buffer)
    }

    /// Allocates a buffer and copies `source` into it.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if the copy fails.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// let buffer = Device::cpu().buffer_from(&[1u32, 2, 3])?;
    /// assert_eq!(buffer.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn buffer_from<T: Element>(&self, source: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(source.len())?;
        buffer.copy_from(source)?;
        Ok(buffer)
    }
}

impl<T: Element> Buffer<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the handle that the buffer was made by, or [moved](Buffer::on) to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Moves the buffer to another handle of the same device, as
    /// [`DeviceArray::on`](super::DeviceArray::on).
    pub fn on(mut self, device: &Device) -> Result<Buffer<T>> {
        self.device.require_same(device, "move to another handle")?;
        if let (Memory::Cuda(memory), Backend::Cuda(gpu)) = (&mut self.memory, &device.backend) {
            memory.pass_to(gpu)?;
        }
        self.device = device.clone();
        Ok(self)
    }

    /// Sets all bytes to zero. A GPU may finish this after the call returns.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails.
    pub fn fill_zero(&mut self) -> Result<()> {
        match &self.memory {
            // SAFETY: the memory has these bytes, and `&mut self` excludes other accesses.
            Memory::Host(memory) => unsafe { memory.pointer.as_ptr().write_bytes(0, self.bytes()) },
            Memory::Cuda(allocation) => allocation.fill_zero(self.bytes())?,
        }
        Ok(())
    }

    /// Copies `source` into the buffer and waits.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::Driver`] if the copy fails.
    pub fn copy_from(&mut self, source: &[T]) -> Result<()> {
        self.require_length(COPY_TO, source.len())?;
        let device = self.device.clone();
        // SAFETY: `source` is borrowed until the wait below has finished.
        let started = unsafe { self.start_copy_from(&device, 0, source) };
        started.and(device.synchronize())
    }

    /// Fills the buffer with the elements of another buffer from `start` on: starts the copy on the
    /// stream of `on`, a handle to the device of both.
    ///
    /// # Safety
    /// The streams of both buffers wait for the stream of `on` before they write to the buffers or
    /// free them: see [`Device::ordered_with`].
    pub(crate) unsafe fn start_copy_of(
        &mut self,
        on: &Device,
        source: &Buffer<T>,
        start: usize,
    ) -> Result<()> {
        assert!(start + self.length <= source.length);
        let first_byte = start * size_of::<T>();
        match (&self.memory, &source.memory, &on.backend) {
            // SAFETY: passed on to the caller.
            (Memory::Cuda(allocation), Memory::Cuda(source), Backend::Cuda(gpu)) => unsafe {
                allocation.start_copy_of(gpu, source, first_byte, self.bytes())?;
            },
            // SAFETY: both have these bytes, and `&mut self` excludes other accesses.
            _ => unsafe {
                let from = source.address().add(first_byte);
                self.address().copy_from_nonoverlapping(from, self.bytes());
            },
        }
        Ok(())
    }

    /// Copies the buffer into `target` and waits.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::Driver`] if the copy or earlier work on
    /// the buffer's stream fails.
    pub fn copy_to(&self, target: &mut [T]) -> Result<()> {
        self.require_length(COPY_FROM, target.len())?;
        self.copy_part_to(0, target)
    }

    /// Copies the elements from `start` on into `target` and waits.
    pub(crate) fn copy_part_to(&self, start: usize, target: &mut [T]) -> Result<()> {
        // SAFETY: `target` is borrowed until the wait below has finished.
        let started = unsafe { self.start_copy_to(&self.device, start, target) };
        started.and(self.device.synchronize())
    }

    /// Starts a copy of `source` to the elements from `start`, on the stream of `on`, a handle to
    /// the same device.
    ///
    /// # Safety
    /// Until the stream of `on` has done this, `source` does not change. The buffer's own stream
    /// waits for that before it frees the memory.
    pub(crate) unsafe fn start_copy_from(
        &mut self,
        on: &Device,
        start: usize,
        source: &[T],
    ) -> Result<()> {
        assert!(start + source.len() <= self.length);
        let first_byte = start * size_of::<T>();
        match (&self.memory, &on.backend) {
            // SAFETY: passed on to the caller.
            (Memory::Cuda(allocation), Backend::Cuda(gpu)) => unsafe {
                allocation.start_copy_from(gpu, first_byte, bytemuck::cast_slice(source))?;
            },
            // SAFETY: the buffer has these elements, and `&mut self` excludes other accesses.
            _ => unsafe {
                let to = self.address().add(first_byte);
                to.copy_from_nonoverlapping(source.as_ptr().cast(), size_of_val(source));
            },
        }
        Ok(())
    }

    /// Starts a copy of the elements from `start` to `target`, on the stream of `on`, a handle to
    /// the same device.
    ///
    /// # Safety
    /// Until the stream of `on` has done this, nothing else accesses `target`. The buffer's own
    /// stream waits for that before it frees the memory.
    pub(crate) unsafe fn start_copy_to(
        &self,
        on: &Device,
        start: usize,
        target: &mut [T],
    ) -> Result<()> {
        assert!(start + target.len() <= self.length);
        let first_byte = start * size_of::<T>();
        match (&self.memory, &on.backend) {
            // SAFETY: passed on to the caller.
            (Memory::Cuda(allocation), Backend::Cuda(gpu)) => unsafe {
                allocation.start_copy_to(gpu, first_byte, bytemuck::cast_slice_mut(target))?;
            },
            // SAFETY: the buffer has these elements, and all bytes are values of `T`.
            _ => unsafe {
                let from = self.address().add(first_byte);
                from.copy_to_nonoverlapping(target.as_mut_ptr().cast(), size_of_val(target));
            },
        }
        Ok(())
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// As [`copy_to`](Self::copy_to), and [`Error::Allocation`] if the host lacks memory.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = zeroed_lazily(self.length).during(COPY_FROM)?;
        self.copy_to(&mut elements)?;
        Ok(elements)
    }

    /// Shortens the buffer to its first `len` elements, in the same memory.
    pub(crate) fn truncated(self, len: usize) -> Buffer<T> {
        Buffer {
            length: len.min(self.length),
            ..self
        }
    }

    /// Copies the first `N` elements to the host, with zeros for missing ones.
    pub(crate) fn first<const N: usize>(&self) -> Result<[T; N]> {
        let mut elements = [T::zeroed(); N];
        self.copy_part_to(0, &mut elements[..N.min(self.length)])?;
        Ok(elements)
    }

    /// Returns the elements as an argument of a kernel that reads them.
    pub fn slice(&self) -> cuda_std::DeviceSlice<T> {
        // SAFETY: the memory holds these elements. The launch's contract covers their lifetime.
        unsafe { cuda_std::DeviceSlice::from_raw_parts(self.address() as *const T, self.length) }
    }

    /// Returns the elements as an argument of a kernel that writes them.
    pub fn slice_mut(&mut self) -> cuda_std::DeviceSliceMut<T> {
        // SAFETY: as above.
        unsafe { cuda_std::DeviceSliceMut::from_raw_parts(self.address() as *mut T, self.length) }
    }

    fn address(&self) -> *mut u8 {
        match &self.memory {
            Memory::Host(memory) => memory.pointer.as_ptr(),
            Memory::Cuda(allocation) => allocation.address() as *mut u8,
        }
    }

    pub(super) fn require_length(&self, operation: &'static str, length: usize) -> Result<()> {
        if length == self.length {
            return Ok(());
        }
        let own = self.length;
        Err(Error::Shape {
            operation,
            message: format!("the slice has {length} elements, the buffer {own}"),
        })
    }

    fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, length) = (type_name::<T>(), self.length);
        write!(f, "Buffer<{element}>({length} on {})", self.device)
    }
}

/// Memory of the host. Kernels in the simulator access it through raw pointers, like a GPU's
/// memory, so no references to it are ever made.
struct HostMemory {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: owns its memory, as a box does; `Buffer` hands out access by its own borrows.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// The alignment of CUDA's allocations, so that aligned accesses behave the same.
    const ALIGNMENT: usize = 256;

    /// Allocates memory whose bits are all ones, which are NaN as floats: this shows in results
    /// that depend on unwritten memory.
    fn new(layout: Layout) -> Result<Self> {
        if layout.size() == 0 {
            let aligned = std::ptr::without_provenance_mut(layout.align());
            let pointer = NonNull::new(aligned).expect("alignments are not zero");
            return Ok(Self { pointer, layout });
        }
        require_available(layout.size())?;
        let none = || no_memory(MemoryKind::Host, layout.size() as u64, None);
        // SAFETY: the size is not zero.
        let pointer = NonNull::new(unsafe { alloc(layout) }).ok_or_else(none)?;
        // SAFETY: just allocated with that size.
        unsafe { pointer.as_ptr().write_bytes(0xff, layout.size()) };
        Ok(Self { pointer, layout })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.pointer.as_ptr(), self.layout) };
        }
    }
}
