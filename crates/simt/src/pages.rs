//! Memory between pages that nothing can access.

use std::ops::Range;

/// Memory that begins and ends at pages, with inaccessible pages on both sides.
#[derive(Debug)]
pub(crate) struct Pages {
    /// The first byte of the inaccessible pages before the memory.
    start: usize,
    /// The bytes that can be accessed.
    bytes: usize,
}

impl Pages {
    /// The first byte that can be accessed.
    pub(crate) fn first(&self) -> usize {
        self.start + GUARD
    }

    /// The memory and the inaccessible pages on both sides.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + whole(self.bytes)
    }
}

/// The inaccessible bytes on each side, which take no memory.
const GUARD: usize = 256 << 10;

fn whole(bytes: usize) -> usize {
    bytes + 2 * GUARD
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use super::{GUARD, Pages, whole};
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::{Mutex, OnceLock, PoisonError};

    /// The largest number of guarded memories at a time. Each takes two mappings of the 65 530 that
    /// Linux allows by default, of which stacks take 16 384.
    const MOST: usize = 12_000;

    static COUNT: AtomicUsize = AtomicUsize::new(0);

    /// Unused memories, since mapping takes as long as running a small block.
    static POOL: Mutex<Vec<Pages>> = Mutex::new(Vec::new());

    /// The largest number of unused memories, and the largest size of one.
    const POOLED: usize = 64;
    const POOLED_BYTES: usize = 256 << 10;

    fn page_size() -> usize {
        static SIZE: OnceLock<usize> = OnceLock::new();
        // SAFETY: the call only returns a number.
        *SIZE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize)
    }

    impl Pages {
        /// Returns at least `bytes` bytes of zeros. `None` if there is no memory, or if there are too
        /// many guarded memories.
        pub(crate) fn new(bytes: usize) -> Option<Self> {
            let bytes = bytes.checked_next_multiple_of(page_size())?;
            if bytes > isize::MAX as usize - 2 * GUARD {
                return None;
            }
            if COUNT.fetch_add(1, Relaxed) >= MOST {
                COUNT.fetch_sub(1, Relaxed);
                return None;
            }
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new mapping, at an address that the system chooses.
            let start =
                unsafe { libc::mmap(ptr::null_mut(), whole(bytes), libc::PROT_NONE, flags, -1, 0) };
            if start == libc::MAP_FAILED {
                COUNT.fetch_sub(1, Relaxed);
                return None;
            }
            let pages = Self {
                start: start as usize,
                bytes,
            };
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: pages of the new mapping, which nothing uses yet.
            let result = unsafe { libc::mprotect(pages.first() as *mut _, bytes, access) };
            (bytes == 0 || result == 0).then_some(pages)
        }

        /// As [`new`](Self::new), but the bytes have any values: the memory may have been in use.
        pub(crate) fn reused(bytes: usize) -> Option<Self> {
            let rounded = bytes.checked_next_multiple_of(page_size())?;
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            let found = pool.iter().rposition(|pages| pages.bytes == rounded);
            let found = found.map(|index| pool.swap_remove(index));
            drop(pool);
            found.or_else(|| Self::new(bytes))
        }

        /// Keeps the memory for [`reused`](Self::reused).
        pub(crate) fn recycle(self) {
            if self.bytes > POOLED_BYTES {
                return;
            }
            let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.len() < POOLED {
                pool.push(self);
            }
        }

        /// Makes the memory inaccessible, and returns the pages to the system. The addresses stay
        /// in use.
        pub(crate) fn revoke(&self) {
            let flags =
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
            if self.bytes > 0 {
                let first = self.first() as *mut _;
                // SAFETY: replaces the mapping's own pages, which the owner does not use any more. If
                // the system refuses, they stay accessible.
                unsafe { libc::mmap(first, self.bytes, libc::PROT_NONE, flags, -1, 0) };
            }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: mapped in `new` with this length, and unmapped once.
            unsafe { libc::munmap(self.start as *mut _, whole(self.bytes)) };
            COUNT.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
impl Pages {
    pub(crate) fn new(_bytes: usize) -> Option<Self> {
        None
    }

    pub(crate) fn reused(_bytes: usize) -> Option<Self> {
        None
    }

    pub(crate) fn recycle(self) {}

    pub(crate) fn revoke(&self) {}
}
