//! Builds the tree, four levels at a time: first over the sorted boxes, then over the entries of
//! the level above, which the launch before has left.
//!
//! Each thread has an entry. Threads of neighbours combine theirs within a warp up to 16, and for
//! each block up to 256 through shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpNumber};

use crate::boxes::{FilterBox, Number, Sets};
use crate::domain::Domain;
use crate::levels::{CHILDREN, LEAF_WORDS, entries, nodes};
use crate::target::Target;

/// Threads of a block.
pub const BUILD_THREADS: u32 = 256;

/// Arguments of the kernels that write leaves.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Leaves<T> {
    /// The boxes, of which the second set is not empty.
    pub sets: Sets<T>,
    /// The rows of both sets (of one if they are the same) in the order of the tree, those of the
    /// second behind the first.
    pub order: DeviceSlice<u32>,
    /// The counters of the search.
    pub counters: DeviceSlice<u64>,
    /// The level of the tree's root.
    pub root_level: u32,
    /// Room for the words of a tree with this root.
    pub words: DeviceSliceMut<u32>,
}

/// Which levels [`levels`] writes.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Levels {
    /// Leaves of the tree.
    pub leaves: u32,
    /// The lowest of the levels that are written.
    pub level: u32,
    /// The level of the tree's root.
    pub root_level: u32,
}

/// The bounding box of this lane's and that of the lane `distance` away; NaN gives way.
#[inline(always)]
fn join(value: &FilterBox, distance: u32) -> FilterBox {
    let mut joined = *value;
    unrolled! { axis in [0 1 2] {
        let (min, max) = (value.min[axis], value.max[axis]);
        joined.min[axis] = WarpNumber::minimum(min, warp::shuffle_xor(FULL_MASK, min, distance));
        joined.max[axis] = WarpNumber::maximum(max, warp::shuffle_xor(FULL_MASK, max, distance));
    }}
    joined
}

/// An entry that no level has, whose place among its node's is 0.
const PAST_ALL: u32 = u32::MAX - 63;

const NOTHING: FilterBox = FilterBox {
    min: [f32::NAN; 3],
    max: [f32::NAN; 3],
};

/// Writes the nodes of four levels, of which the threads of the grid have the lowest entries, and
/// the entries of the level above for the next launch.
///
/// # Safety
/// The target's words are there; `entry` is that of the thread's number in the grid, whose blocks
/// have [`BUILD_THREADS`] threads; `of_sixteens` points to 16 · 6 elements of shared memory.
#[inline(always)]
unsafe fn raise(target: Target, level: u32, entry: &FilterBox, of_sixteens: *mut f32) {
    let me = thread::thread_idx_x();
    let index = thread::block_idx_x() * BUILD_THREADS + me;
    let four = join(&join(entry, 1), 2);
    let sixteen = join(&join(&four, 4), 8);
    // SAFETY: nodes of this warp, whose lanes are all here; so below.
    unsafe {
        target.set_node(level, index, 1, entry, &four);
        target.set_node(level + 1, index / 4, 4, &four, &sixteen);
    }
    if me.is_multiple_of(16) {
        unrolled! { axis in [0 1 2] {
            let place = (me / 16) as usize + 16 * axis;
            // SAFETY: 16 · 6 elements, of which these are this thread's.
            unsafe {
                of_sixteens.add(place).write(sixteen.min[axis]);
                of_sixteens.add(place + 48).write(sixteen.max[axis]);
            }
        }}
    }
    thread::sync_threads();
    if me < 32 {
        // The upper half has the lower one's again, and writes the same nodes' words nowhere.
        let sixteenth = me % 16;
        let mut sixteen = NOTHING;
        unrolled! { axis in [0 1 2] {
            let place = sixteenth as usize + 16 * axis;
            // SAFETY: each group of 16 threads wrote its six elements before the barrier.
            unsafe {
                sixteen.min[axis] = of_sixteens.add(place).read();
                sixteen.max[axis] = of_sixteens.add(place + 48).read();
            }
        }}
        // An entry past the end of all levels for the upper half.
        let first = if me < 16 {
            thread::block_idx_x() * (BUILD_THREADS / 16) + me
        } else {
            PAST_ALL + me
        };
        let four = join(&join(&sixteen, 1), 2);
        let all = join(&join(&four, 4), 8);
        // SAFETY: the whole first warp of the block is here. Its lower half has the nodes above the
        // block's own entries, which no other block has; its upper half has entries past the end of
        // all levels, which `set_node` does not write. Thread 0 alone writes the block's entry.
        unsafe {
            target.set_node(level + 2, first, 1, &sixteen, &four);
            target.set_node(level + 3, first / 4, 4, &four, &all);
            if me == 0 {
                target.set_entry(level + 4, thread::block_idx_x(), &all);
            }
        }
    }
}

/// Writes the leaves in the order of the sorted rows, and the nodes of the lowest four levels.
///
/// # Safety
/// The contract of the kernels `leaves_…`.
#[inline(always)]
unsafe fn leaves<T: Number>(arguments: Leaves<T>) {
    let Leaves {
        sets,
        order,
        counters,
        root_level,
        words,
    } = arguments;
    let of_sixteens = shared_array![f32; 16 * 6];
    // SAFETY: by their documentation, `counters` are those of the search, which `examine` has left
    // before the sort, and `order` has all of its boxes.
    let domain = unsafe { Domain::load(counters, order.len() as u32) };
    let target = Target {
        words,
        counters,
        leaves: sets.rows2,
        root_level,
    };
    let leaf = thread::index_1d();
    let mut entry = NOTHING;
    if leaf < sets.rows2 {
        // The second set's rows are the last in the order, and counted behind those of the first.
        let first_row = sets.first_row2();
        let place = order.len() - sets.rows2 as usize + leaf as usize;
        // SAFETY: below the length, and the rows are those of the sets.
        entry = unsafe { sets.filter_box2(order.at(place) - first_row, &domain) };
    }
    if leaf / CHILDREN < nodes(sets.rows2, 0) {
        let place = (leaf / CHILDREN) as usize * LEAF_WORDS + (leaf % CHILDREN) as usize;
        unrolled! { axis in [0 1 2] {
            // SAFETY: this thread's leaf.
            unsafe {
                words.set(place + 4 * axis, entry.min[axis].to_bits());
                words.set(place + 4 * (axis + 3), entry.max[axis].to_bits());
            }
        }}
    }
    // SAFETY: `words` has room for a tree with this root. The lowest entries are the leaves:
    // `entry` is that with the thread's number in the grid, whose blocks have `BUILD_THREADS`
    // threads, by the contract of the kernels. `of_sixteens` has 16 · 6 elements.
    unsafe { raise(target, 0, &entry, of_sixteens) };
}

/// Writes the nodes of `level` and of the three levels above.
///
/// # Safety
/// `counters` and `words` are those of the tree, and an earlier launch has left the entries of the
/// level. The grid has as many threads as the level has entries, in blocks of [`BUILD_THREADS`].
#[kernel(block = 256)]
pub unsafe fn levels(
    Levels {
        leaves,
        level,
        root_level,
    }: Levels,
    counters: DeviceSlice<u64>,
    words: DeviceSliceMut<u32>,
) {
    let of_sixteens = shared_array![f32; 16 * 6];
    let target = Target {
        words,
        counters,
        leaves,
        root_level,
    };
    let mut entry = NOTHING;
    let index = thread::index_1d();
    if index < entries(leaves, level) {
        let word = target.entry_word(level, index);
        unrolled! { axis in [0 1 2] {
            // SAFETY: the entry's numbers, written by an earlier launch.
            unsafe {
                entry.min[axis] = f32::from_bits(words.at(word + axis));
                entry.max[axis] = f32::from_bits(words.at(word + axis + 3));
            }
        }}
    }
    // SAFETY: by the contract of this function, `counters` and `words` are those of the tree, and
    // an earlier launch has left the entries of the level. The grid has as many threads as the
    // level has entries, in blocks of `BUILD_THREADS`.
    unsafe { raise(target, level, &entry, of_sixteens) };
}

macro_rules! kernels {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("Writes the leaves of `", stringify!($type), "` boxes, and the nodes of the lowest four levels.")]
        ///
        /// # Safety
        /// The slices of `arguments` have the lengths that [`Leaves`] documents, and the grid is as
        /// for [`levels`].
        #[kernel(block = 256)]
        pub unsafe fn $name(arguments: Leaves<$type>) {
            // SAFETY: `leaves` asks what this kernel asks: slices as `Leaves` documents, and a grid
            // with a thread for each leaf in blocks of `BUILD_THREADS`.
            unsafe { leaves(arguments) }
        }
    )*};
}

kernels! {
    f32, leaves_f32;
    f64, leaves_f64;
    i32, leaves_i32;
}
