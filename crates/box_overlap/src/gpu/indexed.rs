//! Launches of the search in a tree.

use std::cell::OnceCell;
use std::ops::Range;

use box_overlap_kernels::{
    self as box_kernels, BUILD_THREADS, Counters, Find, Keys, LEVELS_A_LAUNCH, Leaves, Levels,
    PlaceRows, RowCounts, RowParameters, RowRange, RowSearch, Sets, WriteRows, key_bits, nodes,
};
use gridstride_primitives::{PairSort, sort_keys, sums_and_total};
use gridstride_runtime::device::{Buffer, LaunchConfig};
use gridstride_runtime::{Device, Result};

use super::counting::{Counted, Counting, Rows};
use super::kernels::HasKernels;
use crate::MODULE;
use crate::options::Algorithm;
use crate::tuning::{self, SEARCH_THREADS, THREADS, Work};
use crate::workspace::Searching;

/// The tree, and the results of the first stage.
pub(super) struct Indexed {
    tree: Tree,
    /// The pairs of each query, in the order of the tree.
    slots: Buffer<u32>,
    /// The rows left to warps, if any.
    deferred: Option<DeferredRows>,
}

/// A tree of bounding boxes over the second set.
pub(super) struct Tree {
    /// The sorted rows of the first set, then of the second, or of one set if the sets are the
    /// same.
    order: Buffer<u32>,
    words: Buffer<u32>,
    root_level: u32,
}

/// Rows with many pairs or long paths through the tree, ascending.
pub(super) struct DeferredRows {
    rows: Buffer<u64>,
    /// The parameters of a search for all these rows.
    parameters: RowParameters,
    /// The number of pairs before those of each row and subtree.
    sums: Buffer<u64>,
    /// The number of pairs of all these rows.
    pairs: u64,
    /// Copies of `rows` and `sums`, made when the pairs of some rows are requested.
    on_host: OnceCell<(Vec<u64>, Vec<u64>)>,
}

impl Indexed {
    /// Counts the pairs of each row. Returns `None` for `Auto` if testing every pair is expected to
    /// be faster.
    pub fn count<T: HasKernels>(
        search: &mut Counting<T>,
        counts: &mut Buffer<u32>,
    ) -> Result<Option<(Indexed, Rows)>> {
        let (device, sets) = (search.device, search.sets);
        let rows1 = sets.rows1 as usize;
        let order = sorted(search)?;
        let Searching {
            tree: words,
            mut slots,
            mut left,
        } = Searching::allocate(device, rows1, sets.rows2 as usize)?;
        let tree = Tree::build(search, order, words)?;
        // SAFETY: the tree is of these sets, which are not empty, and `counts`, `slots` and `left`
        // have room for each row. The buffers are on this device and freed after the kernels have
        // run.
        let mut offsets = unsafe {
            tree.find(search, counts, &mut slots, &mut left)?;
            sums_and_total(device, counts, search.counter(Counters::PAIRS))?
        };
        let found = search.read()?;
        let (mut pairs, mut deferred) = (found.pairs, None);
        if found.left > 0 {
            let left = left.truncated(found.left as usize);
            let is_auto = search.problem.algorithm == Algorithm::Auto;
            let brute_force_time = |left_pairs| {
                let pairs = found.pairs + left_pairs;
                tuning::brute_force_time(sets.rows1, sets.rows2, sets.above, pairs)
            };
            let mut work = Work::default();
            if is_auto && let Some(stride) = tuning::sample_stride(sets.rows2, found.left) {
                work = sample(search, &tree, &left, stride)?;
                if work.time() > brute_force_time(work.pairs) {
                    return Ok(None);
                }
            }
            let mut rows = DeferredRows::count(search, &tree, left, counts)?;
            // SAFETY: the counts are on this device, and freed after the kernels have run.
            offsets = unsafe { sums_and_total(device, counts, search.counter(Counters::PAIRS))? };
            let counted = search.read()?;
            work.pairs = counted.left_pairs;
            if is_auto && work.time_after_counting() > brute_force_time(work.pairs) {
                return Ok(None);
            }
            rows.pairs = work.pairs;
            pairs = counted.pairs;
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
        let (device, kernel) = (&search.device, &box_kernels::write_rows);
        // SAFETY: the arrays are from `count`, and `indices` has room for the pairs of all these
        // rows.
        unsafe { device.launch(&MODULE, kernel, config, (range, arrays))? };
        match &self.deferred {
            Some(deferred) => deferred.fill(search, &self.tree, rows, indices),
            None => Ok(()),
        }
    }
}

/// Estimates the work for the rows left to warps by a sample of one row in `stride`.
fn sample<T: HasKernels>(
    search: &mut Counting<T>,
    tree: &Tree,
    left: &Buffer<u64>,
    stride: u32,
) -> Result<Work> {
    let (device, sets) = (search.device, search.sets);
    let parameters = RowParameters {
        stride,
        ..row_parameters(sets.rows2, left.len() as u32 / stride)
    };
    let row_search = tree.search(sets, &search.counters, left);
    let arguments = (parameters, row_search, search.counters.slice_mut());
    let blocks = tuning::sample_blocks(tasks(parameters));
    let config = LaunchConfig::new(blocks, SEARCH_THREADS);
    // SAFETY: the tree and the rows are of these sets, which are not empty. The buffers are on this
    // device and freed after the kernels have run.
    unsafe { device.launch(&MODULE, T::KERNELS.sample_rows, config, arguments)? };
    Ok(search.read()?.sampled.times(stride))
}

/// Returns the rows of both sets in the order of the tree.
pub(super) fn sorted<T: HasKernels>(search: &Counting<T>) -> Result<Buffer<u32>> {
    let (device, sets) = (search.device, search.sets);
    let (rows, bits) = (sets.rows(), tuning::key_bits(sets.axes));
    let mut sort = PairSort::allocate(device, rows, 0..key_bits(sets.axes, bits))?;
    let config = LaunchConfig::new(tuning::striding_blocks(rows), THREADS);
    let [even, odd] = sort.pairs();
    let arrays = Keys {
        sets,
        counters: search.counters.slice(),
        keys: even.keys,
        rows: even.values,
        odd_keys: odd.keys,
        odd_rows: odd.values,
        first_pass: sort.first_pass(),
    };
    // SAFETY: the sets have been examined and are not empty, and the arrays have an element for
    // each row. The buffers are on this device and freed after the kernels have run.
    unsafe {
        device.launch(&MODULE, T::KERNELS.keys, config, (bits, arrays))?;
        // The kernel has written all pairs where the first pass reads them, and which one that is.
        Ok(sort.finish()?.1)
    }
}

impl Tree {
    /// Builds the levels of nodes.
    pub fn build<T: HasKernels>(
        search: &Counting<T>,
        order: Buffer<u32>,
        mut words: Buffer<u32>,
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
            words: words.slice_mut(),
        };
        // SAFETY: the order is of these sets, `words` has room for the tree, and the launch shape
        // is the kernel's. The buffers are on this device and freed after the kernels have run.
        unsafe { device.launch(&MODULE, T::KERNELS.leaves, config, (arguments,))? };
        for level in (LEVELS_A_LAUNCH..root_level).step_by(LEVELS_A_LAUNCH as usize) {
            let config = LaunchConfig::new(tuning::build_blocks(leaves, level), BUILD_THREADS);
            let levels = Levels {
                leaves,
                level,
                root_level,
            };
            let arguments = (levels, counters.slice(), words.slice_mut());
            // SAFETY: `words` has room for the tree, and the launches before have written the
            // entries of the level. The buffers are on this device and freed after the kernel has
            // run.
            unsafe { device.launch(&MODULE, &box_kernels::levels, config, arguments)? };
        }
        Ok(Tree {
            order,
            words,
            root_level,
        })
    }

    /// Searches for the pairs of each row of the first set, in the order of the tree.
    ///
    /// # Safety
    /// The tree is of the second set, and its order has the rows of the first; neither set is
    /// empty. `counts`, `slots` and `left` have room for each row of the first set. All are freed
    /// after the kernel has run.
    pub unsafe fn find<T: HasKernels>(
        &self,
        search: &mut Counting<T>,
        counts: &mut Buffer<u32>,
        slots: &mut Buffer<u32>,
        left: &mut Buffer<u64>,
    ) -> Result<()> {
        let (device, sets) = (search.device, search.sets);
        let blocks = tuning::blocks(sets.rows1 as usize, SEARCH_THREADS);
        let config = LaunchConfig::new(blocks, SEARCH_THREADS);
        let arguments = Find {
            root_level: self.root_level,
            sets,
            order: self.order.slice(),
            counters: search.counters.slice_mut(),
            tree: self.words.slice(),
            counts: counts.slice_mut(),
            slots: slots.slice_mut(),
            left: left.slice_mut(),
        };
        // SAFETY: by the contract of this function, the tree is that of the sets, which are not
        // empty, the results have room for each row, and all buffers are freed after the kernel has
        // run.
        unsafe { device.launch(&MODULE, T::KERNELS.find, config, (arguments,)) }
    }

    /// Makes room for `queries` rows of a first set, for a tree that was built of one set.
    pub fn with_queries(self, device: &Device, queries: usize) -> Result<Tree> {
        let rows = self.order;
        let mut order = device.alloc(queries + rows.len())?;
        let config = LaunchConfig::new(tuning::striding_blocks(rows.len()), THREADS);
        let arguments = (queries as u32, rows.slice(), order.slice_mut());
        // SAFETY: there is room for both, and the buffers, on this device, are freed after the
        // kernel has run.
        unsafe { device.launch(&MODULE, &box_kernels::append_rows, config, arguments)? };
        Ok(Tree { order, ..self })
    }

    /// Replaces the rows of the first set, of which there are as many.
    ///
    /// # Safety
    /// The rows' buffer, which has been made for the same handle, is freed after the copy.
    pub unsafe fn set_queries(&mut self, device: &Device, rows: &Buffer<u32>) -> Result<()> {
        // SAFETY: the rows were made for the same handle and are freed after the copy, by the
        // contract of this function; the tree's own buffers are ordered on the same stream.
        unsafe { (self.order).start_copy_of_range(device, rows, 0..rows.len()) }
    }

    /// Returns the arguments of a search for rows left to warps.
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
            tree: self.words.slice(),
            root_level: self.root_level,
            left: left.slice(),
        }
    }
}

/// Returns the parameters of a search for `rows` rows left to warps, divided into subtrees.
fn row_parameters(leaves: u32, rows: u32) -> RowParameters {
    let start_level = tuning::start_level(leaves, rows);
    RowParameters {
        start_level,
        subtrees: nodes(leaves, start_level),
        first: 0,
        count: rows,
        stride: 1,
        index_bits: bits(leaves),
    }
}

/// Returns the number of tasks: one for each row and subtree.
fn tasks(parameters: RowParameters) -> u64 {
    u64::from(parameters.count) * u64::from(parameters.subtrees)
}

impl DeferredRows {
    /// Counts the pairs of the rows left to warps, and writes their counts.
    pub fn count<T: HasKernels>(
        search: &mut Counting<T>,
        tree: &Tree,
        rows: Buffer<u64>,
        counts: &mut Buffer<u32>,
    ) -> Result<DeferredRows> {
        let (device, sets) = (search.device, search.sets);
        let count = rows.len() as u32;
        let rows = sort_keys(rows, 0..bits(sets.rows1))?;
        let parameters = row_parameters(sets.rows2, count);
        let tasks = tasks(parameters);
        let mut task_counts = device.alloc::<u32>(tasks as usize)?;
        let row_search = tree.search(sets, &search.counters, &rows);
        let arguments = (parameters, row_search, task_counts.slice_mut());
        let config = LaunchConfig::new(tuning::row_blocks(tasks), SEARCH_THREADS);
        // SAFETY: the tree and the rows are of these sets, which are not empty, and there is a
        // count for each task. The buffers are on this device and freed after the kernels have run.
        let sums = unsafe {
            device.launch(&MODULE, T::KERNELS.count_rows, config, arguments)?;
            sums_and_total(device, &task_counts, search.counter(Counters::LEFT_PAIRS))?
        };
        drop(task_counts);
        let arrays = RowCounts {
            left: rows.slice(),
            sums: sums.slice(),
            counts: counts.slice_mut(),
        };
        let config = LaunchConfig::new(tuning::striding_blocks(count as usize), THREADS);
        let arguments = (parameters, arrays);
        // SAFETY: `sums` has an element for each task and one for the end, and `counts` for each
        // row. The buffers are on this device and freed after the kernels have run.
        unsafe { device.launch(&MODULE, &box_kernels::row_counts, config, arguments)? };
        Ok(DeferredRows {
            rows,
            parameters,
            sums,
            pairs: 0,
            on_host: OnceCell::new(),
        })
    }

    /// Writes the pairs of those rows left to warps that are among `rows`.
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
        let sum = |number: u32| sums[number as usize * self.parameters.subtrees as usize];
        let end = before(rows.end);
        let mut start = before(rows.start);
        while start < end {
            // The next rows that together have at most `MAX_KEYS` pairs, but at least one row.
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

    /// Returns copies of `rows` and `sums`.
    fn on_host(&self) -> Result<&(Vec<u64>, Vec<u64>)> {
        if self.on_host.get().is_none() {
            let copies = (self.rows.to_vec()?, self.sums.to_vec()?);
            // The cell is still empty, since it is not shared among threads.
            let _ = self.on_host.set(copies);
        }
        Ok(self.on_host.get().expect("just set"))
    }

    /// Writes the pairs of some of the rows left to warps, by number. The pairs of `first_row` are
    /// the first of `indices`.
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
        let parameters = RowParameters {
            first: numbers.start,
            count: numbers.end - numbers.start,
            ..self.parameters
        };
        let row_search = tree.search(sets, &search.counters, &self.rows);
        let arguments = (parameters, row_search, self.sums.slice(), keys.slice_mut());
        let config = LaunchConfig::new(tuning::row_blocks(tasks(parameters)), SEARCH_THREADS);
        // SAFETY: the tree, the rows and the sums are those of these sets, which are not empty and
        // still allocated, and there is a key for each pair. The buffers are on this device and
        // freed after the kernel has run.
        unsafe { device.launch(&MODULE, T::KERNELS.fill_rows, config, arguments)? };
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
        // SAFETY: the keys are sorted, and `indices` has room for the pairs of all rows from the
        // first on.
        unsafe { device.launch(&MODULE, &box_kernels::place_rows, config, arguments) }
    }
}

/// Returns the bits of numbers below `count`, at least one.
fn bits(count: u32) -> u32 {
    (count.max(2) - 1).ilog2() + 1
}
