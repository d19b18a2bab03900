//! Builds the tree, four levels at a time: first over the sorted boxes, then over entries of the
//! highest level that is there.
//!
//! Each thread has an entry. Threads of neighbours combine theirs within a warp up to 16, and for
//! each block up to 256 through shared memory.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpNumber};

use crate::boxes::{FilterBox, Number, Sets};
use crate::counters::Counters;
use crate::domain::Domain;
use crate::levels::{NODE_WORDS, nodes};

/// Threads of a block.
pub const BUILD_THREADS: u32 = 256;

/// How many levels come to stand above that of the entries: 4⁴ = 256.
pub const LEVELS_A_LAUNCH: u32 = 4;

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
    /// Room for all nodes of a tree with this root.
    pub nodes: DeviceSliceMut<f32>,
}

/// Which levels [`levels`] writes.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Levels {
    /// Leaves of the tree.
    pub leaves: u32,
    /// The level above which four are written.
    pub level: u32,
    /// The level of the tree's root.
    pub root_level: u32,
}

/// The nodes that are built, and what it takes to find them.
#[derive(Clone, Copy)]
struct Target {
    nodes: DeviceSliceMut<f32>,
    counters: DeviceSlice<u64>,
    leaves: u32,
    root_level: u32,
}

impl Target {
    /// Where the first of an entry's six numbers is; `None` if it is past the level's last node
    /// or above the root.
    #[inline(always)]
    fn place(&self, level: u32, entry: u32) -> Option<usize> {
        if level > self.root_level || entry / 4 >= nodes(self.leaves, level) {
            return None;
        }
        // SAFETY: a number for each level.
        let first = unsafe { self.counters.at(Counters::FIRST_NODES + level as usize) };
        Some((first as usize + (entry / 4) as usize) * NODE_WORDS + (entry % 4) as usize)
    }

    /// # Safety
    /// No other thread writes or reads the entry.
    #[inline(always)]
    unsafe fn set(&self, level: u32, entry: u32, value: &FilterBox) {
        if let Some(place) = self.place(level, entry) {
            unrolled! { axis in [0 1 2] {
                // SAFETY: the node's numbers.
                unsafe {
                    self.nodes.set(place + 4 * axis, value.min[axis]);
                    self.nodes.set(place + 4 * (axis + 3), value.max[axis]);
                }
            }}
        }
    }
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

const NOTHING: FilterBox = FilterBox {
    min: [f32::NAN; 3],
    max: [f32::NAN; 3],
};

/// Writes the entries of the four levels above those that the threads of the grid have.
///
/// # Safety
/// The target's nodes are there; `entry` is that of the thread's number in the grid, whose blocks
/// have [`BUILD_THREADS`] threads; `of_sixteens` points to 16 · 6 elements of shared memory.
#[inline(always)]
unsafe fn raise(target: Target, level: u32, entry: &FilterBox, of_sixteens: *mut f32) {
    let me = thread::thread_idx_x();
    let index = thread::block_idx_x() * BUILD_THREADS + me;
    let four = join(&join(entry, 1), 2);
    if me.is_multiple_of(4) {
        // SAFETY: this thread's alone, here and below.
        unsafe { target.set(level + 1, index / 4, &four) };
    }
    let sixteen = join(&join(&four, 4), 8);
    if me.is_multiple_of(16) {
        // SAFETY: as above.
        unsafe { target.set(level + 2, index / 16, &sixteen) };
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
        let mut sixteen = NOTHING;
        if me < 16 {
            unrolled! { axis in [0 1 2] {
                let place = me as usize + 16 * axis;
                // SAFETY: written before the barrier.
                unsafe {
                    sixteen.min[axis] = of_sixteens.add(place).read();
                    sixteen.max[axis] = of_sixteens.add(place + 48).read();
                }
            }}
        }
        let first = thread::block_idx_x() * (BUILD_THREADS / 64);
        let four = join(&join(&sixteen, 1), 2);
        if me < 16 && me.is_multiple_of(4) {
            // SAFETY: as above.
            unsafe { target.set(level + 3, first + me / 4, &four) };
        }
        let all = join(&join(&four, 4), 8);
        if me == 0 {
            // SAFETY: as above.
            unsafe { target.set(level + 4, thread::block_idx_x(), &all) };
        }
    }
}

/// Writes the leaves in the order of the sorted rows, and the four levels above.
///
/// # Safety
/// As of the kernels below.
#[inline(always)]
unsafe fn leaves<T: Number>(arguments: Leaves<T>) {
    let Leaves {
        sets,
        order,
        counters,
        root_level,
        nodes,
    } = arguments;
    let of_sixteens = shared_array![f32; 16 * 6];
    // SAFETY: passed on to the caller.
    let domain = unsafe { Domain::load(counters, order.len() as u32) };
    let target = Target {
        nodes,
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
    // SAFETY: this thread's leaf; the rest is passed on to the caller.
    unsafe {
        target.set(0, leaf, &entry);
        raise(target, 0, &entry, of_sixteens)
    };
}

/// Writes the four levels above `level`.
///
/// # Safety
/// `counters` and `nodes` are those of the tree, and the nodes of the level have been written. The
/// grid has as many threads as the level has entries, and a multiple of four blocks of
/// [`BUILD_THREADS`], so that all nodes of all these levels are filled up.
#[kernel(block = 256)]
pub unsafe fn levels(
    Levels {
        leaves,
        level,
        root_level,
    }: Levels,
    counters: DeviceSlice<u64>,
    nodes: DeviceSliceMut<f32>,
) {
    let of_sixteens = shared_array![f32; 16 * 6];
    let target = Target {
        nodes,
        counters,
        leaves,
        root_level,
    };
    let mut entry = NOTHING;
    if let Some(place) = target.place(level, thread::index_1d()) {
        unrolled! { axis in [0 1 2] {
            // SAFETY: the node's numbers, written by an earlier launch.
            unsafe {
                entry.min[axis] = nodes.at(place + 4 * axis);
                entry.max[axis] = nodes.at(place + 4 * (axis + 3));
            }
        }}
    }
    // SAFETY: as the caller says.
    unsafe { raise(target, level, &entry, of_sixteens) };
}

macro_rules! entries {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("Writes the leaves of `", stringify!($type), "` boxes, and the four levels above.")]
        ///
        /// # Safety
        /// The arguments are as they say, and the grid is as for [`levels`].
        #[kernel(block = 256)]
        pub unsafe fn $name(arguments: Leaves<$type>) {
            // SAFETY: passed on to the caller.
            unsafe { leaves(arguments) }
        }
    )*};
}

entries! {
    f32, leaves_f32;
    f64, leaves_f64;
    i32, leaves_i32;
}
