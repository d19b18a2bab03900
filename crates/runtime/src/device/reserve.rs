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
    let (length, capacity) = (elements.len(), elements.capacity());
    if more <= capacity - length {
        return Ok(());
    }
    let has_grown = grow(
        [length, capacity, more],
        size_of::<T>(),
        &mut |growth| match growth {
            Growth::Doubled => elements.try_reserve(more).is_ok(),
            Growth::Exact(more) => elements.try_reserve_exact(more).is_ok(),
        },
    );
    prefer_large_pages(elements.as_ptr(), elements.capacity());
    has_grown
}

/// How a vector grows.
enum Growth {
    /// To twice its capacity, or more.
    Doubled,
    /// By a number of elements.
    Exact(usize),
}

/// Decides how a vector of `length` elements grows by `more`. Compiled once, not for each type.
fn grow(
    [length, capacity, more]: [usize; 3],
    size: usize,
    grow: &mut dyn FnMut(Growth) -> bool,
) -> Result<()> {
    let bytes = |elements: usize| elements.saturating_mul(size);
    if require_available(bytes(more.max(capacity))).is_ok() && grow(Growth::Doubled) {
        return Ok(());
    }
    // If there is not enough memory for this, an eighth keeps the number of copies small.
    let least = more.max(capacity / 8);
    require_available(bytes(least))?;
    if grow(Growth::Exact(least)) || grow(Growth::Exact(more)) {
        return Ok(());
    }
    let length = length.saturating_add(more);
    Err(no_memory(MemoryKind::Host, bytes(length) as u64, None))
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
    prefer_large(array.addr(), length * size_of::<T>());
}

/// As [`prefer_large_pages`], compiled once.
fn prefer_large(address: usize, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        /// The usual size of large pages, and a multiple of all small sizes.
        const LARGE_PAGE: usize = 2 << 20;
        let end = (address + bytes) / LARGE_PAGE * LARGE_PAGE;
        let start = address.next_multiple_of(LARGE_PAGE);
        if start < end {
            let pages = std::ptr::without_provenance_mut(start);
            // SAFETY: the advice changes no bytes.
            unsafe { libc::madvise(pages, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (address, bytes);
}
