//! Launches of the search in a tree.

use std::cell::OnceCell;
use std::ops::Range;

use box_overlap_kernels::{
    self as box_kernels, BUILD_THREADS, Counters, Find, Keys, LEVELS_A_LAUNCH, Leaves, Levels,
    NODE_WORDS, PlaceRows, RowCounts, RowParameters, RowRange, RowSearch, SLOTS, Sets, WriteRows,
    key_bits, nodes,
};

use super::brute::Brute;
use super::tuning::{self, SEARCH_THREADS, THREADS, Work};
use super::{Counted, How, Known, MODULE, counter};
use crate::box_overlap::{Algorithm, Coordinate};
use crate::device::{Buffer, LaunchConfig};
use crate::primitives::{sort_keys, sort_pairs, sums_and_total};
use crate::{Device, Result};

/// The tree, and what the first stage has left for the second.
pub(super) struct Indexed {
    tree: Tree,
    /// The pairs of each query, in the order of the tree.
    slots: Buffer<u32>,
    /// Rows that were left to warps, if any.
    left: Option<Left>,
}

/// The second set's boxes, sorted, and the bounding boxes over them.
struct Tree {
    counters: Buffer<u64>,
    /// The rows of both sets, of the first before those of the second, or of one if they are the same.
    order: Buffer<u32>,
    nodes: Buffer<f32>,
    root_level: u32,
}

/// The subtrees that the search for a row is divided into.
#[derive(Clone, Copy)]
struct Subtrees {
    start_level: u32,
    count: u32,
}

/// Rows with many pairs, ascending.
struct Left {
    rows: Buffer<u64>,
    subtrees: Subtrees,
    /// How many pairs stand before those of each row and subtree.
    sums: Buffer<u64>,
    /// Of all these rows.
    pairs: u64,
    /// Copies of `rows` and `sums`, for those who want some of the rows.
    on_host: OnceCell<(Vec<u64>, Vec<u64>)>,
}

impl Indexed {
    pub fn count<T: Coordinate>(
        device: &Device,
        sets: Sets<T>,
        counters: Buffer<u64>,
        algorithm: Algorithm,
        read: impl Fn(&Buffer<u64>) -> Result<Known>,
    ) -> Result<Counted<T>> {
        let rows1 = sets.rows1 as usize;
        let mut tree = Tree::build(device, sets, counters)?;
        let mut counts = device.alloc::<u32>(rows1)?;
        let mut slots = device.alloc::<u32>(rows1 * SLOTS)?;
        let mut left = device.alloc::<u64>(rows1)?;
        let config = LaunchConfig::new(tuning::blocks(rows1, SEARCH_THREADS), SEARCH_THREADS);
        let arguments = Find {
            root_level: tree.root_level,
            sets,
            order: tree.order.slice(),
            counters: tree.counters.slice_mut(),
            nodes: tree.nodes.slice(),
            counts: counts.slice_mut(),
            slots: slots.slice_mut(),
            left: left.slice_mut(),
        };
        // SAFETY: the tree is that of the sets, neither of which is empty; a count, slots and room among
        // those left for each row. Buffers are of this device and freed after the kernels have run.
        let mut offsets = unsafe {
            device.launch(MODULE, T::KERNELS.find, config, (arguments,))?;
            sums_and_total(&counts, counter(&mut tree.counters, Counters::PAIRS))?
        };
        let known = read(&tree.counters)?;
        let (mut pairs, mut of_left) = (known.pairs(), None);
        if known.left() > 0 {
            let left = left.truncated(known.left() as usize);
            let is_auto = algorithm == Algorithm::Auto;
            let tests = (u64::from(sets.rows1) * u64::from(sets.rows2)) >> sets.above;
            let brute_force_time = |pairs| tuning::brute_force_time(tests, known.pairs() + pairs);
            let mut work = None;
            if is_auto && let Some(stride) = tuning::sample_stride(sets.rows2, known.left()) {
                let sampled = sample(device, sets, &mut tree, &left, stride, &read)?;
                if sampled.time() > brute_force_time(sampled.pairs) {
                    drop((counts, slots, left, offsets, tree.order, tree.nodes));
                    return Brute::count(device, sets, tree.counters, read);
                }
                work = Some(sampled);
            }
            let mut left = Left::count(device, sets, &mut tree, left, &mut counts)?;
            // SAFETY: as above.
            offsets =
                unsafe { sums_and_total(&counts, counter(&mut tree.counters, Counters::PAIRS))? };
            let counted = read(&tree.counters)?;
            let work = Work {
                pairs: counted.left_pairs(),
                ..work.unwrap_or_default()
            };
            if is_auto && work.time_after_counting() > brute_force_time(work.pairs) {
                drop((counts, slots, left, offsets, tree.order, tree.nodes));
                return Brute::count(device, sets, tree.counters, read);
            }
            left.pairs = work.pairs;
            pairs = counted.pairs();
            of_left = Some(left);
        }
        Ok(Counted {
            device: device.clone(),
            sets,
            offsets,
            counts,
            pairs,
            how: How::Indexed(Box::new(Indexed {
                tree,
                slots,
                left: of_left,
            })),
        })
    }

    /// Writes the pairs of these rows.
    pub fn fill<T: Coordinate>(
        &self,
        search: &Counted<T>,
        rows: Range<u32>,
        indices: &mut Buffer<u32>,
    ) -> Result<()> {
        let queries = search.sets.rows1;
        let config = LaunchConfig::new(tuning::blocks(queries as usize, THREADS), THREADS);
        let range = RowRange {
            queries,
            first_row: rows.start,
            end_row: rows.end,
        };
        let arrays = WriteRows {
            order: self.tree.order.slice(),
            counts: search.counts.slice(),
            slots: self.slots.slice(),
            offsets: search.offsets.slice(),
            indices: indices.slice_mut(),
        };
        // SAFETY: as the search has left them, with room for the pairs of all these rows.
        unsafe {
            search
                .device
                .launch(MODULE, &box_kernels::write_rows, config, (range, arrays))?
        };
        match &self.left {
            Some(left) => left.fill(search, &self.tree, rows, indices),
            None => Ok(()),
        }
    }
}

/// The work for the rows that were left, by a sample of one in `stride`.
fn sample<T: Coordinate>(
    device: &Device,
    sets: Sets<T>,
    tree: &mut Tree,
    left: &Buffer<u64>,
    stride: u32,
    read: impl Fn(&Buffer<u64>) -> Result<Known>,
) -> Result<Work> {
    let rows = left.len() as u32 / stride;
    let subtrees = Subtrees::new(sets.rows2, rows);
    let parameters = RowParameters {
        stride,
        ..subtrees.parameters(sets.rows2, 0..rows)
    };
    let arguments = (
        parameters,
        tree.search(sets, left),
        tree.counters.slice_mut(),
    );
    let blocks = tuning::sample_blocks(subtrees.tasks(rows));
    let config = LaunchConfig::new(blocks, SEARCH_THREADS);
    // SAFETY: the tree is that of the sets, neither of which is empty, and the rows are theirs. Buffers are of this
    // device and freed after the kernels have run.
    unsafe { device.launch(MODULE, T::KERNELS.sample_rows, config, arguments)? };
    Ok(read(&tree.counters)?.sampled().times(stride))
}

impl Tree {
    fn build<T: Coordinate>(device: &Device, sets: Sets<T>, counters: Buffer<u64>) -> Result<Tree> {
        let rows = sets.rows();
        let bits = tuning::key_bits(sets.axes);
        let mut keys = device.alloc::<u64>(rows)?;
        let mut order = device.alloc::<u32>(rows)?;
        let config = LaunchConfig::new(tuning::striding_blocks(rows), THREADS);
        let arrays = Keys {
            sets,
            counters: counters.slice(),
            keys: keys.slice_mut(),
            rows: order.slice_mut(),
        };
        // SAFETY: the sets are as they say and have been examined; an element for each row. Buffers are of
        // this device and freed after the kernels have run.
        unsafe { device.launch(MODULE, T::KERNELS.keys, config, (bits, arrays))? };
        let (keys, order) = sort_pairs(keys, order, 0..key_bits(sets.axes, bits))?;
        drop(keys);

        let leaves = sets.rows2;
        let root_level = tuning::root_level(leaves);
        let mut nodes = device.alloc::<f32>(tuning::tree_nodes(leaves) * NODE_WORDS)?;
        let config = LaunchConfig::new(tuning::build_blocks(leaves, 0), BUILD_THREADS);
        let arguments = Leaves {
            sets,
            order: order.slice(),
            counters: counters.slice(),
            root_level,
            nodes: nodes.slice_mut(),
        };
        // SAFETY: as above, with room for all nodes, and blocks as the kernel wants them.
        unsafe { device.launch(MODULE, T::KERNELS.leaves, config, (arguments,))? };
        for level in (LEVELS_A_LAUNCH..root_level).step_by(LEVELS_A_LAUNCH as usize) {
            let config = LaunchConfig::new(tuning::build_blocks(leaves, level), BUILD_THREADS);
            let levels = Levels {
                leaves,
                level,
                root_level,
            };
            let arguments = (levels, counters.slice(), nodes.slice_mut());
            // SAFETY: as above, and the level's entries have been written.
            unsafe { device.launch(MODULE, &box_kernels::levels, config, arguments)? };
        }
        Ok(Tree {
            counters,
            order,
            nodes,
            root_level,
        })
    }

    /// A search for rows that were left.
    fn search<T: Coordinate>(&self, sets: Sets<T>, left: &Buffer<u64>) -> RowSearch<T> {
        RowSearch {
            sets,
            order: self.order.slice(),
            counters: self.counters.slice(),
            nodes: self.nodes.slice(),
            left: left.slice(),
        }
    }
}

impl Subtrees {
    /// For so many rows.
    fn new(leaves: u32, rows: u32) -> Subtrees {
        let start_level = tuning::start_level(leaves, rows);
        Subtrees {
            start_level,
            count: nodes(leaves, start_level),
        }
    }

    /// For these of the rows that were left.
    fn parameters(self, leaves: u32, numbers: Range<u32>) -> RowParameters {
        RowParameters {
            start_level: self.start_level,
            subtrees: self.count,
            first: numbers.start,
            count: numbers.end - numbers.start,
            stride: 1,
            index_bits: bits(leaves),
        }
    }

    fn tasks(self, rows: u32) -> u64 {
        u64::from(rows) * u64::from(self.count)
    }

    /// Counts how many pairs stand before those of each row and subtree, and notes how many there are.
    fn count<T: Coordinate>(
        self,
        device: &Device,
        sets: Sets<T>,
        tree: &mut Tree,
        rows: &Buffer<u64>,
        parameters: RowParameters,
    ) -> Result<Buffer<u64>> {
        let tasks = self.tasks(parameters.count);
        let mut of_tasks = device.alloc::<u32>(tasks as usize)?;
        let arguments = (parameters, tree.search(sets, rows), of_tasks.slice_mut());
        let config = LaunchConfig::new(tuning::row_blocks(tasks), SEARCH_THREADS);
        // SAFETY: the tree is that of the sets, neither of which is empty, and the rows are theirs; a count
        // for each task. Buffers are of this device and freed after the kernels have run.
        unsafe {
            device.launch(MODULE, T::KERNELS.count_rows, config, arguments)?;
            sums_and_total(&of_tasks, counter(&mut tree.counters, Counters::LEFT_PAIRS))
        }
    }
}

impl Left {
    /// Counts the pairs of the rows that were left, and sets their counts.
    fn count<T: Coordinate>(
        device: &Device,
        sets: Sets<T>,
        tree: &mut Tree,
        rows: Buffer<u64>,
        counts: &mut Buffer<u32>,
    ) -> Result<Left> {
        let count = rows.len() as u32;
        let rows = sort_keys(rows, 0..bits(sets.rows1))?;
        let subtrees = Subtrees::new(sets.rows2, count);
        let parameters = subtrees.parameters(sets.rows2, 0..count);
        let sums = subtrees.count(device, sets, tree, &rows, parameters)?;
        let arrays = RowCounts {
            left: rows.slice(),
            sums: sums.slice(),
            counts: counts.slice_mut(),
        };
        let config = LaunchConfig::new(tuning::striding_blocks(count as usize), THREADS);
        // SAFETY: a sum for each task and one for the end, a count for each row. Buffers as above.
        unsafe {
            device.launch(
                MODULE,
                &box_kernels::row_counts,
                config,
                (parameters, arrays),
            )?
        };
        Ok(Left {
            rows,
            subtrees,
            sums,
            pairs: 0,
            on_host: OnceCell::new(),
        })
    }

    /// Writes the pairs of those of the rows that were left.
    fn fill<T: Coordinate>(
        &self,
        search: &Counted<T>,
        tree: &Tree,
        rows: Range<u32>,
        indices: &mut Buffer<u32>,
    ) -> Result<()> {
        let all = 0..self.rows.len() as u32;
        if rows == (0..search.sets.rows1) && self.pairs <= tuning::MAX_KEYS {
            return self.fill_numbers(search, tree, rows.start, (all, self.pairs), indices);
        }
        let (left, sums) = self.on_host()?;
        let before = |row: u32| left.partition_point(|&left| left < u64::from(row)) as u32;
        let sum = |number: u32| sums[number as usize * self.subtrees.count as usize];
        let end = before(rows.end);
        let mut start = before(rows.start);
        while start < end {
            // As many as have at most so many pairs together, at least one.
            let mut next = start + 1;
            while next < end && sum(next + 1) - sum(start) <= tuning::MAX_KEYS {
                next += 1;
            }
            let numbers = (start..next, sum(next) - sum(start));
            self.fill_numbers(search, tree, rows.start, numbers, indices)?;
            start = next;
        }
        Ok(())
    }

    /// The rows, and how many pairs stand before those of each row and subtree, on the host.
    fn on_host(&self) -> Result<&(Vec<u64>, Vec<u64>)> {
        if self.on_host.get().is_none() {
            let copies = (self.rows.to_vec()?, self.sums.to_vec()?);
            // Nobody else has set it meanwhile: the cell is not shared among threads.
            let _ = self.on_host.set(copies);
        }
        Ok(self.on_host.get().expect("just set"))
    }

    /// Writes the pairs of these of the rows that were left, so many in number. The row `first_row` begins
    /// at the beginning of `indices`.
    fn fill_numbers<T: Coordinate>(
        &self,
        search: &Counted<T>,
        tree: &Tree,
        first_row: u32,
        (numbers, pairs): (Range<u32>, u64),
        indices: &mut Buffer<u32>,
    ) -> Result<()> {
        if pairs == 0 {
            return Ok(());
        }
        let (device, sets) = (&search.device, search.sets);
        let mut keys = device.alloc::<u64>(pairs as usize)?;
        let parameters = self.subtrees.parameters(sets.rows2, numbers);
        let tasks = self.subtrees.tasks(parameters.count);
        let arguments = (
            parameters,
            tree.search(sets, &self.rows),
            self.sums.slice(),
            keys.slice_mut(),
        );
        let config = LaunchConfig::new(tuning::row_blocks(tasks), SEARCH_THREADS);
        // SAFETY: as counted, with a key for each pair; the boxes are still there.
        unsafe { device.launch(MODULE, T::KERNELS.fill_rows, config, arguments)? };
        let key_bits = parameters.index_bits + bits(parameters.count);
        let keys = sort_keys(keys, 0..key_bits)?;
        let arrays = PlaceRows {
            left: self.rows.slice(),
            sums: self.sums.slice(),
            keys: keys.slice(),
            offsets: search.offsets.slice(),
            indices: indices.slice_mut(),
        };
        let config = LaunchConfig::new(tuning::striding_blocks(pairs as usize), THREADS);
        // SAFETY: the keys are sorted; room for the pairs of all rows from the first one on.
        unsafe {
            device.launch(
                MODULE,
                &box_kernels::place_rows,
                config,
                (parameters, first_row, arrays),
            )
        }
    }
}

/// Bits of numbers below `count`, at least one.
fn bits(count: u32) -> u32 {
    (count.max(2) - 1).ilog2() + 1
}
