//! Arrays in a device's memory.

use super::available::require_available;
use super::host_memory::no_memory;
use super::{Device, Reservation, zeroed_lazily};
use crate::error::During;
use crate::{Error, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// What a buffer can hold: plain data, for which every bit pattern is a value. All integers and
/// floats are; own `#[repr(C)]` structs become so by deriving `bytemuck::Pod`.
pub trait Element: bytemuck::Pod + Send + Sync {}
impl<T: bytemuck::Pod + Send + Sync> Element for T {}

/// The name of [`Device::alloc`], and of all that makes a buffer, in errors.
const ALLOC: &str = "allocation of a buffer";

/// An array of `len` elements in the memory of a device.
///
/// The memory is freed when the buffer is dropped, after the work that uses it.
pub struct Buffer<T: Element> {
    device: Device,
    memory: Memory,
    length: usize,
    /// What the memory takes of the device's limit.
    _reservation: Option<Reservation>,
    element: PhantomData<T>,
}

enum Memory {
    Host(HostMemory),
    #[cfg(feature = "cuda")]
    Cuda(super::cuda::Allocation),
}

impl Device {
    /// A buffer of `len` elements whose content is unspecified.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, or the device's [limit](Device::with_memory_limit).
    pub fn alloc<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let beyond_addresses = || Error::Allocation {
            operation: ALLOC,
            memory: self.memory_kind(),
            requested: (len as u64).saturating_mul(size_of::<T>() as u64),
            free: None,
            total: None,
        };
        let layout = Layout::array::<T>(len)
            .and_then(|layout| layout.align_to(HostMemory::ALIGNMENT))
            .map_err(|_| beyond_addresses())?;
        let reservation = self.reserve(layout.size()).during(ALLOC)?;
        let memory = match &self.kind {
            #[cfg(feature = "cuda")]
            super::Kind::Cuda(context) => {
                Memory::Cuda(context.allocate(layout.size()).during(ALLOC)?)
            }
            _ => {
                require_available(layout.size()).during(ALLOC)?;
                Memory::Host(
                    HostMemory::new(layout).ok_or_else(|| no_memory::<T>(len).during(ALLOC))?,
                )
            }
        };
        Ok(Buffer {
            device: self.clone(),
            memory,
            length: len,
            _reservation: reservation,
            element: PhantomData,
        })
    }

    /// A buffer of `len` elements, all bytes zero.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if the GPU fails.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(len)?;
        buffer.fill_zero()?;
        Ok(buffer)
    }

    /// A buffer that holds a copy of `source`.
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
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The device in whose memory the elements are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Sets all bytes to zero, on the device's main stream.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails.
    pub fn fill_zero(&mut self) -> Result<()> {
        match &self.memory {
            // SAFETY: the memory has that many bytes, and `&mut self` keeps others away.
            Memory::Host(memory) => unsafe { memory.pointer.as_ptr().write_bytes(0, self.bytes()) },
            #[cfg(feature = "cuda")]
            Memory::Cuda(allocation) => allocation.fill_zero(self.bytes())?,
        }
        Ok(())
    }

    /// Copies `source` into the buffer and waits for it.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::Driver`] if the copy fails.
    pub fn copy_from(&mut self, source: &[T]) -> Result<()> {
        self.require_length("copy to a buffer", source.len())?;
        match &self.memory {
            // SAFETY: both have that many bytes, and `&mut self` keeps others away.
            Memory::Host(memory) => unsafe {
                memory
                    .pointer
                    .as_ptr()
                    .copy_from_nonoverlapping(source.as_ptr().cast(), self.bytes());
            },
            #[cfg(feature = "cuda")]
            Memory::Cuda(allocation) => allocation.copy_from(bytemuck::cast_slice(source))?,
        }
        Ok(())
    }

    /// Copies the buffer into `target` and waits for it.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::Driver`] if the copy or earlier work on
    /// the GPU's main stream fails.
    pub fn copy_to(&self, target: &mut [T]) -> Result<()> {
        self.require_length("copy from a buffer", target.len())?;
        self.copy_part_to(0, target)
    }

    /// Copies the elements from `start` on, which are there, into `target` and waits for it.
    pub(super) fn copy_part_to(&self, start: usize, target: &mut [T]) -> Result<()> {
        debug_assert!(start + target.len() <= self.length);
        let first_byte = start * size_of::<T>();
        match &self.memory {
            // SAFETY: both have that many bytes, which are values of `T` whatever they are.
            Memory::Host(memory) => unsafe {
                memory
                    .pointer
                    .as_ptr()
                    .add(first_byte)
                    .copy_to_nonoverlapping(target.as_mut_ptr().cast(), size_of_val(target));
            },
            #[cfg(feature = "cuda")]
            Memory::Cuda(allocation) => {
                allocation.copy_to(first_byte, bytemuck::cast_slice_mut(target))?;
            }
        }
        Ok(())
    }

    /// Copies `source` to the elements from `start` on, which are there, of a buffer in the host's memory.
    #[cfg(feature = "kernels")]
    pub(super) fn copy_part_from(&mut self, start: usize, source: &[T]) {
        assert!(start + source.len() <= self.length);
        // SAFETY: there is room for them, and `&mut self` keeps others away.
        unsafe {
            let to = self.address().add(start * size_of::<T>());
            to.copy_from_nonoverlapping(source.as_ptr().cast(), size_of_val(source));
        }
    }

    /// The elements, copied to the host.
    ///
    /// # Errors
    /// As [`copy_to`](Self::copy_to), and [`Error::Allocation`] if the host's memory does not suffice.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = zeroed_lazily(self.length).during("copy from a buffer")?;
        self.copy_to(&mut elements)?;
        Ok(elements)
    }

    /// The first `len` of them, in the same memory.
    #[cfg(feature = "kernels")]
    pub(crate) fn truncated(self, len: usize) -> Buffer<T> {
        Buffer {
            length: len.min(self.length),
            ..self
        }
    }

    /// The first of them, up to `N`, copied to the host.
    #[cfg(feature = "kernels")]
    pub(crate) fn first<const N: usize>(&self) -> Result<[T; N]> {
        let mut elements = [T::zeroed(); N];
        self.copy_part_to(0, &mut elements[..N.min(self.length)])?;
        Ok(elements)
    }

    /// The elements as a parameter of a kernel that reads them.
    #[cfg(feature = "kernels")]
    pub fn slice(&self) -> cuda_std::DeviceSlice<T> {
        // SAFETY: the memory holds that many elements. Those who launch a kernel with it vouch for
        // its lifetime.
        unsafe { cuda_std::DeviceSlice::from_raw_parts(self.address() as *const T, self.length) }
    }

    /// The elements as a parameter of a kernel that writes them.
    #[cfg(feature = "kernels")]
    pub fn slice_mut(&mut self) -> cuda_std::DeviceSliceMut<T> {
        // SAFETY: as above.
        unsafe { cuda_std::DeviceSliceMut::from_raw_parts(self.address() as *mut T, self.length) }
    }

    /// The address of the first element, of the device.
    #[cfg(feature = "kernels")]
    fn address(&self) -> *mut u8 {
        match &self.memory {
            Memory::Host(memory) => memory.pointer.as_ptr(),
            #[cfg(feature = "cuda")]
            Memory::Cuda(allocation) => allocation.address() as *mut u8,
        }
    }

    #[cfg(feature = "cuda")]
    pub(super) fn cuda_allocation(&self) -> Option<&super::cuda::Allocation> {
        match &self.memory {
            Memory::Host(_) => None,
            Memory::Cuda(allocation) => Some(allocation),
        }
    }

    pub(super) fn require_length(&self, operation: &'static str, length: usize) -> Result<()> {
        if length == self.length {
            return Ok(());
        }
        Err(Error::Shape {
            operation,
            message: format!(
                "the slice has {length} elements, the buffer {}",
                self.length
            ),
        })
    }

    fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Buffer<{}>({} on {})",
            std::any::type_name::<T>(),
            self.length,
            self.device
        )
    }
}

/// Memory of the host that kernels in the simulator reach through raw pointers, as they reach a
/// GPU's: no reference to it is ever made.
struct HostMemory {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, as a box does; `Buffer` hands out access by its own borrows.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// That of CUDA's allocations, so that aligned accesses behave the same.
    const ALIGNMENT: usize = 256;

    /// Memory filled with bytes of ones, which are NaN as floats: reading what nobody wrote shows.
    fn new(layout: Layout) -> Option<Self> {
        if layout.size() == 0 {
            let pointer = NonNull::new(layout.align() as *mut u8)?;
            return Some(Self { pointer, layout });
        }
        // SAFETY: the size is not zero.
        let pointer = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: just allocated with that size.
        unsafe { pointer.as_ptr().write_bytes(0xff, layout.size()) };
        Some(Self { pointer, layout })
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
