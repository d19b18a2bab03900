//! Shared memory: the arrays of a block, filled with poison when the block starts.

use crate::guard::{Guarded, Side};
use crate::order::Random;
use cuda_std::host::SHARED_STATICS;
use std::alloc::{Layout, handle_alloc_error};
#[cfg(feature = "race-detector")]
use std::ops::Range;

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
    /// Whether arrays have guard zones.
    has_guards: bool,
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

/// An array that the block wrote beside.
#[derive(Debug)]
pub(crate) struct Overrun {
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
    pub(crate) side: Side,
}

const DYNAMIC: &str = "dynamic shared memory";
const STATIC: &str = "a static shared array";

impl SharedMemory {
    pub(crate) fn new(dynamic_bytes: usize, has_guards: bool) -> Self {
        // On GPUs, dynamic shared memory has this alignment too if there is no static one. Atoms of
        // matrix instructions' operands need it.
        let layout = Layout::array::<u8>(dynamic_bytes)
            .and_then(|layout| layout.align_to(1024))
            .expect("a launch's shared memory is at most 4 GiB");
        Self {
            dynamic: Array::new(layout, has_guards),
            statics: Vec::new(),
            has_guards,
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
        self.dynamic.memory.pointer()
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
            return Ok(self.statics[found].array.memory.pointer());
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
                array: Array::new(layout, self.has_guards),
            });
            self.statics.len() - 1
        });
        let array = &mut self.statics[index];
        array.live = true;
        array.array.fill(poison, index as u64 + 1);
        Ok(array.array.memory.pointer())
    }

    /// Checks at the end of a block that it did not write beside its arrays.
    pub(crate) fn check(&self) -> Result<(), Overrun> {
        match self.arrays().find_map(|(what, array)| {
            let (side, _) = array.damage()?;
            let bytes = array.layout.size();
            Some(Overrun { what, bytes, side })
        }) {
            None => Ok(()),
            Some(overrun) => Err(overrun),
        }
    }

    /// Returns the kind and size of the array that an address is in or near, and the place of the
    /// address, counted from the array's start.
    pub(crate) fn find(&self, address: usize) -> Option<(&'static str, usize, isize)> {
        let (what, array) = self
            .arrays()
            .find(|(_, array)| array.memory.range().contains(&address))?;
        let place = address.wrapping_sub(array.memory.pointer() as usize) as isize;
        Some((what, array.layout.size(), place))
    }

    /// Returns the bytes around the arrays that only mistakes access.
    #[cfg(feature = "race-detector")]
    pub(crate) fn zones(&self) -> impl Iterator<Item = Range<usize>> {
        self.arrays().flat_map(|(_, array)| {
            let range = array.memory.range();
            let start = array.memory.pointer() as usize;
            [range.start..start, start + array.layout.size()..range.end]
        })
    }

    /// Returns the arrays of the block that runs.
    fn arrays(&self) -> impl Iterator<Item = (&'static str, &Array)> {
        let statics = self.statics.iter().filter(|array| array.live);
        std::iter::once((DYNAMIC, &self.dynamic)).chain(statics.map(|array| (STATIC, &array.array)))
    }
}

/// An array and its guard zones.
#[derive(Debug)]
struct Array {
    layout: Layout,
    memory: Guarded,
    /// The seed of the bytes in the zones.
    zones: (u64, u64),
}

impl Array {
    fn new(layout: Layout, has_guards: bool) -> Self {
        // On GPUs, arrays begin at multiples of 16 bytes.
        let aligned = layout.align_to(16).expect("an alignment of 16 bytes");
        let memory = Guarded::new(aligned, has_guards, true);
        Self {
            layout,
            memory: memory.unwrap_or_else(|| handle_alloc_error(layout)),
            zones: (0, 0),
        }
    }

    fn fill(&mut self, poison: Poison, stream: u64) {
        // Random under seed 0 too: a read of a zone changes results, and a write of a common value, such as
        // -1, does not go unnoticed.
        self.zones = (!poison.seed ^ stream.rotate_left(32), poison.block);
        let mut random = Random::new(self.zones.0, self.zones.1);
        self.memory.fill_zones(|| random.next());
        // SAFETY: the memory has these bytes. No thread of the block runs now, so nothing else
        // accesses it.
        unsafe { poison.fill(self.memory.pointer(), self.layout.size(), stream) };
    }

    fn damage(&self) -> Option<(Side, isize)> {
        let mut random = Random::new(self.zones.0, self.zones.1);
        self.memory.damage(|| random.next())
    }
}
