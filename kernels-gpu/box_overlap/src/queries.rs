//! The search of one thread for each box of the first set, in the order of the tree, so that
//! neighbours in a warp take nearly the same way.
//!
//! What a thread finds goes to an array of slots, so that the tree need not be walked again when it
//! is known where each row begins. A query that has more pairs than slots, or visits too many
//! nodes, is left to whole warps: alone it would keep its warp and the GPU waiting.

use cuda_std::prelude::*;

use crate::boxes::{Number, Sets};
use crate::counters::Counters;
use crate::cursor::Cursor;
use crate::domain::Domain;
use crate::levels::{CHILDREN, MAX_LEVELS};
use crate::tree::Tree;

/// Pairs that are kept of a query.
pub const SLOTS: usize = 16;

/// Nodes that a query visits before it is left. In clusters that fall into a single cell of the
/// sort's grid it visits up to 310, and there warps take longer than threads.
pub const VISITS: u32 = 320;

/// In a query's first slot: it was left to a warp.
const LEFT: u32 = u32::MAX;

/// Arguments of the kernels that search for the pairs of each query.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Find<T> {
    /// The level of the tree's root.
    pub root_level: u32,
    /// The boxes, of which neither set is empty.
    pub sets: Sets<T>,
    /// The rows in the order of the tree.
    pub order: DeviceSlice<u32>,
    /// The counters of the search: [`Counters::LEFT`] becomes the number of rows that are left.
    pub counters: DeviceSliceMut<u64>,
    /// The words of the tree.
    pub tree: DeviceSlice<u32>,
    /// Room for the number of pairs of each row, 0 for those that are left.
    pub counts: DeviceSliceMut<u32>,
    /// Room for [`SLOTS`] pairs of each query, \[slot\]\[query\], in no particular order.
    pub slots: DeviceSliceMut<u32>,
    /// Room for all rows: those that are left.
    pub left: DeviceSliceMut<u64>,
}

/// Which rows [`write_rows`] writes.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct RowRange {
    /// The number of queries.
    pub queries: u32,
    /// From this row, whose pairs begin at the beginning of `indices`.
    pub first_row: u32,
    /// Up to this one.
    pub end_row: u32,
}

/// The arrays of [`write_rows`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct WriteRows {
    /// The rows in the order of the tree.
    pub order: DeviceSlice<u32>,
    /// The number of pairs of each row.
    pub counts: DeviceSlice<u32>,
    /// The slots as the search has left them.
    pub slots: DeviceSlice<u32>,
    /// Where each row's pairs begin.
    pub offsets: DeviceSlice<u64>,
    /// Room for the pairs of the rows.
    pub indices: DeviceSliceMut<u32>,
}

/// Searches for the pairs of each query.
///
/// # Safety
/// The contract of the kernels `find_…`.
#[inline(always)]
unsafe fn find<T: Number>(arguments: Find<T>) {
    let Find {
        root_level,
        sets,
        order,
        counters,
        tree,
        counts,
        slots,
        left,
    } = arguments;
    let firsts = shared_array![u64; MAX_LEVELS];
    // SAFETY: what is read of it here is not written any more.
    let known = unsafe { DeviceSlice::from_raw_parts(counters.as_mut_ptr(), counters.len()) };
    // SAFETY: by the contract of the kernels, the arguments belong to one tree: `tree` has its
    // words over the second set, `known` the counters that `examine` has left of the boxes in
    // `order`. `firsts` has `MAX_LEVELS` elements, and all threads of the block, whole warps, are
    // here.
    let (tree, domain) = unsafe {
        (
            Tree::load(tree, sets.rows2, known, firsts),
            Domain::load(known, order.len() as u32),
        )
    };
    let queries = sets.rows1 as usize;
    let query = thread::global_index();
    if query >= queries {
        return;
    }
    // SAFETY: as many rows as queries, at least, and the set has them.
    let (row, own) = unsafe {
        let row = order.at(query);
        (row, sets.filter_box1(row, &domain))
    };
    // Where the second set's rows begin in the order, and in the count of rows.
    let first_leaf = order.len() - sets.rows2 as usize;
    let first_row = sets.first_row2();

    let mut cursor = Cursor::at_root(root_level, sets.rows2);
    let (mut count, mut visits) = (0usize, 0);
    loop {
        // SAFETY: the cursor only goes to nodes that there are.
        let mut hits = unsafe { tree.overlapping(cursor.level, cursor.node, &own) };
        visits += 1;
        if cursor.level > 0 {
            cursor.visit_later(hits);
        } else {
            while hits != 0 {
                let leaf = cursor.node * CHILDREN + hits.trailing_zeros();
                hits &= hits - 1;
                // SAFETY: a node has no entries but leaves that there are.
                if !unsafe { tree.leaf_overlaps(leaf, &own) } {
                    continue;
                }
                // SAFETY: a leaf that overlaps is one of the second set's rows.
                let index = unsafe { order.at(first_leaf + leaf as usize) } - first_row;
                // SAFETY: rows of the sets.
                if unsafe { sets.confirmed(row, index) } {
                    if count < SLOTS {
                        // SAFETY: slots for each query.
                        unsafe { slots.set(count * queries + query, index) };
                    }
                    count += 1;
                }
            }
        }
        if count > SLOTS || visits > VISITS {
            // SAFETY: room for all queries; all threads only add to the counter.
            unsafe {
                let place = atomic::add(counters.address(Counters::LEFT), 1);
                left.set(place as usize, row as u64);
                slots.set(query, LEFT);
            }
            count = 0;
            break;
        }
        if !cursor.advance() {
            break;
        }
    }
    // SAFETY: a count for each row, and each row once.
    unsafe { counts.set(row as usize, count as u32) };
}

macro_rules! entries {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("Searches for the pairs of each box of the first set, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// The slices of `arguments` have the lengths that [`Find`] documents, and belong to one
        /// tree; the grid has a thread for each query, in whole warps.
        #[kernel(max_block = 128)]
        pub unsafe fn $name(arguments: Find<$type>) {
            // SAFETY: `find` asks what this kernel asks: arguments of one tree, and a thread for
            // each query, in whole warps.
            unsafe { find(arguments) }
        }
    )*};
}

entries! {
    f32, find_f32;
    f64, find_f64;
    i32, find_i32;
}

/// Puts two of the values into order.
macro_rules! exchange {
    ($values:ident: $(($low:literal $high:literal))*) => {$(
        let (low, high) = ($values[$low], $values[$high]);
        $values[$low] = if low < high { low } else { high };
        $values[$high] = if low < high { high } else { low };
    )*};
}

/// Sorts by Batcher's odd-even merge network for 8, all indices known, so that values are in
/// registers.
#[inline(always)]
fn sort_8(v: &mut [u32; SLOTS]) {
    exchange!(v: (0 1)(2 3)(4 5)(6 7) (0 2)(1 3)(4 6)(5 7) (1 2)(5 6) (0 4)(1 5)(2 6)(3 7)
        (2 4)(3 5) (1 2)(3 4)(5 6));
}

/// Sorts 16 values of which the lower eight are sorted.
#[inline(always)]
fn sort_upper_and_merge(v: &mut [u32; SLOTS]) {
    exchange!(v: (8 9)(10 11)(12 13)(14 15) (8 10)(9 11)(12 14)(13 15) (9 10)(13 14)
        (8 12)(9 13)(10 14)(11 15) (10 12)(11 13) (9 10)(11 12)(13 14)
        (0 8)(1 9)(2 10)(3 11)(4 12)(5 13)(6 14)(7 15)
        (4 8)(5 9)(6 10)(7 11) (2 4)(3 5)(6 8)(7 9)(10 12)(11 13)
        (1 2)(3 4)(5 6)(7 8)(9 10)(11 12)(13 14));
}

/// Puts the sorted rows of a second set behind `queries` places for those of a first, and counts them
/// behind these.
///
/// # Safety
/// `order` has room for the queries and the rows.
#[kernel(max_block = 256)]
pub unsafe fn append_rows(queries: u32, rows: DeviceSlice<u32>, order: DeviceSliceMut<u32>) {
    for place in thread::grid_stride(rows.len()) {
        // SAFETY: by the contract of this kernel, `order` has room for the queries and the rows.
        unsafe { order.set(queries as usize + place, rows.at(place) + queries) };
    }
}

/// Writes the pairs that were kept to where their rows begin, sorted.
///
/// # Safety
/// The slices of `arguments` have the lengths that [`WriteRows`] documents, those of `range`, and
/// the grid has a thread for each query.
#[kernel(max_block = 256)]
pub unsafe fn write_rows(range: RowRange, arguments: WriteRows) {
    let RowRange {
        queries,
        first_row,
        end_row,
    } = range;
    let WriteRows {
        order,
        counts,
        slots,
        offsets,
        indices,
    } = arguments;
    let query = thread::global_index();
    let queries = queries as usize;
    if query >= queries {
        return;
    }
    // SAFETY: below the number of queries, which are the first in the order.
    let row = unsafe { order.at(query) };
    if row < first_row || row >= end_row {
        return;
    }
    // SAFETY: a count for each row.
    let count = unsafe { counts.at(row as usize) } as usize;
    // A row that was left may have been counted since.
    // SAFETY: slots for each query, of which the first is set then.
    if count == 0 || unsafe { slots.at(query) } == LEFT {
        return;
    }
    let mut values = [u32::MAX; SLOTS];
    unrolled! { slot in [0 1 2 3 4 5 6 7] {
        if slot < count {
            // SAFETY: the query has `SLOTS` places, of which the search has written the first
            // `count`.
            values[slot] = unsafe { slots.at(slot * queries + query) };
        }
    }}
    sort_8(&mut values);
    if count > 8 {
        unrolled! { slot in [8 9 10 11 12 13 14 15] {
            if slot < count {
                // SAFETY: the query has `SLOTS` places, of which the search has written the first
                // `count`.
                values[slot] = unsafe { slots.at(slot * queries + query) };
            }
        }}
        sort_upper_and_merge(&mut values);
    }
    // SAFETY: an offset for each row.
    let start = unsafe { offsets.at(row as usize) - offsets.at(first_row as usize) } as usize;
    unrolled! { slot in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
        if slot < count {
            // SAFETY: the row's own places.
            unsafe { indices.set(start + slot, values[slot]) };
        }
    }}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort() {
        // A network sorts all sequences if it sorts those of zeros and ones.
        for bits in 0..1u32 << 16 {
            let mut values: [u32; SLOTS] = core::array::from_fn(|i| bits >> i & 1);
            sort_8(&mut values);
            assert!(values[..8].is_sorted());
            sort_upper_and_merge(&mut values);
            assert!(values.is_sorted(), "{bits:b}");
        }
    }
}
