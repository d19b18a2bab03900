//! Large arrays in the host's memory.
//!
//! All allocations here return [`Error::Allocation`](crate::Error::Allocation) if the host has too
//! little memory. The system makes pages when they are first written to. Making small pages takes
//! as long as filling them, so large arrays ask for large pages.

use std::mem::MaybeUninit;

use ndarray::{ArrayRef, ArrayViewMut, Dimension};

use super::reserve::{bytes_of, collected, no_host_memory, prefer_large_pages, reserve};
use super::{Element, require_available};
use crate::Result;
use crate::parallel;

/// Elements that a thread zeroes in one task.
const ZEROED_BY_A_THREAD: usize = 1 << 16;

/// Bytes that a thread copies in one task.
const COPIED_BY_A_THREAD: usize = 1 << 19;

/// Returns zeros written by all threads: a single thread takes long to make fresh pages.
#[doc(hidden)]
pub fn zeroed<T: Element>(length: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    reserve(&mut elements, length)?;
    let unwritten = &mut elements.spare_capacity_mut()[..length];
    let write = |chunk: &mut [MaybeUninit<T>]| chunk.fill(MaybeUninit::new(T::zeroed()));
    if length <= ZEROED_BY_A_THREAD {
        // Waking a thread would take longer.
        write(unwritten);
    } else {
        parallel::each(unwritten.chunks_mut(ZEROED_BY_A_THREAD), write);
    }
    // SAFETY: all `length` elements were just written.
    unsafe { elements.set_len(length) };
    Ok(elements)
}

/// Returns zeros whose pages are made by the threads that first write to them.
#[doc(hidden)]
pub fn zeroed_lazily<T: Element>(length: usize) -> Result<Vec<T>> {
    require_available(bytes_of::<T>(length))?;
    zeroed_sparsely(length)
}

/// As [`zeroed_lazily`], but does not require memory for pages that are never written to.
#[doc(hidden)]
pub fn zeroed_sparsely<T: Element>(length: usize) -> Result<Vec<T>> {
    let elements = bytemuck::allocation::try_zeroed_vec(length);
    let elements = elements.map_err(|()| no_host_memory::<T>(length))?;
    prefer_large_pages(elements.as_ptr(), elements.capacity());
    Ok(elements)
}

/// Changes the length of an array whose elements are not needed any more. A longer array gets new
/// pages, made by the threads that first write to them.
#[doc(hidden)]
pub fn resize_lazily<T: Element>(elements: &mut Vec<T>, length: usize) -> Result<()> {
    if length > elements.capacity() {
        // Frees the old memory first.
        *elements = Vec::new();
        *elements = zeroed_lazily(length)?;
    }
    elements.resize(length, T::zeroed());
    Ok(())
}

/// Returns several arrays as [`zeroed_lazily`], if the host has memory for all of them together.
#[doc(hidden)]
pub fn zeroed_columns<T: Element>(count: usize, length: usize) -> Result<Vec<Vec<T>>> {
    require_available(bytes_of::<T>(length).saturating_mul(count))?;
    (0..count).map(|_| zeroed_sparsely(length)).collect()
}

/// Copies bytes, with all threads if there are many.
#[doc(hidden)]
pub fn copy_bytes(from: &[u8], to: &mut [u8]) {
    if to.len() <= COPIED_BY_A_THREAD {
        to.copy_from_slice(from);
    } else {
        let chunks = to.chunks_mut(COPIED_BY_A_THREAD);
        let chunks = chunks.zip(from.chunks(COPIED_BY_A_THREAD));
        parallel::each(chunks, |(to, from)| to.copy_from_slice(from));
    }
}

/// Returns the elements of a view in row-major order, copied by all threads if there are many.
#[doc(hidden)]
pub fn packed<T: Element, D: Dimension>(view: &ArrayRef<T, D>) -> Result<Vec<T>> {
    let mut elements = zeroed_lazily(view.len())?;
    let target = ArrayViewMut::from_shape(view.raw_dim(), &mut elements);
    assign(target.expect("the view's length"), view);
    Ok(elements)
}

/// Copies the elements of a view to a view of the same shape, by all threads if there are many.
#[doc(hidden)]
pub fn assign<T: Element, D: Dimension>(mut to: ArrayViewMut<T, D>, from: &ArrayRef<T, D>) {
    if from.len() * size_of::<T>() <= COPIED_BY_A_THREAD {
        to.assign(from);
        return;
    }
    let (axis, length) = parallel::cut(from.shape(), COPIED_BY_A_THREAD / size_of::<T>());
    let chunks = to.axis_chunks_iter_mut(axis, length);
    let chunks = chunks.zip(from.axis_chunks_iter(axis, length));
    parallel::each(chunks, |(mut to, from)| to.assign(&from));
}

/// Returns a copy of elements.
#[doc(hidden)]
pub fn copied<T: Copy>(elements: &[T]) -> Result<Vec<T>> {
    collected(elements.iter().copied())
}

/// Appends copies of elements. After an error nothing has changed.
#[doc(hidden)]
pub fn append<T: Copy>(elements: &mut Vec<T>, more: &[T]) -> Result<()> {
    reserve(elements, more.len())?;
    elements.extend_from_slice(more);
    Ok(())
}
