//! One-dimensional arrays in a device's memory.

use super::available::no_memory;
use super::capture;
use super::handle::Backend;
use super::host_allocation::{Content, Elements, HostMemory};
use super::memory::{Memory, Place};
use super::{Device, DeviceKind, Element, copied, cuda, zeroed_lazily};
use crate::error::During;
use crate::{Error, Result};
use std::alloc::Layout;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The most bytes that a kernel accesses at once.
const ACCESS: usize = 16;

const ALLOC: &str = "allocation of a buffer";
const FROM_RAW: &str = "buffer from raw memory";
pub(super) const COPY_TO: &str = "copy to a buffer";
pub(super) const COPY_FROM: &str = "copy from a buffer";

/// An array of `len` elements in the memory of a device.
///
/// All work on a buffer is ordered on the stream of the handle that made the buffer: the device's
/// main stream, or a stream that was [chosen](Device::on). Dropping the buffer frees its memory
/// after that work.
pub struct Buffer<T: Element> {
    device: Device,
    /// Graphs whose work uses the memory share it.
    memory: Arc<Memory>,
    length: usize,
    element: PhantomData<T>,
}

impl Device {
    /// Allocates a buffer of `len` elements whose content is unspecified. In the simulator all bytes are
    /// `0xff`, which is NaN as a float, and guard zones around the buffer let launches report accesses
    /// beside it. In builds with debug assertions, the CPU fills new buffers with `0xff` too.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the device's memory or its [limit](Device::with_memory_limit) does
    /// not suffice.
    pub fn alloc<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        self.allocate(len, Content::Unspecified)
    }

    fn allocate<T: Element>(&self, len: usize, content: Content) -> Result<Buffer<T>> {
        let layout = Layout::array::<T>(len)
            .and_then(|layout| layout.align_to(HostMemory::ALIGNMENT))
            .map_err(|_| {
                let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
                no_memory(self.memory_kind(), bytes, None).during(ALLOC)
            })?;
        let (name, count) = (type_name::<T>(), len);
        let elements = Elements { name, count };
        Ok(Buffer {
            device: self.clone(),
            memory: Memory::new(self, layout, content, elements).during(ALLOC)?,
            length: len,
            element: PhantomData,
        })
    }

    /// Allocates a buffer of `len` elements, all bytes zero.
    ///
    /// On the CPU and in the simulator this takes as long for many elements as for few: the system
    /// makes the pages when they are first accessed.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if the GPU fails.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(len, Content::Zeros)?;
        // Each launch of a graph that is being recorded makes the zeros again.
        if matches!(buffer.memory.place, Place::Cuda(_)) || capture::records(self) {
            buffer.fill_zero()?;
        }
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
    /// Takes `len` elements in memory of another library, such as an array of PyTorch or cudarc,
    /// without a copy. Work on them is ordered on the stream of `device`.
    ///
    /// `owner` keeps the memory. It is dropped after the last use of the buffer: on the CPU and in
    /// the simulator with the buffer, on a GPU when the work on the buffer has finished, by a later
    /// [`Device::synchronize`] or `from_raw` of any handle of the GPU, on any thread. No
    /// [limit](Device::with_memory_limit) counts the memory.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the address is null, or not a multiple of the alignment of `T`, on a
    /// GPU and in the simulator of 16 bytes too, since kernels read as many at once, or if the driver
    /// knows it as no memory of this GPU.
    ///
    /// # Safety
    /// Until `owner` is dropped, `address` is that of `len` elements in memory that the device's
    /// kernels may access: memory of the host for the CPU and the simulator. Other work
    /// on the elements comes before or after the work on the buffer, by the order of streams, or by
    /// events or waiting. While a graph exists that uses the buffer, this holds for its launches.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::device::Buffer;
    ///
    /// let elements = Box::leak(Box::new([1, 2, 3]));
    /// let (address, owner) = (elements.as_mut_ptr(), ());
    /// // SAFETY: the elements live forever, and nothing else accesses them.
    /// let buffer = unsafe { Buffer::from_raw(&Device::cpu(), address, 3, owner)? };
    /// assert_eq!(buffer.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub unsafe fn from_raw(
        device: &Device,
        address: *mut T,
        len: usize,
        owner: impl Send + Sync + 'static,
    ) -> Result<Buffer<T>> {
        let layout = Layout::array::<T>(len);
        let layout = layout.map_err(|error| Error::input(FROM_RAW, error.to_string()))?;
        let alignment = match device.kind() {
            DeviceKind::Cpu => align_of::<T>(),
            _ => align_of::<T>().max(ACCESS),
        };
        if len > 0 && (address.is_null() || !address.addr().is_multiple_of(alignment)) {
            let element = type_name::<T>();
            let message = format!(
                "{address:p} is no address of {element}, which have to be multiples of {alignment} on {device}"
            );
            return Err(Error::input(FROM_RAW, message));
        }
        // SAFETY: the caller promises memory of these elements until `owner` is dropped, and orders
        // other work on it with that of the buffer, which is the contract of `Memory::foreign`.
        let memory = unsafe { Memory::foreign(device, address.cast(), layout, Box::new(owner))? };
        Ok(Buffer {
            device: device.clone(),
            memory,
            length: len,
            element: PhantomData,
        })
    }

    /// Returns the address of the first element, in the memory of the device: for other libraries.
    /// Work on the elements has to be ordered with that of the buffer's stream.
    pub fn as_ptr(&self) -> *const T {
        self.address().cast()
    }

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
    /// [`DeviceArray::on`](super::DeviceArray::on). After an error the buffer is freed.
    pub fn on(mut self, device: &Device) -> Result<Buffer<T>> {
        const MOVE: &str = "move to another handle";
        self.device.require_same(device, MOVE)?;
        if !self.device.shares_stream(device) {
            // Its place in the list counts as an owner.
            self.memory.listed.leave();
            let Some(memory) = Arc::get_mut(&mut self.memory) else {
                self.memory.list();
                let message = "a graph uses the array, and its launches stay on their stream: drop \
                               the graph first";
                return Err(Error::input(MOVE, message));
            };
            if let (Place::Cuda(memory), Backend::Cuda(gpu)) = (&mut memory.place, &device.backend)
            {
                memory.pass_to(gpu)?;
            }
            self.memory.list();
        }
        self.device = device.clone();
        Ok(self)
    }

    /// Sets all bytes to zero. A GPU may finish this after the call returns.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails.
    pub fn fill_zero(&mut self) -> Result<()> {
        let (to, bytes) = (self.address(), self.bytes());
        match (&self.memory.place, &self.device.backend) {
            (Place::Cuda(allocation), Backend::Cuda(gpu)) => {
                capture::on(gpu, |gpu| allocation.fill_zero(gpu, bytes))
            }
            _ => {
                let fill = move || {
                    // SAFETY: the memory has these bytes, and `&mut self` excludes other accesses.
                    // Graphs keep it, and change it only when they are launched.
                    unsafe { to.write_bytes(0, bytes) };
                    Ok(())
                };
                capture::run(&self.device, fill)
            }
        }
    }

    /// Copies `source` into the buffer. When this returns, `source` may change. A GPU may finish the
    /// copy later if it is of at most 1 KiB.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::Driver`] if the copy fails.
    pub fn copy_from(&mut self, source: &[T]) -> Result<()> {
        self.require_length(COPY_TO, source.len())?;
        if capture::records(&self.device) {
            return self.capture_copy_from(source);
        }
        if let Place::Cuda(allocation) = &self.memory.place {
            return allocation.copy_from(bytemuck::cast_slice(source));
        }
        let device = self.device.clone();
        // SAFETY: the host's memory is copied before this returns.
        unsafe { self.start_copy_from(&device, 0, source) }
    }

    /// Starts copies of all elements from page-locked memory: see [`cuda::Uploads::start`]. Only
    /// work on this buffer's handle may use the buffer. Returns `None` also if this thread records
    /// the work.
    pub(super) fn start_filling(
        &mut self,
        uploads: &mut cuda::Uploads,
        fill: &mut dyn FnMut(Range<usize>, &mut [T]),
    ) -> Option<Result<()>> {
        match &self.memory.place {
            Place::Cuda(allocation) if !capture::records(&self.device) => {
                uploads.start(self.length, allocation, fill)
            }
            _ => None,
        }
    }

    /// Copies `source` now, and whenever the graph is launched that is captured.
    ///
    /// Now, because what calls derive from their arguments and keep for later calls is uploaded
    /// once. Whenever, because the graph may write to the buffer.
    fn capture_copy_from(&mut self, source: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(source);
        let to = self.address();
        match (&self.memory.place, &self.device.backend) {
            (Place::Cuda(allocation), Backend::Cuda(gpu)) => {
                let mut locked = gpu.page_locked::<u8>(bytes.len()).during(COPY_TO)?;
                locked.as_mut_slice().copy_from_slice(bytes);
                // SAFETY: the copy of the source does not change, and outlives both copies: the
                // wait below, and the graph's launches, which the graph's memory outlives.
                unsafe { allocation.start_copy_from_locked(gpu, 0, &locked)? };
                gpu.stream().synchronize()?;
                // SAFETY: nothing changes `locked`, and the graph keeps it below, and the
                // allocation too, for all of its launches.
                capture::on(gpu, |gpu| unsafe {
                    allocation.start_copy_from_locked(gpu, 0, &locked)
                })?;
                capture::keep(Arc::new(locked));
            }
            _ => {
                let bytes = copied(bytes).during(COPY_TO)?;
                let copy = move || {
                    // SAFETY: the memory has these bytes, and `&mut self` excludes other accesses.
                    // Graphs keep it, and change it only when they are launched.
                    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                    Ok(())
                };
                // Graphs of other threads may use the memory at present.
                capture::apart_from_graphs(&self.device, &copy)?;
                capture::run(&self.device, copy)?;
            }
        }
        Ok(())
    }

    /// Fills the buffer with the elements of another buffer from `start` on: starts the copy on the
    /// stream of `on`, a handle to the device of both.
    ///
    /// # Safety
    /// The streams of both buffers wait for the stream of `on` before they write to the buffers or
    /// free them: see [`Device::ordered_with`].
    #[doc(hidden)]
    pub unsafe fn start_copy_of(
        &mut self,
        on: &Device,
        source: &Buffer<T>,
        start: usize,
    ) -> Result<()> {
        // SAFETY: the caller keeps the contract, which is that of `start_copy_of_range`: the
        // streams of both buffers wait for the stream of `on` before they write or free.
        unsafe { self.start_copy_of_range(on, source, start..start + self.length) }
    }

    /// As [`start_copy_of`](Self::start_copy_of), but copies a range, which may be shorter than the
    /// buffer, to the buffer's first elements.
    ///
    /// # Safety
    /// As of [`start_copy_of`](Self::start_copy_of).
    #[doc(hidden)]
    pub unsafe fn start_copy_of_range(
        &mut self,
        on: &Device,
        source: &Buffer<T>,
        range: Range<usize>,
    ) -> Result<()> {
        assert!(range.end <= source.length && range.len() <= self.length);
        let size = size_of::<T>();
        let (first_byte, bytes) = (range.start * size, range.len() * size);
        let (from, to) = (source.address(), self.address());
        match (&self.memory.place, &source.memory.place, &on.backend) {
            (Place::Cuda(allocation), Place::Cuda(source), Backend::Cuda(gpu)) => {
                // SAFETY: the streams of both buffers wait for the stream of `on` by the contract
                // of this function, so that neither is freed or written before the copy. Graphs
                // keep both.
                let copy =
                    |gpu: &_| unsafe { allocation.start_copy_of(gpu, source, first_byte, bytes) };
                capture::on(gpu, copy)
            }
            _ => {
                let copy = move || {
                    // SAFETY: both have these bytes, and `&mut self` excludes other accesses.
                    // Graphs keep both.
                    unsafe { to.copy_from_nonoverlapping(from.add(first_byte), bytes) };
                    Ok(())
                };
                capture::run(on, copy)
            }
        }
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
    #[doc(hidden)]
    pub fn copy_part_to(&self, start: usize, target: &mut [T]) -> Result<()> {
        assert!(start + target.len() <= self.length);
        if let Place::Cuda(allocation) = &self.memory.place {
            capture::refuse(&self.device, COPY_FROM)?;
            return allocation.copy_to(start * size_of::<T>(), bytemuck::cast_slice_mut(target));
        }
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
    #[doc(hidden)]
    pub unsafe fn start_copy_from(
        &mut self,
        on: &Device,
        start: usize,
        source: &[T],
    ) -> Result<()> {
        assert!(start + source.len() <= self.length);
        capture::refuse(on, COPY_TO)?;
        let first_byte = start * size_of::<T>();
        match (&self.memory.place, &on.backend) {
            // SAFETY: by the contract of this function, `source` does not change and the buffer is
            // not freed before the stream of `on` has done this.
            (Place::Cuda(allocation), Backend::Cuda(gpu)) => unsafe {
                allocation.start_copy_from(gpu, first_byte, bytemuck::cast_slice(source))?;
            },
            _ => capture::apart_from_graphs(on, || {
                // SAFETY: the buffer has these elements, and `&mut self` excludes other accesses.
                unsafe {
                    let to = self.address().add(first_byte);
                    to.copy_from_nonoverlapping(source.as_ptr().cast(), size_of_val(source));
                }
            }),
        }
        Ok(())
    }

    /// Starts a copy of the elements from `start` to `target`, on the stream of `on`, a handle to
    /// the same device.
    ///
    /// # Safety
    /// Until the stream of `on` has done this, nothing else accesses `target`. The buffer's own
    /// stream waits for that before it frees the memory.
    #[doc(hidden)]
    pub unsafe fn start_copy_to(&self, on: &Device, start: usize, target: &mut [T]) -> Result<()> {
        assert!(start + target.len() <= self.length);
        capture::refuse(on, COPY_FROM)?;
        let first_byte = start * size_of::<T>();
        match (&self.memory.place, &on.backend) {
            // SAFETY: by the contract of this function, nothing else accesses `target` and the
            // buffer is not freed before the stream of `on` has done this.
            (Place::Cuda(allocation), Backend::Cuda(gpu)) => unsafe {
                allocation.start_copy_to(gpu, first_byte, bytemuck::cast_slice_mut(target))?;
            },
            _ => capture::apart_from_graphs(on, || {
                // SAFETY: the buffer has these elements, and all bytes are values of `T`.
                unsafe {
                    let from = self.address().add(first_byte);
                    from.copy_to_nonoverlapping(target.as_mut_ptr().cast(), size_of_val(target));
                }
            }),
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
    #[doc(hidden)]
    pub fn truncated(self, len: usize) -> Buffer<T> {
        Buffer {
            length: len.min(self.length),
            ..self
        }
    }

    /// Copies the first `N` elements to the host, with zeros for missing ones.
    #[doc(hidden)]
    pub fn first<const N: usize>(&self) -> Result<[T; N]> {
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
        // SAFETY: the memory holds these elements, and they are borrowed exclusively here. The
        // contract of the launch covers the time after that.
        unsafe { cuda_std::DeviceSliceMut::from_raw_parts(self.address() as *mut T, self.length) }
    }

    /// Returns the address of the memory, which a graph that this thread captures keeps from now on.
    fn address(&self) -> *mut u8 {
        capture::keep_memory(&self.memory);
        self.memory.address()
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
