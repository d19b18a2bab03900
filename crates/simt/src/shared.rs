//! Shared memory: the arrays of a block, filled with poison when the block starts.

use crate::order::Random;
use cuda_std::host::SHARED_STATICS;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes after each array that the block must not change.
const GUARD_BYTES: usize = 64;

/// The least size of an array's allocation, more than the shared memory of any GPU, so that a block that
/// takes its array for larger writes to no other memory. Pages that nothing touches take none.
const LEAST_ALLOCATION: usize = 256 << 10;

/// The seed from which the initial content of a block's memory is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poison {
    pub(crate) seed: u64,
    pub(crate) block: u64,
}

impl Poison {
    /// Fills memory with bytes that differ from `stream` to `stream`.
    ///
    /// # Safety
    /// `start` points to `size` bytes that nobody else accesses.
    unsafe fn fill(self, start: *mut u8, size: usize, stream: u64) {
        // SAFETY: within the `size` bytes at `start`, by the contract of this function.
        unsafe {
            if self.seed == 0 {
                start.write_bytes(0xff, size);
                return;
            }
            let mut random = Random::new(self.seed ^ stream.rotate_left(32), self.block);
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
}

/// The shared memory of a worker's blocks, which run one after the other.
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
    /// Whether it is shared memory of the kernel.
    is_counted: bool,
    array: Array,
}

/// The bytes of static shared memory that a block would use with a new array, beyond the limit.
#[derive(Debug)]
pub(crate) struct StaticBytes(pub(crate) usize);

/// An array that the block wrote past its end.
#[derive(Debug)]
pub(crate) struct Overrun {
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
}

impl SharedMemory {
    pub(crate) fn new(dynamic_bytes: usize) -> Self {
        // On GPUs, dynamic shared memory has this alignment too if there is no static one. Atoms of
        // matrix instructions' operands need it.
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
        for (number, array) in SHARED_STATICS.iter().enumerate() {
            // SAFETY: a static of that size, which no thread of a kernel uses now: blocks run one
            // at a time.
            unsafe { poison.fill(array.as_mut_ptr(), array.bytes(), u64::MAX - number as u64) };
        }
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

    /// Returns the block's array for `key`. Fails if the block's static arrays together exceed
    /// `limit` bytes; an array without a limit is not among them.
    pub(crate) fn static_array(
        &mut self,
        key: usize,
        layout: Layout,
        poison: Poison,
        limit: Option<usize>,
    ) -> Result<*mut u8, StaticBytes> {
        // The layout is compared too, since arrays without bytes may share an address.
        let found = self
            .statics
            .iter()
            .position(|array| array.key == key && array.array.layout == layout);
        if let Some(found) = found
            && self.statics[found].live
        {
            return Ok(self.statics[found].array.pointer.as_ptr());
        }
        let live = (self.statics.iter()).filter(|array| array.live && array.is_counted);
        // Each array starts at a multiple of 16 bytes, on the GPU too.
        let bytes = live.map(|array| array.array.layout.size().next_multiple_of(16));
        let bytes = bytes.sum::<usize>().saturating_add(layout.size());
        if limit.is_some_and(|limit| bytes > limit) {
            return Err(StaticBytes(bytes));
        }
        let index = found.unwrap_or_else(|| {
            self.statics.push(Static {
                key,
                live: false,
                is_counted: limit.is_some(),
                array: Array::new(layout),
            });
            self.statics.len() - 1
        });
        let array = &mut self.statics[index];
        array.live = true;
        array.array.fill(poison, index as u64 + 1);
        Ok(array.array.pointer.as_ptr())
    }

    /// Checks at the end of a block that it did not write past its arrays.
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

/// Memory that is accessed only through its raw pointer, which kernels hold.
#[derive(Debug)]
struct Array {
    pointer: NonNull<u8>,
    layout: Layout,
    /// The bytes that `fill` wrote behind the array.
    guard: [u8; GUARD_BYTES],
}

impl Array {
    fn new(layout: Layout) -> Self {
        let guarded = Self::guarded(layout);
        // SAFETY: the guard makes the size greater than 0.
        let pointer = NonNull::new(unsafe { alloc(guarded) });
        let pointer = pointer.unwrap_or_else(|| handle_alloc_error(guarded));
        let guard = [0; GUARD_BYTES];
        Self {
            pointer,
            layout,
            guard,
        }
    }

    /// Returns the layout of the allocation: the array, its guard, and unused space behind them.
    fn guarded(layout: Layout) -> Layout {
        let size = (layout.size() + GUARD_BYTES).max(LEAST_ALLOCATION);
        Layout::from_size_align(size, layout.align())
            .expect("shared memory is far smaller than the address space")
    }

    fn fill(&mut self, poison: Poison, stream: u64) {
        let size = self.layout.size();
        let start = self.pointer.as_ptr();
        // Random under seed 0 too: a read of the guard changes results, and a write of a common value, such as
        // -1, does not go unnoticed.
        let mut random = Random::new(!poison.seed ^ stream.rotate_left(32), poison.block);
        for bytes in self.guard.as_chunks_mut().0 {
            *bytes = random.next().to_ne_bytes();
        }
        // SAFETY: the allocation has `size` bytes and the guard. No thread of the block runs now,
        // so nothing else accesses it.
        unsafe {
            let guard = start.add(size).cast::<[u8; GUARD_BYTES]>();
            guard.write_unaligned(self.guard);
            poison.fill(start, size, stream);
        }
    }

    fn guard_is_intact(&self) -> bool {
        // SAFETY: the guard lies behind the array's bytes in the same allocation, `fill` has
        // initialised it, and the block has finished, so nothing writes to it now.
        let guard = unsafe {
            let end = self.pointer.as_ptr().add(self.layout.size());
            end.cast::<[u8; GUARD_BYTES]>().read_unaligned()
        };
        guard == self.guard
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once.
        unsafe { dealloc(self.pointer.as_ptr(), Self::guarded(self.layout)) }
    }
}
