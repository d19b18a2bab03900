//! Shared memory: the arrays of a block, filled with poison when the block starts.

use crate::order::Random;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes after each array that must come through the block unchanged.
const GUARD_BYTES: usize = 64;
const GUARD: u8 = 0xa5;

/// What the poison of a block is drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poison {
    pub(crate) seed: u64,
    pub(crate) block: u64,
}

/// The shared memory of one block after the other.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    dynamic: Array,
    /// In the order of their first use. There are few, so a search through all of them is fast.
    statics: Vec<Static>,
}

#[derive(Debug)]
struct Static {
    key: usize,
    /// Whether the current block has used it.
    live: bool,
    array: Array,
}

/// Too much static shared memory: how much a block has with the array that was asked for.
#[derive(Debug)]
pub(crate) struct StaticBytes(pub(crate) usize);

/// An array that was written past its end.
#[derive(Debug)]
pub(crate) struct Overrun {
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
}

impl SharedMemory {
    pub(crate) fn new(dynamic_bytes: usize) -> Self {
        // On GPUs it begins at such an address as well where there is no static one; atoms of operands
        // of matrix instructions do.
        let layout = Layout::array::<u8>(dynamic_bytes)
            .and_then(|layout| layout.align_to(1024))
            .expect("a launch's shared memory is at most 4 GiB");
        Self {
            dynamic: Array::new(layout),
            statics: Vec::new(),
        }
    }

    /// Begins a block.
    pub(crate) fn start(&mut self, poison: Poison) {
        self.dynamic.fill(poison, 0);
        for array in &mut self.statics {
            array.live = false;
        }
    }

    pub(crate) fn dynamic(&self) -> *mut u8 {
        self.dynamic.pointer.as_ptr()
    }

    pub(crate) fn dynamic_bytes(&self) -> usize {
        self.dynamic.layout.size()
    }

    /// The block's array known by `key`, unless the block's static arrays together then exceed
    /// `limit` bytes.
    pub(crate) fn static_array(
        &mut self,
        key: usize,
        layout: Layout,
        poison: Poison,
        limit: usize,
    ) -> Result<*mut u8, StaticBytes> {
        // The layout is compared as well since arrays without bytes may share an address.
        let found = self
            .statics
            .iter()
            .position(|array| array.key == key && array.array.layout == layout);
        if let Some(found) = found
            && self.statics[found].live
        {
            return Ok(self.statics[found].array.pointer.as_ptr());
        }
        let live = self.statics.iter().filter(|array| array.live);
        // Each array starts at a multiple of 16 bytes, on the GPU too.
        let bytes = live.map(|array| array.array.layout.size().next_multiple_of(16));
        let bytes = bytes.sum::<usize>().saturating_add(layout.size());
        if bytes > limit {
            return Err(StaticBytes(bytes));
        }
        let index = found.unwrap_or_else(|| {
            self.statics.push(Static {
                key,
                live: false,
                array: Array::new(layout),
            });
            self.statics.len() - 1
        });
        let array = &mut self.statics[index];
        array.live = true;
        array.array.fill(poison, index as u64 + 1);
        Ok(array.array.pointer.as_ptr())
    }

    /// Ends a block: whether it stayed inside its arrays.
    pub(crate) fn check(&self) -> Result<(), Overrun> {
        let dynamic = std::iter::once(("dynamic shared memory", &self.dynamic));
        let statics = self.statics.iter().filter(|array| array.live);
        let statics = statics.map(|array| ("a static shared array", &array.array));
        for (what, array) in dynamic.chain(statics) {
            if !array.guard_is_intact() {
                let bytes = array.layout.size();
                return Err(Overrun { what, bytes });
            }
        }
        Ok(())
    }
}

/// Memory that is only reached through its raw pointer, since kernels hold that one.
#[derive(Debug)]
struct Array {
    pointer: NonNull<u8>,
    layout: Layout,
}

impl Array {
    fn new(layout: Layout) -> Self {
        let guarded = Self::guarded(layout);
        // SAFETY: the guard makes the size greater than 0.
        let pointer = NonNull::new(unsafe { alloc(guarded) });
        let pointer = pointer.unwrap_or_else(|| handle_alloc_error(guarded));
        Self { pointer, layout }
    }

    /// The layout of the allocation: the array, then its guard.
    fn guarded(layout: Layout) -> Layout {
        Layout::from_size_align(layout.size() + GUARD_BYTES, layout.align())
            .expect("shared memory is far smaller than the address space")
    }

    fn fill(&mut self, poison: Poison, stream: u64) {
        let size = self.layout.size();
        let start = self.pointer.as_ptr();
        // SAFETY: the allocation has `size` bytes and the guard. No thread of a kernel runs now, so
        // nobody else accesses it.
        unsafe {
            start.add(size).write_bytes(GUARD, GUARD_BYTES);
            if poison.seed == 0 {
                start.write_bytes(0xff, size);
                return;
            }
            let mut random = Random::new(poison.seed ^ stream.rotate_left(32), poison.block);
            let mut done = 0;
            while done < size {
                let bytes = random.next().to_ne_bytes();
                let count = bytes.len().min(size - done);
                start
                    .add(done)
                    .copy_from_nonoverlapping(bytes.as_ptr(), count);
                done += count;
            }
        }
    }

    fn guard_is_intact(&self) -> bool {
        // SAFETY: the guard lies behind the array's bytes in the same allocation, `fill` has
        // initialised it, and the block has finished, so nobody writes it now.
        let guard = unsafe {
            std::slice::from_raw_parts(self.pointer.as_ptr().add(self.layout.size()), GUARD_BYTES)
        };
        guard.iter().all(|&byte| byte == GUARD)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once.
        unsafe { dealloc(self.pointer.as_ptr(), Self::guarded(self.layout)) }
    }
}
