//! The search of whole warps for rows that a thread alone has left: those with many pairs, or a
//! long way.
//!
//! The tree below a row is cut at a level into subtrees, a task for each, so that even a single
//! giant that overlaps everything occupies the whole GPU. All lanes walk the same way down to nodes
//! of 64 leaves, and then test those side by side.
//!
//! Rows are searched twice, first to count and then to note the pairs, as keys that are sorted
//! afterwards. Before that, a sample of the rows can tell how long both would take.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::boxes::{Number, Sets};
use crate::counters::Counters;
use crate::cursor::Cursor;
use crate::domain::Domain;
use crate::levels::MAX_LEVELS;
use crate::tree::Tree;

/// The level below whose nodes the leaves are tested side by side: 4³ = 64 of them.
pub const PACKET_LEVEL: u32 = 2;

/// The arguments that all tasks share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct RowParameters {
    /// The level at whose nodes tasks begin.
    pub start_level: u32,
    /// The number of its nodes.
    pub subtrees: u32,
    /// The first row among those that were left.
    pub first: u32,
    /// How many of them.
    pub count: u32,
    /// From each to the next: 1 for all, more for a sample.
    pub stride: u32,
    /// Bits of a row's number in the second set.
    pub index_bits: u32,
}

/// The arguments that all searching kernels share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct RowSearch<T> {
    /// The boxes, of which neither set is empty.
    pub sets: Sets<T>,
    /// The rows in the order of the tree.
    pub order: DeviceSlice<u32>,
    /// The counters of the search.
    pub counters: DeviceSlice<u64>,
    /// The words of the tree.
    pub tree: DeviceSlice<u32>,
    /// The level of its root.
    pub root_level: u32,
    /// The rows that were left, among them those that the parameters name.
    pub left: DeviceSlice<u64>,
}

/// The arrays of [`row_counts`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct RowCounts {
    /// The rows that the parameters name, all from the first one on.
    pub left: DeviceSlice<u64>,
    /// The pairs before each of their tasks, and at the end.
    pub sums: DeviceSlice<u64>,
    /// A number for each row of the first set.
    pub counts: DeviceSliceMut<u32>,
}

/// The arrays of [`place_rows`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct PlaceRows {
    /// The rows that were left.
    pub left: DeviceSlice<u64>,
    /// The pairs before each task of all these rows.
    pub sums: DeviceSlice<u64>,
    /// The keys, sorted.
    pub keys: DeviceSlice<u64>,
    /// Where each row begins.
    pub offsets: DeviceSlice<u64>,
    /// Room for the rows.
    pub indices: DeviceSliceMut<u32>,
}

/// Walks through the tasks. `found` gets the task, the row's number from the parameters' first one
/// on, the pair's place among those of the task, and the row of the second set. The first lane of
/// each warp calls `finish` with the task, the number of its pairs, and the number of its steps:
/// nodes above [`PACKET_LEVEL`], and tests of 32 leaves side by side.
///
/// # Safety
/// The contract of the kernels `count_rows_…`.
#[inline(always)]
unsafe fn search<T: Number>(
    parameters: RowParameters,
    arrays: RowSearch<T>,
    found: impl Fn(usize, u32, u32, u32),
    mut finish: impl FnMut(usize, u32, u32),
) {
    let RowSearch {
        sets,
        order,
        counters,
        tree,
        root_level,
        left,
    } = arrays;
    let RowParameters {
        start_level,
        subtrees,
        first,
        count,
        stride,
        ..
    } = parameters;
    let firsts = shared_array![u64; MAX_LEVELS];
    // SAFETY: by the contract of the kernels, the arguments belong to one tree: `tree` has its
    // words over the second set, `counters` are those that `examine` has left of the boxes in
    // `order`. `firsts` has `MAX_LEVELS` elements, and all threads of the block, whole warps, are
    // here.
    let (tree, domain) = unsafe {
        (
            Tree::load(tree, sets.rows2, counters, firsts),
            Domain::load(counters, order.len() as u32),
        )
    };
    let first_leaf = order.len() - sets.rows2 as usize;
    let first_row = sets.first_row2();
    let lane = warp::lane_id();
    let lower_lanes = (1u32 << lane) - 1;

    let warps = thread::grid_dim_x() as usize * (thread::block_dim_x() / WARP_SIZE) as usize;
    let tasks = count as usize * subtrees as usize;
    let mut task = thread::global_index() / WARP_SIZE as usize;
    while task < tasks {
        let number = (task / subtrees as usize) as u32;
        let subtree = (task % subtrees as usize) as u32;
        // SAFETY: one of those left, which is a row of the first set.
        let (row, own) = unsafe {
            let row = left.at((first + number * stride) as usize) as u32;
            (row, sets.filter_box1(row, &domain))
        };
        let (mut pairs, mut steps) = (0, 0);
        let mut cursor = Cursor::at(start_level, subtree);
        if start_level == root_level && root_level > PACKET_LEVEL {
            cursor = Cursor::at_root(root_level, sets.rows2);
        }
        loop {
            if cursor.level > PACKET_LEVEL {
                // SAFETY: the cursor only goes to nodes that there are.
                let hits = unsafe { tree.overlapping(cursor.level, cursor.node, &own) };
                cursor.visit_later(hits);
                steps += 1;
            } else {
                let leaves = 4u32 << (2 * cursor.level);
                // In 64 bits: the last node's leaves may end behind 2³².
                let begin = cursor.node as u64 * leaves as u64;
                let mut start = 0;
                while start < leaves && begin + (start as u64) < sets.rows2 as u64 {
                    let leaf = begin + (start + lane) as u64;
                    let mut is_hit = false;
                    let mut index = 0;
                    if start + lane < leaves && leaf < sets.rows2 as u64 {
                        // SAFETY: `leaf` is below the number of leaves, and it is one of the second
                        // set's rows.
                        unsafe {
                            if tree.leaf_overlaps(leaf as u32, &own) {
                                index = order.at(first_leaf + leaf as usize) - first_row;
                                is_hit = sets.confirmed(row, index);
                            }
                        }
                    }
                    let hits = warp::ballot(FULL_MASK, is_hit);
                    if is_hit {
                        found(
                            task,
                            number,
                            pairs + (hits & lower_lanes).count_ones(),
                            index,
                        );
                    }
                    pairs += hits.count_ones();
                    steps += 1;
                    start += WARP_SIZE;
                }
            }
            if !cursor.advance() {
                break;
            }
        }
        if lane == 0 {
            finish(task, pairs, steps);
        }
        task += warps;
    }
}

macro_rules! entries {
    ($($type:ty, $sample:ident, $count:ident, $fill:ident;)*) => {$(
        #[doc = concat!("Adds up the pairs and steps of the tasks of some rows of `", stringify!($type), "` that were left,")]
        /// in [`Counters::SAMPLE_PAIRS`] and [`Counters::SAMPLE_STEPS`] of `counters`, those of the
        /// search.
        ///
        /// # Safety
        /// As for the counts; other threads only add to these counters.
        #[kernel(max_block = 128)]
        pub unsafe fn $sample(
            parameters: RowParameters,
            arrays: RowSearch<$type>,
            counters: DeviceSliceMut<u64>,
        ) {
            let (mut all_pairs, mut all_steps) = (0, 0);
            // SAFETY: `search` asks what this kernel asks, arguments of one tree and whole warps.
            // It reads counters that earlier launches have left; to the two of the sample all
            // threads only add.
            unsafe {
                search(parameters, arrays, |_, _, _, _| (), |_, pairs, steps| {
                    all_pairs += pairs as u64;
                    all_steps += steps as u64;
                });
                if all_steps != 0 {
                    atomic::add(counters.address(Counters::SAMPLE_PAIRS), all_pairs);
                    atomic::add(counters.address(Counters::SAMPLE_STEPS), all_steps);
                }
            }
        }

        #[doc = concat!("Counts the pairs of each task, of rows of `", stringify!($type), "` that were left.")]
        ///
        /// # Safety
        /// The slices of `arrays` have the lengths that [`RowSearch`] documents, and belong to one
        /// tree; `counts` has an element for each task: each row with each subtree. Blocks are
        /// whole warps.
        #[kernel(max_block = 128)]
        pub unsafe fn $count(
            parameters: RowParameters,
            arrays: RowSearch<$type>,
            counts: DeviceSliceMut<u32>,
        ) {
            // SAFETY: `search` asks what this kernel asks, arguments of one tree and whole warps.
            // `counts` has an element for each task, and one lane finishes the task.
            unsafe { search(parameters, arrays, |_, _, _, _| (), |task, pairs, _| counts.set(task, pairs)) }
        }

        #[doc = concat!("Writes the pairs of rows of `", stringify!($type), "` that were left, as keys:")]
        /// the row's number among those that the parameters name, then that in the second set.
        ///
        /// # Safety
        /// As for the counts, with stride 1; `sums` are how many pairs stand before each task of
        /// all rows that were left, `keys` has room for those of the parameters' rows.
        #[kernel(max_block = 128)]
        pub unsafe fn $fill(
            parameters: RowParameters,
            arrays: RowSearch<$type>,
            sums: DeviceSlice<u64>,
            keys: DeviceSliceMut<u64>,
        ) {
            let first_task = parameters.first as usize * parameters.subtrees as usize;
            // SAFETY: `search` asks what this kernel asks, arguments of one tree and whole warps.
            // `sums` has an element for each task, and the pairs of a task have places of their own
            // in `keys`, from the task's sum on.
            unsafe {
                search(
                    parameters,
                    arrays,
                    |task, number, place, index| {
                        let start = sums.at(first_task + task) - sums.at(first_task);
                        let key = (number as u64) << parameters.index_bits | index as u64;
                        keys.set(start as usize + place as usize, key);
                    },
                    |_, _, _| (),
                )
            }
        }
    )*};
}

entries! {
    f32, sample_rows_f32, count_rows_f32, fill_rows_f32;
    f64, sample_rows_f64, count_rows_f64, fill_rows_f64;
    i32, sample_rows_i32, count_rows_i32, fill_rows_i32;
}

/// Sets the numbers of pairs of the rows that were left.
///
/// # Safety
/// The slices of `arrays` have the lengths that [`RowCounts`] documents; `parameters` are those
/// with which the pairs were counted.
#[kernel(max_block = 256)]
pub unsafe fn row_counts(parameters: RowParameters, arrays: RowCounts) {
    let RowCounts { left, sums, counts } = arrays;
    for number in thread::grid_stride(parameters.count as usize) {
        let task = number * parameters.subtrees as usize;
        // SAFETY: by its documentation, `left` has the rows from the first one on, each once,
        // `sums` a sum for each of their tasks and one more, and `counts` a number for each row.
        unsafe {
            let pairs = sums.at(task + parameters.subtrees as usize) - sums.at(task);
            counts.set(left.at(number) as usize, pairs as u32);
        }
    }
}

/// Takes the sorted keys to where their rows begin. The row `first_row` begins at the beginning of
/// `indices`.
///
/// # Safety
/// The slices of `arrays` have the lengths that [`PlaceRows`] documents; `parameters`, `left` and
/// `sums` are those that `fill_rows` had.
#[kernel(max_block = 256)]
pub unsafe fn place_rows(parameters: RowParameters, first_row: u32, arrays: PlaceRows) {
    let PlaceRows {
        left,
        sums,
        keys,
        offsets,
        indices,
    } = arrays;
    let RowParameters {
        subtrees,
        first,
        index_bits,
        ..
    } = parameters;
    for place in thread::grid_stride(keys.len()) {
        // SAFETY: by the contract of this kernel, `left` and `sums` are those with which
        // `fill_rows` wrote the keys, so their numbers are below those of rows, and `indices` has a
        // place for each pair of each row.
        unsafe {
            let key = keys.at(place);
            let number = first as usize + (key >> index_bits) as usize;
            let first_task = first as usize * subtrees as usize;
            let before = sums.at(number * subtrees as usize) - sums.at(first_task);
            let row = left.at(number) as usize;
            let start = offsets.at(row) - offsets.at(first_row as usize);
            let index = key & ((1 << index_bits) - 1);
            indices.set((start + place as u64 - before) as usize, index as u32);
        }
    }
}
