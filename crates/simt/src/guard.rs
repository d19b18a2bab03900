//! Memory with guard zones before and behind it.
//!
//! Where the system allows it, the memory ends at a page that nothing can access, so that an access
//! past the end is noticed at once. What alignment leaves between the memory and such pages is a
//! zone whose bytes must not change. Elsewhere there are only these zones.

use crate::pages::Pages;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ops::Range;

/// The bytes of each zone that are filled and compared, at most.
pub(crate) const ZONE: usize = 1024;

/// The least size of shared memory with the zone behind it, more than the shared memory of any GPU:
/// a block that takes its array for larger writes to no other memory.
const LEAST_SHARED: usize = 256 << 10;

/// Memory that is accessed only through its raw pointer, which kernels hold.
#[derive(Debug)]
pub(crate) struct Guarded {
    pointer: *mut u8,
    size: usize,
    /// The bytes of the zones before and behind the memory.
    before: usize,
    behind: usize,
    home: Home,
}

// SAFETY: owns its memory, as a box does. Those who access the memory by its address order that.
unsafe impl Send for Guarded {}
// SAFETY: a shared reference gives the address, and reads only the zones, which nothing else may use.
unsafe impl Sync for Guarded {}

#[derive(Debug)]
enum Home {
    /// Taken out when it is passed on. The second one: whether the pages may be reused.
    Pages(Option<Pages>, bool),
    Heap(*mut u8, Layout),
}

/// A side of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the first byte.
    Before,
    /// Behind the last byte.
    Behind,
}

/// Formats the side as in `something wrote before the start of`.
impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before the start of",
            Self::Behind => "past the end of",
        })
    }
}

impl Guarded {
    /// Allocates memory, of zeros unless it `may_be_reused`; without zones if it is not `guarded`.
    /// `None` if there is no memory.
    pub(crate) fn new(layout: Layout, guarded: bool, may_be_reused: bool) -> Option<Self> {
        let (size, alignment) = (layout.size(), layout.align());
        let pages = match may_be_reused {
            _ if !guarded => None,
            true => Pages::reused(size),
            false => Pages::new(size),
        };
        if let Some(pages) = pages {
            let range = pages.range();
            let room = range.len() - 2 * (pages.first() - range.start);
            // Pages are larger than all alignments of shared memory and of buffers.
            let before = (room - size) / alignment * alignment;
            return Some(Self {
                pointer: (pages.first() + before) as *mut u8,
                size,
                before,
                behind: room - size - before,
                home: Home::Pages(Some(pages), may_be_reused),
            });
        }
        let before = if guarded {
            ZONE.next_multiple_of(alignment)
        } else {
            0
        };
        let behind = match may_be_reused {
            _ if !guarded => 0,
            true => ZONE.max(LEAST_SHARED.saturating_sub(size)),
            false => ZONE,
        };
        let whole = size.checked_add(before + behind)?.max(1);
        let whole = Layout::from_size_align(whole, alignment).ok()?;
        // SAFETY: the size is not 0.
        let start = unsafe { alloc_zeroed(whole) };
        (!start.is_null()).then(|| Self {
            pointer: start.wrapping_add(before),
            size,
            before,
            behind,
            home: Home::Heap(start, whole),
        })
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The memory with all bytes around it that only mistakes access.
    pub(crate) fn range(&self) -> Range<usize> {
        match &self.home {
            Home::Pages(Some(pages), _) => pages.range(),
            _ => {
                let start = self.pointer as usize;
                start - self.before..start + self.size + self.behind
            }
        }
    }

    /// The zones that are filled and compared.
    fn zones(&self) -> [(Side, Range<usize>); 2] {
        let (start, end) = (self.pointer as usize, self.pointer as usize + self.size);
        [
            (Side::Before, start - self.before.min(ZONE)..start),
            (Side::Behind, end..end + self.behind.min(ZONE)),
        ]
    }

    /// Fills the zones.
    pub(crate) fn fill_zones(&self, mut words: impl FnMut() -> u64) {
        for (_, zone) in self.zones() {
            for from in zone.clone().step_by(8) {
                let bytes = words().to_ne_bytes();
                let count = bytes.len().min(zone.end - from);
                // SAFETY: the bytes of a zone belong to this memory, and are at least `count`.
                unsafe { (from as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), count) };
            }
        }
    }

    /// Returns the side whose zone has changed since it was filled with the same `words`, and the
    /// place of the changed byte that is nearest to the memory, counted from its start.
    pub(crate) fn damage(&self, mut words: impl FnMut() -> u64) -> Option<(Side, isize)> {
        let start = self.pointer as usize;
        let mut found = None;
        for (side, zone) in self.zones() {
            for from in zone.clone().step_by(8) {
                let expected = words().to_ne_bytes();
                let mut bytes = expected;
                let count = bytes.len().min(zone.end - from);
                // SAFETY: the bytes of a zone are initialised, and are at least `count`.
                unsafe { (from as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), count) };
                if bytes == expected {
                    continue;
                }
                let mut changed = (0..count).filter(|&i| bytes[i] != expected[i]);
                let nearest = match side {
                    Side::Before => changed.next_back(),
                    Side::Behind => changed.next(),
                };
                let place = (from + nearest.unwrap_or(0)).wrapping_sub(start) as isize;
                match (side, found) {
                    // The last one is the nearest.
                    (Side::Before, _) | (_, None) => found = Some((side, place)),
                    _ => {}
                }
            }
        }
        found
    }

    /// Makes the memory inaccessible and returns what keeps its addresses in use. `None` if the
    /// system cannot do that; the memory is then freed.
    pub(crate) fn revoke(mut self) -> Option<Pages> {
        match &mut self.home {
            Home::Pages(pages, _) => {
                let pages = pages.take();
                pages.inspect(Pages::revoke)
            }
            Home::Heap(..) => None,
        }
    }

    /// Whether the memory can be made inaccessible.
    pub(crate) fn has_pages(&self) -> bool {
        matches!(self.home, Home::Pages(..))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        match &mut self.home {
            // SAFETY: allocated in `new` with this layout, and freed once.
            Home::Heap(start, layout) => unsafe { dealloc(*start, *layout) },
            Home::Pages(pages, true) => {
                if let Some(pages) = pages.take() {
                    pages.recycle();
                }
            }
            Home::Pages(_, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes of either zone are found, the nearest first, with and without pages.
    #[test]
    fn changed_zones_are_found() {
        let sizes = [0_usize, 1, 4, 1000, 4096, 5000];
        for (size, may_be_reused) in sizes
            .into_iter()
            .flat_map(|size| [(size, true), (size, false)])
        {
            let layout = Layout::from_size_align(size, 256).unwrap();
            let memory = Guarded::new(layout, true, may_be_reused).unwrap();
            assert!((memory.pointer() as usize).is_multiple_of(256));
            assert!(memory.range().contains(&(memory.pointer() as usize)));
            let words = || 0x0123_4567_89ab_cdef;
            memory.fill_zones(words);
            assert_eq!(memory.damage(words), None);
            for (side, zone) in memory.zones() {
                let places = match side {
                    Side::Before => zone.rev().step_by(7).collect::<Vec<_>>(),
                    Side::Behind => zone.step_by(7).collect(),
                };
                for place in places.into_iter().rev() {
                    let offset = place as isize - memory.pointer() as isize;
                    // SAFETY: a byte of a zone.
                    unsafe { (place as *mut u8).write(!(place as *mut u8).read()) };
                    assert_eq!(memory.damage(words), Some((side, offset)));
                }
                memory.fill_zones(words);
            }
        }
    }

    /// Without guards, the memory has nothing around it.
    #[test]
    fn unguarded_memory_has_no_zones() {
        for (size, may_be_reused) in [(1_usize, true), (64, true), (64, false), (5000, false)] {
            let layout = Layout::from_size_align(size, 256).unwrap();
            let memory = Guarded::new(layout, false, may_be_reused).unwrap();
            let start = memory.pointer() as usize;
            assert!(memory.zones().iter().all(|(_, zone)| zone.is_empty()));
            assert_eq!(memory.range(), start..start + size);
            assert!(!memory.has_pages());
        }
    }
}
