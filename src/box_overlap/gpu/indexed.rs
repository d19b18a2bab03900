//! Launches of the search in a tree.

use std::cell::OnceCell;
use std::ops::Range;

use box_overlap_kernels::{
    self as box_kernels, BUILD_THREADS, Counters, Find, Keys, LEVELS_A_LAUNCH, Leaves, Levels,
    PlaceRows, RowCounts, RowParameters, RowRange, RowSearch, Sets, WriteRows, key_bits, nodes,
};

use super::counting::{Counted, Counting, MODULE, Rows};
use super::kernels::HasKernels;
use super::tuning::{self, SEARCH_THREADS, THREADS, Work};
use super::workspace::{Searching, Sorting};
use crate::Result;
use crate::box_overlap::options::Algorithm;
use crate::device::{Buffer, LaunchConfig};
use crate::primitives::{sort_keys, sort_pairs, sums_and_total};

/// The tree, and what the first stage has left for the second.
pub(super) struct Indexed {
    tree: Tree,
    /// The pairs of each query, in the order of the tree.
    slots: Buffer<u32>,
    /// Rows that were left to warps, if any.
    deferred: Option<DeferredRows>,
}

/// The second set's boxes, sorted, and the bounding boxes over them.
struct Tree {
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
struct DeferredRows {
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
    /// Counts the pairs of each row. Returns nothing if testing every pair is expected to be faster for `Auto`.
    pub fn count<T: HasKernels>(
        search: &mut Counting<T>,
        counts: &mut Buffer<u32>,
    ) -> Result<Option<(Indexed, Rows)>> {
        let (device, sets) = (search.device, search.sets);
        let rows1 = sets.rows1 as usize;
        let order = sorted(search)?;
        let Searching {
            nodes,
            mut slots,
            mut left,
        } = Searching::allocate(device, rows1, sets.rows2 as usize)?;
        let tree = Tree::build(search, order, nodes)?;
        let config = LaunchConfig::new(tuning::blocks(rows1, SEARCH_THREADS), SEARCH_THREADS);
        let arguments = Find {
            root_level: tree.root_level,
            sets,
            order: tree.order.slice(),
            counters: search.counters.slice_mut(),
            nodes: tree.nodes.slice(),
            counts: counts.slice_mut(),
            slots: slots.slice_mut(),
            left: left.slice_mut(),
        };
        // SAFETY: the tree is that of the sets, neither of which is empty; a count, slots and room among
        // those left for each row. Buffers are of this device and freed after the kernels have run.
        let mut offsets = unsafe {
            device.launch(MODULE, T::KERNELS.find, config, (arguments,))?;
            sums_and_total(device, counts, search.counter(Counters::PAIRS))?
        };
        let snapshot = search.read()?;
        let (mut pairs, mut deferred) = (snapshot.pairs(), None);
        if snapshot.left() > 0 {
            let left = left.truncated(snapshot.left() as usize);
            let is_auto = search.problem.algorithm == Algorithm::Auto;
            let tests = (u64::from(sets.rows1) * u64::from(sets.rows2)) >> sets.above;
            let brute_force_time =
                |pairs| tuning::brute_force_time(tests, snapshot.pairs() + pairs);
            let mut work = None;
            if is_auto && let Some(stride) = tuning::sample_stride(sets.rows2, snapshot.left()) {
                let sampled = sample(search, &tree, &left, stride)?;
                if sampled.time() > brute_force_time(sampled.pairs) {
                    return Ok(None);
                }
                work = Some(sampled);
            }
            let mut rows = DeferredRows::count(search, &tree, left, counts)?;
            // SAFETY: as above.
            offsets = unsafe { sums_and_total(device, counts, search.counter(Counters::PAIRS))? };
            let counted = search.read()?;
            let work = Work {
                pairs: counted.left_pairs(),
                ..work.unwrap_or_default()
            };
            if is_auto && work.time_after_counting() > brute_force_time(work.pairs) {
                return Ok(None);
            }
            rows.pairs = work.pairs;
            pairs = counted.pairs();
            deferred = Some(rows);
        }
        let indexed = Indexed {
            tree,
            slots,
            deferred,
        };
        Ok(Some((indexed, Rows { offsets, pairs })))
    }

    /// Writes the pairs of these rows.
    pub fn fill<T: HasKernels>(
        &self,
        search: &Counted<T>,
        counts: &Buffer<u32>,
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
            counts: counts.slice(),
            slots: self.slots.slice(),
            offsets: search.rows.offsets.slice(),
            indices: indices.slice_mut(),
        };
        // SAFETY: as the search has left them, with room for the pairs of all these rows.
        unsafe {
            search
                .device
                .launch(MODULE, &box_kernels::write_rows, config, (range, arrays))?
        };
        match &self.deferred {
            Some(deferred) => deferred.fill(search, &self.tree, rows, indices),
            None => Ok(()),
        }
    }
}

/// Returns the work for the rows that were left, by a sample of one in `stride`.
fn sample<T: HasKernels>(
    search: &mut Counting<T>,
    tree: &Tree,
    left: &Buffer<u64>,
    stride: u32,
) -> Result<Work> {
    let sets = search.sets;
    let rows = left.len() as u32 / stride;
    let subtrees = Subtrees::new(sets.rows2, rows);
    let parameters = RowParameters {
        stride,
        ..subtrees.parameters(sets.rows2, 0..rows)
    };
    let rows_of = tree.search(sets, &search.counters, left);
    let arguments = (parameters, rows_of, search.counters.slice_mut());
    let blocks = tuning::sample_blocks(subtrees.tasks(rows));
    let config = LaunchConfig::new(blocks, SEARCH_THREADS);
    // SAFETY: the tree is that of the sets, neither of which is empty, and the rows are theirs. Buffers are of this
    // device and freed after the kernels have run.
    unsafe {
        search
            .device
            .launch(MODULE, T::KERNELS.sample_rows, config, arguments)?
    };
    Ok(search.read()?.sampled().times(stride))
}

/// Returns the rows of both sets in the order of the tree.
fn sorted<T: HasKernels>(search: &Counting<T>) -> Result<Buffer<u32>> {
    let sets = search.sets;
    let rows = sets.rows();
    let bits = tuning::key_bits(sets.axes);
    let Sorting {
        mut keys,
        mut order,
    } = Sorting::allocate(search.device, rows)?;
    let config = LaunchConfig::new(tuning::striding_blocks(rows), THREADS);
    let arrays = Keys {
        sets,
        counters: search.counters.slice(),
        keys: keys.slice_mut(),
        rows: order.slice_mut(),
    };
    // SAFETY: the sets are as they say and have been examined; an element for each row. Buffers are of
    // this device and freed after the kernels have run.
    unsafe {
        search
            .device
            .launch(MODULE, T::KERNELS.keys, config, (bits, arrays))?
    };
    Ok(sort_pairs(keys, order, 0..key_bits(sets.axes, bits))?.1)
}

impl Tree {
    /// Builds the levels of nodes.
    fn build<T: HasKernels>(
        search: &Counting<T>,
        order: Buffer<u32>,
        mut nodes: Buffer<f32>,
    ) -> Result<Tree> {
        let (device, sets, counters) = (search.device, search.sets, &search.counters);
        let leaves = sets.rows2;
        let root_level = tuning::root_level(leaves);
        let config = LaunchConfig::new(tuning::build_blocks(leaves, 0), BUILD_THREADS);
        let arguments = Leaves {
            sets,
            order: order.slice(),
            counters: counters.slice(),
            root_level,
            nodes: nodes.slice_mut(),
        };
        // SAFETY: the order is that of the sets, with room for all nodes, and blocks as the kernel wants them. Buffers are
        // of this device and freed after the kernels have run.
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
            order,
            nodes,
            root_level,
        })
    }

    /// Returns a search for rows that were left.
    fn search<T: HasKernels>(
        &self,
        sets: Sets<T>,
        counters: &Buffer<u64>,
        left: &Buffer<u64>,
    ) -> RowSearch<T> {
        RowSearch {
            sets,
            order: self.order.slice(),
            counters: counters.slice(),
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
    fn count<T: HasKernels>(
        self,
        search: &mut Counting<T>,
        tree: &Tree,
        rows: &Buffer<u64>,
        parameters: RowParameters,
    ) -> Result<Buffer<u64>> {
        let device = search.device;
        let tasks = self.tasks(parameters.count);
        let mut of_tasks = device.alloc::<u32>(tasks as usize)?;
        let rows = tree.search(search.sets, &search.counters, rows);
        let arguments = (parameters, rows, of_tasks.slice_mut());
        let config = LaunchConfig::new(tuning::row_blocks(tasks), SEARCH_THREADS);
        // SAFETY: the tree is that of the sets, neither of which is empty, and the rows are theirs; a count
        // for each task. Buffers are of this device and freed after the kernels have run.
        unsafe {
            device.launch(MODULE, T::KERNELS.count_rows, config, arguments)?;
            sums_and_total(device, &of_tasks, search.counter(Counters::LEFT_PAIRS))
        }
    }
}

impl DeferredRows {
    /// Counts the pairs of the rows that were left, and sets their counts.
    fn count<T: HasKernels>(
        search: &mut Counting<T>,
        tree: &Tree,
        rows: Buffer<u64>,
        counts: &mut Buffer<u32>,
    ) -> Result<DeferredRows> {
        let (device, sets) = (search.device, search.sets);
        let count = rows.len() as u32;
        let rows = sort_keys(rows, 0..bits(sets.rows1))?;
        let subtrees = Subtrees::new(sets.rows2, count);
        let parameters = subtrees.parameters(sets.rows2, 0..count);
        let sums = subtrees.count(search, tree, &rows, parameters)?;
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
        Ok(DeferredRows {
            rows,
            subtrees,
            sums,
            pairs: 0,
            on_host: OnceCell::new(),
        })
    }

    /// Writes the pairs of those of the rows that were left.
    fn fill<T: HasKernels>(
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
    fn fill_numbers<T: HasKernels>(
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
            tree.search(sets, &search.counters, &self.rows),
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
            offsets: search.rows.offsets.slice(),
            indices: indices.slice_mut(),
        };
        let arguments = (parameters, first_row, arrays);
        let config = LaunchConfig::new(tuning::striding_blocks(pairs as usize), THREADS);
        // SAFETY: the keys are sorted; room for the pairs of all rows from the first one on.
        unsafe { device.launch(MODULE, &box_kernels::place_rows, config, arguments) }
    }
}

/// Bits of numbers below `count`, at least one.
fn bits(count: u32) -> u32 {
    (count.max(2) - 1).ilog2() + 1
}
