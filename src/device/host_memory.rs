//! Large arrays in the host's memory.
//!
//! The system makes pages when they are written to. For small ones that takes as long as filling them, so large arrays
//! ask for large pages.

use std::mem::MaybeUninit;

use ndarray::{ArrayRef, ArrayViewMut, Dimension};

use super::available::no_host_memory;
use super::{Element, require_available};
use crate::parallel;
use crate::{Error, Result};

/// Elements that a thread writes in one go.
const ZEROED_BY_A_THREAD: usize = 1 << 16;

/// Bytes that a thread copies in one go.
const COPIED_BY_A_THREAD: usize = 1 << 19;

/// Zeros in the host's memory, written by all threads side by side: where one thread writes to fresh pages, making them
/// would take most of its time.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn zeroed<T: Element>(length: usize) -> Result<Vec<T>> {
    let mut elements = Vec::new();
    reserve(&mut elements, length)?;
    let places = &mut elements.spare_capacity_mut()[..length];
    let write = |places: &mut [MaybeUninit<T>]| {
        for place in places {
            place.write(T::zeroed());
        }
    };
    if length <= ZEROED_BY_A_THREAD {
        // Waking a thread would take longer.
        write(places);
    } else {
        parallel::each(places.chunks_mut(ZEROED_BY_A_THREAD), write);
    }
    // SAFETY: just written, all of them.
    unsafe { elements.set_len(length) };
    Ok(elements)
}

/// Zeros in the host's memory that become pages when they are written to: for threads that each write a part.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn zeroed_lazily<T: Element>(length: usize) -> Result<Vec<T>> {
    require_available(bytes_of::<T>(length))?;
    zeroed_sparsely(length)
}

/// The same where most of the elements may stay unwritten: the machine need not have memory for all of them.
///
/// # Errors
/// [`Error::Allocation`] if the system refuses.
pub(crate) fn zeroed_sparsely<T: Element>(length: usize) -> Result<Vec<T>> {
    let elements = bytemuck::allocation::try_zeroed_vec(length);
    let elements = elements.map_err(|()| no_memory::<T>(length))?;
    prefer_large_pages(&elements);
    Ok(elements)
}

/// Several arrays of zeros, for which the machine is asked together: [`zeroed_lazily`].
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn zeroed_columns<T: Element>(count: usize, length: usize) -> Result<Vec<Vec<T>>> {
    require_available(bytes_of::<T>(length).saturating_mul(count))?;
    (0..count).map(|_| zeroed_sparsely(length)).collect()
}

/// Copies bytes, with all threads if there are many.
pub(crate) fn copy_bytes(from: &[u8], to: &mut [u8]) {
    if to.len() <= COPIED_BY_A_THREAD {
        to.copy_from_slice(from);
    } else {
        let chunks = to.chunks_mut(COPIED_BY_A_THREAD);
        let chunks = chunks.zip(from.chunks(COPIED_BY_A_THREAD));
        parallel::each(chunks, |(to, from)| to.copy_from_slice(from));
    }
}

/// The elements of a view in row-major order, copied by all threads if there are many.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn packed<T: Element, D: Dimension>(view: &ArrayRef<T, D>) -> Result<Vec<T>> {
    let mut elements = zeroed_lazily(view.len())?;
    let places = ArrayViewMut::from_shape(view.raw_dim(), &mut elements);
    assign(places.expect("as many as the view has"), view);
    Ok(elements)
}

/// Copies elements to those at the same places of another view, by all threads if there are many.
pub(crate) fn assign<T: Element, D: Dimension>(mut to: ArrayViewMut<T, D>, from: &ArrayRef<T, D>) {
    if from.len() * size_of::<T>() <= COPIED_BY_A_THREAD {
        to.assign(from);
        return;
    }
    let (axis, length) = parallel::cut(from.shape(), COPIED_BY_A_THREAD / size_of::<T>());
    let pieces = to.axis_chunks_iter_mut(axis, length);
    let pieces = pieces.zip(from.axis_chunks_iter(axis, length));
    parallel::each(pieces, |(mut to, from)| to.assign(&from));
}

/// A copy of elements in the host's memory.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn copied<T: Copy>(elements: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    append(&mut copy, elements)?;
    Ok(copy)
}

/// Puts copies of elements behind others.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory; then nothing has changed.
pub(crate) fn append<T: Copy>(elements: &mut Vec<T>, more: &[T]) -> Result<()> {
    reserve(elements, more.len())?;
    elements.extend_from_slice(more);
    Ok(())
}

/// Collects elements that the iterator counts in advance.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn collected<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, elements.len())?;
    all.extend(elements);
    Ok(all)
}

/// Makes room for more elements in the host's memory.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
#[inline]
pub(crate) fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<()> {
    let capacity = elements.capacity();
    if more <= capacity - elements.len() {
        return Ok(());
    }
    let length = elements.len().saturating_add(more);
    // `try_reserve` at least doubles the capacity.
    let doubled = require_available(bytes_of::<T>(more.max(capacity)));
    if doubled.is_err() || elements.try_reserve(more).is_err() {
        // Where there is not enough memory for that, an eighth keeps the number of copies small.
        let least = more.max(capacity / 8);
        require_available(bytes_of::<T>(least))?;
        elements
            .try_reserve_exact(least)
            .or_else(|_| elements.try_reserve_exact(more))
            .map_err(|_| no_memory::<T>(length))?;
    }
    if elements.capacity() != capacity {
        prefer_large_pages(elements);
    }
    Ok(())
}

/// Refuses elements for which a stable sort of rayon has no memory: the sort takes as much again, and would end the
/// process.
///
/// # Errors
/// [`Error::Allocation`].
pub(crate) fn room_to_sort<T>(elements: &[T]) -> Result<()> {
    reserve(&mut Vec::<T>::new(), elements.len())
}

/// The error of elements for which the host has no memory.
pub(super) fn no_memory<T>(length: usize) -> Error {
    no_host_memory(bytes_of::<T>(length) as u64, None)
}

/// Bytes of so many elements; `usize::MAX` if no address space has them.
fn bytes_of<T>(length: usize) -> usize {
    length.saturating_mul(size_of::<T>())
}

/// Asks for large pages where an array is not in memory yet. Systems may ignore it, or have them anyway.
fn prefer_large_pages<T>(elements: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        /// The usual size, and a multiple of all small ones.
        const LARGE_PAGE: usize = 2 << 20;
        let start = elements.as_ptr().addr();
        let end = start + elements.capacity() * size_of::<T>();
        let (start, end) = (
            start.next_multiple_of(LARGE_PAGE),
            end / LARGE_PAGE * LARGE_PAGE,
        );
        if start < end {
            // SAFETY: these are whole pages of memory that the vector owns, and the advice changes no bytes.
            unsafe {
                libc::madvise(
                    std::ptr::without_provenance_mut(start),
                    end - start,
                    libc::MADV_HUGEPAGE,
                )
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = elements;
}
