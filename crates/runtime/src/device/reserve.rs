//! Room for elements in the host's memory.

use super::available::no_memory;
use super::{MemoryKind, require_available};
use crate::{Error, Result};

/// Collects elements into a vector of just their number.
#[doc(hidden)]
pub fn collected<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    reserve(&mut all, elements.len())?;
    all.extend(elements);
    Ok(all)
}

/// Makes room for `more` elements.
#[inline]
#[doc(hidden)]
pub fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<()> {
    let capacity = elements.capacity();
    if more <= capacity - elements.len() {
        return Ok(());
    }
    let length = elements.len().saturating_add(more);
    // `try_reserve` doubles the capacity, or more.
    let doubled = require_available(bytes_of::<T>(more.max(capacity)));
    if doubled.is_err() || elements.try_reserve(more).is_err() {
        // If there is not enough memory for this, an eighth keeps the number of copies small.
        let least = more.max(capacity / 8);
        require_available(bytes_of::<T>(least))?;
        elements
            .try_reserve_exact(least)
            .or_else(|_| elements.try_reserve_exact(more))
            .map_err(|_| no_host_memory::<T>(length))?;
    }
    if elements.capacity() != capacity {
        prefer_large_pages(elements.as_ptr(), elements.capacity());
    }
    Ok(())
}

/// Checks that there is memory for a stable sort by rayon, which takes the elements' size again,
/// and aborts the process otherwise.
#[doc(hidden)]
pub fn room_to_sort<T>(elements: &[T]) -> Result<()> {
    reserve(&mut Vec::<T>::new(), elements.len())
}

pub fn no_host_memory<T>(length: usize) -> Error {
    no_memory(MemoryKind::Host, bytes_of::<T>(length) as u64, None)
}

/// Returns the bytes of `length` elements; `usize::MAX` if no address space has them.
pub fn bytes_of<T>(length: usize) -> usize {
    length.saturating_mul(size_of::<T>())
}

/// Asks for large pages for the array of `length` elements at an address, which is not in memory yet.
/// Systems may ignore this.
pub fn prefer_large_pages<T>(array: *const T, length: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        /// The usual size of large pages, and a multiple of all small sizes.
        const LARGE_PAGE: usize = 2 << 20;
        let address = array.addr();
        let end = (address + length * size_of::<T>()) / LARGE_PAGE * LARGE_PAGE;
        let start = address.next_multiple_of(LARGE_PAGE);
        if start < end {
            let pages = std::ptr::without_provenance_mut(start);
            // SAFETY: the advice changes no bytes.
            unsafe { libc::madvise(pages, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (array, length);
}
