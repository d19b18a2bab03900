//! Slices of global memory as kernel parameters.

use crate::DeviceParam;

/// A read-only array in global memory: pointer and length, passed to a kernel by value.
///
/// [`at`](Self::at) costs nothing on the GPU and is checked in the simulator, which reports the
/// kernel, block, thread, index and length of an access past the end.
#[repr(C)]
#[derive(Debug)]
pub struct DeviceSlice<T> {
    pointer: *const T,
    length: usize,
}

/// An array in global memory that a kernel may write; like [`DeviceSlice`] otherwise.
#[repr(C)]
#[derive(Debug)]
pub struct DeviceSliceMut<T> {
    pointer: *mut T,
    length: usize,
}

impl<T> Clone for DeviceSlice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DeviceSlice<T> {}
impl<T> Clone for DeviceSliceMut<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for DeviceSliceMut<T> {}
// SAFETY: `repr(C)` of a pointer and a length, 16 bytes on both sides.
unsafe impl<T: 'static> DeviceParam for DeviceSlice<T> {
    #[cfg(not(target_arch = "nvptx64"))]
    fn visit_addresses(&self, visit: &mut dyn FnMut(usize)) {
        visit(self.pointer as usize);
    }
}
// SAFETY: `repr(C)` of a pointer and a length, 16 bytes on both sides.
unsafe impl<T: 'static> DeviceParam for DeviceSliceMut<T> {
    #[cfg(not(target_arch = "nvptx64"))]
    fn visit_addresses(&self, visit: &mut dyn FnMut(usize)) {
        visit(self.pointer as usize);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> DeviceSlice<T> {
    /// Used by `#[kernel]`.
    ///
    /// # Safety
    /// The elements are initialised, and nobody writes to them while the kernel runs.
    #[doc(hidden)]
    pub unsafe fn into_slice<'a>(self) -> &'a [T] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: by the contract of this function, the elements are initialised, and nobody writes
        // to them while the kernel runs.
        unsafe { core::slice::from_raw_parts(self.pointer, self.length) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> DeviceSliceMut<T> {
    /// Used by `#[kernel]`.
    ///
    /// # Safety
    /// The elements are initialised. As on a GPU, all threads of a kernel have the slice: none may
    /// access an element that another one writes to.
    #[doc(hidden)]
    pub unsafe fn into_slice<'a>(self) -> &'a mut [T] {
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: by the contract of this function, the elements are initialised, and no thread
        // accesses one that another writes to; by that of `from_raw_parts`, they stay allocated.
        unsafe { core::slice::from_raw_parts_mut(self.pointer, self.length) }
    }
}

impl<T> DeviceSlice<T> {
    /// The `length` elements that start at `pointer`, an address of the device.
    ///
    /// # Safety
    /// They must be initialised and stay allocated, and unwritten, while a kernel reads them.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(pointer: *const T, length: usize) -> Self {
        Self { pointer, length }
    }

    /// Element `index`.
    ///
    /// # Safety
    /// `index` must be below the length. The GPU does not check; the simulator does.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn at(&self, index: usize) -> T
    where
        T: Copy,
    {
        check("read", index, self.length);
        // SAFETY: the index is below the length by the caller's promise, and the elements are
        // initialised by that of `from_raw_parts`.
        unsafe { self.pointer.add(index).read() }
    }

    /// The address of element `index`, to read it as another type.
    ///
    /// # Safety
    /// `index` must be below the length. The GPU does not check; the simulator does.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn address(&self, index: usize) -> *const T {
        check("address", index, self.length);
        // SAFETY: in range by the caller's promise.
        unsafe { self.pointer.add(index) }
    }

    /// Has the memory of element `index` brought into the L2 cache, while the thread goes on. Past
    /// the end it does nothing. What a kernel reads a few microseconds later then arrives sooner.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// Doubles each value; a line of 128 bytes is asked for 64 lines ahead.
    /// #[kernel]
    /// pub unsafe fn double(from: DeviceSlice<f64>, to: DeviceSliceMut<f64>) {
    ///     for i in thread::grid_stride(from.len()) {
    ///         if i % 16 == 0 {
    ///             from.prefetch(i + 64 * 16);
    ///         }
    ///         // SAFETY: below the lengths.
    ///         unsafe { to.set(i, 2.0 * from.at(i)) };
    ///     }
    /// }
    /// # fn main() { assert_eq!(double.name(), "double"); }
    /// ```
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        #[cfg(target_arch = "nvptx64")]
        if index < self.length {
            // SAFETY: the element is allocated, by the promise of `from_raw_parts`; nothing is read
            // or written.
            unsafe {
                let address = self.pointer.add(index);
                core::arch::asm!(
                    "prefetch.global.L2 [{}];",
                    in(reg64) address,
                    options(nostack, preserves_flags, readonly),
                );
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        let _ = index;
    }

    /// Element `index`, or `None` past the end, on every device.
    ///
    /// # Safety
    /// Only inside a kernel, and while the elements are allocated: on the host the address may
    /// be one of a GPU's memory, and the slice does not keep its buffer alive.
    #[inline(always)]
    pub unsafe fn get(&self, index: usize) -> Option<T>
    where
        T: Copy,
    {
        // SAFETY: below the length. By the contract of this function, a kernel reads the element
        // while it is allocated; by that of `from_raw_parts`, it is initialised.
        (index < self.length).then(|| unsafe { self.pointer.add(index).read() })
    }

    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first element's address, for the loops where every check has been done already.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.pointer
    }
}

impl<T> DeviceSliceMut<T> {
    /// The `length` elements that start at `pointer`, an address of the device.
    ///
    /// # Safety
    /// They must stay allocated while a kernel uses them, and be initialised before it reads them.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(pointer: *mut T, length: usize) -> Self {
        Self { pointer, length }
    }

    /// Element `index`.
    ///
    /// # Safety
    /// `index` must be below the length (the GPU does not check; the simulator does), the element
    /// initialised, and no other thread may write it at the same time.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn at(&self, index: usize) -> T
    where
        T: Copy,
    {
        check("read", index, self.length);
        // SAFETY: in range, initialised and unshared by the caller's promise.
        unsafe { self.pointer.add(index).read() }
    }

    /// Writes element `index`.
    ///
    /// # Safety
    /// `index` must be below the length (the GPU does not check; the simulator does), and no other
    /// thread may read or write the element at the same time.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn set(&self, index: usize, value: T)
    where
        T: Copy,
    {
        check("write", index, self.length);
        // SAFETY: in range and unshared by the caller's promise.
        unsafe { self.pointer.add(index).write(value) }
    }

    /// The address of element `index`, for atomic operations.
    ///
    /// # Safety
    /// `index` must be below the length. The GPU does not check; the simulator does.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn address(&self, index: usize) -> *mut T {
        check("address", index, self.length);
        // SAFETY: in range by the caller's promise.
        unsafe { self.pointer.add(index) }
    }

    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first element's address, for the loops where every check has been done already.
    #[inline(always)]
    pub fn as_mut_ptr(&self) -> *mut T {
        self.pointer
    }
}

#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn check(access: &'static str, index: usize, length: usize) {
    #[cfg(not(target_arch = "nvptx64"))]
    if index >= length {
        crate::host::out_of_bounds(access, index, length, core::panic::Location::caller());
    }
    #[cfg(target_arch = "nvptx64")]
    let _ = (access, index, length);
}
