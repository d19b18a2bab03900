//! Large arrays in the host's memory.
//!
//! The system makes pages when they are written to. For small ones that takes as long as filling them, so large arrays
//! ask for large pages.

use std::mem::MaybeUninit;

use ndarray::{ArrayRef, ArrayViewMut, Dimension, Zip};
use rayon::prelude::*;

use super::{DeviceKind, Element};
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
        places.par_chunks_mut(ZEROED_BY_A_THREAD).for_each(write);
    }
    // SAFETY: just written, all of them.
    unsafe { elements.set_len(length) };
    Ok(elements)
}

/// Zeros in the host's memory that become pages when they are written to: for threads that each write a part, and
/// perhaps not all of them.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn zeroed_lazily<T: Element>(length: usize) -> Result<Vec<T>> {
    let elements = bytemuck::allocation::try_zeroed_vec(length);
    let elements = elements.map_err(|()| no_memory::<T>(length))?;
    prefer_large_pages(&elements);
    Ok(elements)
}

/// Copies bytes, with all threads if there are many.
pub(crate) fn copy_bytes(from: &[u8], to: &mut [u8]) {
    if to.len() <= COPIED_BY_A_THREAD {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(COPIED_BY_A_THREAD)
            .zip(from.par_chunks(COPIED_BY_A_THREAD))
            .for_each(|(to, from)| to.copy_from_slice(from));
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
pub(crate) fn assign<T: Element, D: Dimension>(to: ArrayViewMut<T, D>, from: &ArrayRef<T, D>) {
    let is_small = from.len() * size_of::<T>() <= COPIED_BY_A_THREAD;
    let copies = Zip::from(to).and(from);
    match is_small {
        true => copies.for_each(|to, &from| *to = from),
        false => copies.par_for_each(|to, &from| *to = from),
    }
}

/// Makes room for more elements in the host's memory.
///
/// # Errors
/// [`Error::Allocation`] if there is not so much memory.
pub(crate) fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<()> {
    let (length, capacity) = (elements.len().saturating_add(more), elements.capacity());
    elements
        .try_reserve(more)
        .map_err(|_| no_memory::<T>(length))?;
    if elements.capacity() != capacity {
        prefer_large_pages(elements);
    }
    Ok(())
}

/// The error of elements for which the host has no memory.
fn no_memory<T>(length: usize) -> Error {
    Error::Allocation {
        device: DeviceKind::Cpu.to_string(),
        requested: length.saturating_mul(size_of::<T>()) as u64,
        free: None,
        total: None,
    }
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
