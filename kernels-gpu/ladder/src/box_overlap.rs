//! All pairs of overlapping boxes, by testing each pair.
//!
//! Boxes are rows of 6 numbers: minX, minY, minZ, maxX, maxY, maxZ. Each box of the first set has
//! places for the numbers of [`MATCHES`] boxes of the second.

use cuda_std::prelude::*;

/// Places of a box of the first set.
pub const MATCHES: usize = 6;

/// What stands in a place that is not used.
pub const UNUSED: i32 = -1;

/// What stands in the last place of a box that overlaps more than there are places for. The
/// article's kernels write it already if all places are used.
pub const OVERFLOW: i32 = -2;

/// Numbers of a box.
pub const NUMBERS: usize = 6;

/// The article's first kernel, before v1: a thread has a box of the first set and goes through the
/// whole second set in global memory. All threads read the same box at the same time, which the
/// caches serve.
///
/// # Safety
/// The sets have 6 numbers a box, and the first one at least a box; `matches` has 6 places for each
/// box of the first set, and there is a thread for each.
#[kernel(max_block = 1024)]
pub unsafe fn overlaps_plain(
    set1: DeviceSlice<f32>,
    set2: DeviceSlice<f32>,
    matches: DeviceSliceMut<i32>,
) {
    let row = thread::global_index();
    if row >= set1.len() / NUMBERS {
        return;
    }
    // SAFETY: the sets have the boxes, and the thread's places are its own.
    unsafe {
        let own = box_of(set1, row);
        let mut found = Found::new(matches, row);
        for other in 0..set2.len() / NUMBERS {
            if overlap(own, box_of(set2, other)) {
                found.add(other);
            }
        }
        found.finish();
    }
}

/// v1: a block brings tiles of the second set to shared memory, each thread one box of a tile. So
/// each box is read from global memory once a block, and threads without a box of their own help.
///
/// # Safety
/// As of [`overlaps_plain`]; dynamic shared memory has 6 `f32` for each thread of a block.
#[kernel(max_block = 1024)]
pub unsafe fn overlaps_shared(
    set1: DeviceSlice<f32>,
    set2: DeviceSlice<f32>,
    matches: DeviceSliceMut<i32>,
) {
    let tile = shared::dynamic_shared_mem::<f32>();
    let (me, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let row = thread::global_index();
    let (boxes1, boxes2) = (set1.len() / NUMBERS, set2.len() / NUMBERS);
    let mut found = Found::new(matches, row);
    // SAFETY: the sets have the boxes, the tile one for each thread, barriers separate its writes
    // from its reads, and the thread's places are its own.
    unsafe {
        let own = box_of(set1, core::cmp::min(row, boxes1 - 1));
        let mut first = 0;
        while first < boxes2 {
            if first + me < boxes2 {
                store(tile, me, box_of(set2, first + me));
            }
            thread::sync_threads();
            if row < boxes1 {
                for i in 0..core::cmp::min(threads, boxes2 - first) {
                    if overlap(own, load(tile, i)) {
                        found.add(first + i);
                    }
                }
            }
            thread::sync_threads();
            first += threads;
        }
        if row < boxes1 {
            found.finish();
        }
    }
}

/// v2: each thread brings several boxes of a tile, so that barriers are fewer.
/// How many pay depends on the threads of a block: both are swept together.
///
/// # Safety
/// As of [`overlaps_plain`]; dynamic shared memory has 6 `f32` for each box of a tile, `items` a
/// thread.
#[kernel(max_block = 1024)]
pub unsafe fn overlaps_shared_items(
    items: u32,
    set1: DeviceSlice<f32>,
    set2: DeviceSlice<f32>,
    matches: DeviceSliceMut<i32>,
) {
    let tile = shared::dynamic_shared_mem::<f32>();
    let (me, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let row = thread::global_index();
    let (boxes1, boxes2) = (set1.len() / NUMBERS, set2.len() / NUMBERS);
    let boxes_of_tile = threads * items as usize;
    let mut found = Found::new(matches, row);
    // SAFETY: the sets have the boxes, the tile as many as it says, barriers separate its writes
    // from its reads, and the thread's places are its own.
    unsafe {
        let own = box_of(set1, core::cmp::min(row, boxes1 - 1));
        let mut first = 0;
        while first < boxes2 {
            let there = core::cmp::min(boxes_of_tile, boxes2 - first);
            let mut i = me;
            while i < there {
                store(tile, i, box_of(set2, first + i));
                i += threads;
            }
            thread::sync_threads();
            if row < boxes1 {
                for i in 0..there {
                    if overlap(own, load(tile, i)) {
                        found.add(first + i);
                    }
                }
            }
            thread::sync_threads();
            first += boxes_of_tile;
        }
        if row < boxes1 {
            found.finish();
        }
    }
}

/// v3: v2 in half precision, of which `u16` are the bits: half the memory, and twice the boxes of a
/// tile. Rounding keeps the order of numbers, so no pair is lost, but boxes that are only near each
/// other become pairs.
///
/// # Safety
/// As of [`overlaps_plain`]; dynamic shared memory has 6 `u16` for each box of a tile, `items` a
/// thread.
#[kernel(max_block = 1024)]
pub unsafe fn overlaps_half(
    items: u32,
    set1: DeviceSlice<u16>,
    set2: DeviceSlice<u16>,
    matches: DeviceSliceMut<i32>,
) {
    let tile = shared::dynamic_shared_mem::<u16>();
    let (me, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    let row = thread::global_index();
    let (boxes1, boxes2) = (set1.len() / NUMBERS, set2.len() / NUMBERS);
    let boxes_of_tile = threads * items as usize;
    let mut found = Found::new(matches, row);
    // SAFETY: as of `overlaps_shared_items`.
    unsafe {
        let own = box_of(set1, core::cmp::min(row, boxes1 - 1));
        let mut first = 0;
        while first < boxes2 {
            let there = core::cmp::min(boxes_of_tile, boxes2 - first);
            let mut i = me;
            while i < there {
                store(tile, i, box_of(set2, first + i));
                i += threads;
            }
            thread::sync_threads();
            if row < boxes1 {
                for i in 0..there {
                    if overlap_half(own, load(tile, i)) {
                        found.add(first + i);
                    }
                }
            }
            thread::sync_threads();
            first += boxes_of_tile;
        }
        if row < boxes1 {
            found.finish();
        }
    }
}

/// The numbers of a box.
type Box<T> = [T; NUMBERS];

/// # Safety
/// The set has such a box.
#[inline(always)]
unsafe fn box_of<T: Copy>(set: DeviceSlice<T>, row: usize) -> Box<T> {
    let at = row * NUMBERS;
    // SAFETY: by the contract of this function, the set has the box: `NUMBERS` numbers from `at`
    // on.
    unsafe {
        [
            set.at(at),
            set.at(at + 1),
            set.at(at + 2),
            set.at(at + 3),
            set.at(at + 4),
            set.at(at + 5),
        ]
    }
}

/// # Safety
/// The tile has such a box, and a barrier stands between this and what wrote it.
#[inline(always)]
unsafe fn load<T: Copy>(tile: *const T, index: usize) -> Box<T> {
    // SAFETY: by the contract of this function, the tile has the box: `NUMBERS` numbers from `at`
    // on, and a barrier stands behind their writes.
    unsafe {
        let at = tile.add(index * NUMBERS);
        [
            at.read(),
            at.add(1).read(),
            at.add(2).read(),
            at.add(3).read(),
            at.add(4).read(),
            at.add(5).read(),
        ]
    }
}

/// # Safety
/// The tile has room for such a box, which no other thread reads or writes before the next barrier.
#[inline(always)]
unsafe fn store<T: Copy>(tile: *mut T, index: usize, numbers: Box<T>) {
    unrolled! { i in [0 1 2 3 4 5] {
        // SAFETY: by the contract of this function, the tile has room for the `NUMBERS` numbers of
        // the box, and no other thread accesses them before the next barrier.
        unsafe { tile.add(index * NUMBERS + i).write(numbers[i]) };
    }}
}

/// Whether two boxes overlap: touching counts.
#[inline(always)]
fn overlap(a: Box<f32>, b: Box<f32>) -> bool {
    let [x1, y1, z1, to_x1, to_y1, to_z1] = a;
    let [x2, y2, z2, to_x2, to_y2, to_z2] = b;
    x1 <= to_x2 && to_x1 >= x2 && y1 <= to_y2 && to_y1 >= y2 && z1 <= to_z2 && to_z1 >= z2
}

/// The same in half precision.
#[inline(always)]
fn overlap_half(a: Box<u16>, b: Box<u16>) -> bool {
    let [x1, y1, z1, to_x1, to_y1, to_z1] = a;
    let [x2, y2, z2, to_x2, to_y2, to_z2] = b;
    is_at_most(x1, to_x2)
        && is_at_most(x2, to_x1)
        && is_at_most(y1, to_y2)
        && is_at_most(y2, to_y1)
        && is_at_most(z1, to_z2)
        && is_at_most(z2, to_z1)
}

/// Whether a number is not above another one, of the bits of both.
#[inline(always)]
fn is_at_most(a: u16, b: u16) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let is_so: u32;
        // SAFETY: a comparison of registers.
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred %is_so; setp.le.f16 %is_so, {a}, {b}; selp.u32 {is_so}, 1, 0, %is_so; }}",
                a = in(reg16) a, b = in(reg16) b, is_so = out(reg32) is_so, options(pure, nomem),
            );
        }
        is_so != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        half::f16::from_bits(a) <= half::f16::from_bits(b)
    }
}

/// The places of a thread's box, and how many have been filled.
struct Found {
    matches: DeviceSliceMut<i32>,
    first: usize,
    count: usize,
}

impl Found {
    #[inline(always)]
    fn new(matches: DeviceSliceMut<i32>, row: usize) -> Found {
        Found {
            matches,
            first: row * MATCHES,
            count: 0,
        }
    }

    /// # Safety
    /// The row is below the number of rows, and only this thread writes it.
    #[inline(always)]
    unsafe fn add(&mut self, other: usize) {
        let (place, number) = match self.count < MATCHES {
            true => (self.count, other as i32),
            false => (MATCHES - 1, OVERFLOW),
        };
        // SAFETY: the place is below 6.
        unsafe { self.matches.set(self.first + place, number) };
        self.count += 1;
    }

    /// Marks the places that are left.
    ///
    /// # Safety
    /// As of [`add`](Self::add).
    #[inline(always)]
    unsafe fn finish(self) {
        for place in self.count..MATCHES {
            // SAFETY: the place is below 6.
            unsafe { self.matches.set(self.first + place, UNUSED) };
        }
    }
}
