//! The nearest rows of a database, without the matrix of distances in memory.
//!
//! A block compares 128 queries with a range of the database, a tile after the other, with the
//! sums of a tile of distances. Each query has a list of candidates in global memory. A thread
//! compares its sums with the limits of its queries in shared memory, and appends the few that are
//! within. When a list might not hold the next tile's candidates, the block sorts it in shared
//! memory and keeps the first k; the last of them is the query's new limit. Fewer and fewer sums
//! pass: for random rows and a tile of t columns, the block reads about (`capacity` − t − k) / k
//! times as many rows between two sorts as before the first of them. This is the scheme of
//! H. Jégou, M. Douze and J. Johnson's FAISS, 'Billion-scale similarity search with GPUs', with one
//! buffer per query in place of queues per thread.
//!
//! A second kernel merges the lists of all ranges.
//!
//! The result is exact and does not depend on the order in which threads append: candidates are
//! ordered by distance, then by index. The limit of the sums follows from the k-th distance d: a
//! sum whose root is below d is below d², but for the rounding of the root, which the limit allows.
//! A sum that passes becomes a distance, which is compared with d itself. A row with the distance
//! d comes later in the database than those in the list, and is not among the nearest.

use cuda_std::prelude::*;

use crate::loader::{CHUNK, Loader, Two};
use crate::number::Number;
use crate::sums::{Operands, place_in_tile, shared_words};
use crate::tile::{Matrices, Parameters, THREADS, TILE_ROWS, distance, tile_columns};

/// The most nearest rows of a query.
pub const MAX_NEAREST: u32 = 1024;

/// The most candidates of a query, which shared memory holds.
pub const MAX_CANDIDATES: u32 = 2 * MAX_NEAREST;

/// A little more than 1: 1 + 2⁻²⁰.
const ABOVE: f64 = 1.0 + 1.0 / (1 << 20) as f64;

/// The queries of a launch, and the shape of their search.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Search {
    /// The first query of the launch.
    pub first: u64,
    /// Queries of the launch; at least 1.
    pub queries: u64,
    /// The factor from distances to scaled ones, the inverse of `unscale`.
    pub rescale: f64,
    /// Nearest rows of each query; at least 1, at most [`MAX_NEAREST`] and the rows.
    pub k: u32,
    /// Candidates in a list: at least k, for a search at least k + [`TILE_ROWS`], and at most
    /// [`MAX_CANDIDATES`].
    pub capacity: u32,
    /// Ranges into which the database is divided; none is empty.
    pub ranges: u32,
    /// Tiles of a range, but for the last one, which may have fewer.
    pub tiles: u32,
}

/// The candidates of each query in each range of the database: \[range\]\[query\].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Lists {
    /// `capacity` candidates in each list, aligned to 16 bytes: the bits of the distance, which are
    /// in the order of distances, and the index of the row.
    pub candidates: DeviceSliceMut<u64>,
    /// The length of each list.
    pub counts: DeviceSliceMut<u32>,
}

/// Words of shared memory for the chunks of tiles, or for the candidates of a query.
pub const fn words<T: Number>(tile_columns: u32) -> usize {
    let (chunks, candidates) = (shared_words::<T>(tile_columns), 2 * MAX_CANDIDATES as usize);
    if chunks > candidates {
        chunks
    } else {
        candidates
    }
}

/// The shared memory of a search.
pub struct Shared<T> {
    /// [`words`].
    pub words: *mut u64,
    /// For each query of the tile, a sum that no candidate exceeds.
    pub limits: *mut T,
    /// The bits of the distance that a candidate must be below.
    pub nearest: *mut u64,
    /// The length of its list.
    pub counts: *mut u32,
    /// An element: the number of the first query's list, which few sums need.
    pub first_list: *mut u64,
}

/// Fills the lists of a tile of queries with the nearest rows of a range of the database.
///
/// # Safety
/// - the block has [`THREADS`] threads; `LOAD_A` and `LOAD_B` are as [`Operands::sums`] says.
/// - there is a block for each range and each tile of queries, which come first.
/// - `a` has dim numbers for each query, `b` columns × dim; both are aligned to 16 bytes.
/// - the lists are as large as `search` says; `shared` has [`words`], and [`TILE_ROWS`] elements of
///   the others.
#[inline(always)]
pub unsafe fn search<
    T: Number,
    const PER_THREAD: usize,
    const LOAD_A: usize,
    const LOAD_B: usize,
>(
    parameters: Parameters,
    search: Search,
    Matrices { a, b }: Matrices<T>,
    lists: Lists,
    shared: Shared<T>,
) {
    let Parameters { columns, dim, .. } = parameters;
    let tile_columns = tile_columns(PER_THREAD as u32);
    let tid = thread::thread_idx_x();
    let query_tiles = search.queries.div_ceil(TILE_ROWS as u64) as u32;
    let (range, query_tile) = (
        thread::block_idx_x() / query_tiles,
        thread::block_idx_x() % query_tiles,
    );
    let first_query = query_tile as u64 * TILE_ROWS as u64;
    let queries_left = (search.queries - first_query).min(TILE_ROWS as u64) as u32;
    let tiles = columns.div_ceil(tile_columns as u64) as u32;
    let mut tile = range * search.tiles;
    let end = (tile + search.tiles).min(tiles);
    if tid == 0 {
        let first_list = range as u64 * search.queries + first_query;
        // SAFETY: one thread writes the element.
        unsafe { shared.first_list.write(first_list) };
    }
    if tid < TILE_ROWS {
        // Nothing is within the limit of a query behind the last one.
        let limit = if tid < queries_left {
            T::INFINITY
        } else {
            T::MINUS_ONE
        };
        // SAFETY: an element for each row of a tile.
        unsafe {
            shared.limits.add(tid as usize).write(limit);
            shared.nearest.add(tid as usize).write(u64::MAX);
            shared.counts.add(tid as usize).write(0);
        }
    }
    thread::sync_threads();

    // Past the last row the last one stands in: it does not become a candidate.
    let query = (first_query + Loader::<T, LOAD_A, false>::row() as u64).min(search.queries - 1);
    let row_of = |tile: u32| {
        let row = tile as u64 * tile_columns as u64 + Loader::<T, LOAD_B, false>::row() as u64;
        row.min(columns - 1) as usize
    };
    let start =
        |values: DeviceSlice<T>, row: usize| values.as_ptr().wrapping_add(row * dim as usize);
    let start_a = start(a, (search.first + query) as usize);
    let from_a = Loader::new(start_a, dim as i32, TILE_ROWS);
    let from_b = Loader::new(start(b, row_of(tile)), dim as i32, tile_columns);
    let scale = T::of(parameters.scale);
    let chunks = dim.div_ceil(CHUNK);
    // SAFETY: the rows exist, and begin at multiples of 16 bytes if `dim` is a multiple of 4.
    let mut operands =
        unsafe { Operands::<T, LOAD_A, LOAD_B, false>::new(from_a, from_b, dim % 4 == 0, scale) };
    while tile < end {
        // SAFETY: the block has `THREADS` threads, which go through the same tiles with a barrier
        // behind each; the loads are as `sums` asks and `shared.words` has room, by the contract of
        // this function. The rows of the next tile exist: behind the last one, some row is fetched
        // once more.
        let sums = unsafe {
            operands.sums::<PER_THREAD>(shared.words, chunks, |operands| {
                operands.a.turn(chunks, 0);
                let rows = row_of(tile + 1) - row_of(tile);
                operands.b.turn(chunks, rows * dim as usize);
            })
        };
        let (row_in_tile, column_in_tile) = place_in_tile(tile_columns);
        let first_column = tile as u64 * tile_columns as u64 + column_in_tile as u64;
        let mut is_full = false;
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let row = (row_in_tile + 8 * (i as u32 / 2) + i as u32 % 2) as usize;
            // SAFETY: an element for each row of a tile, written only between barriers.
            let limit = unsafe { shared.limits.add(row).read() };
            let mut is_any = false;
            unrolled! { j in [0 1 2 3 4 5 6 7] {
                if j < PER_THREAD {
                    is_any |= sums[i][j] <= limit;
                }
            }}
            if is_any {
                // SAFETY: an element for each row of a tile, written only between barriers.
                let nearest = unsafe { shared.nearest.add(row).read() };
                unrolled! { j in [0 1 2 3 4 5 6 7] {
                    if j < PER_THREAD && sums[i][j] <= limit {
                        let column = first_column + (16 * (j as u32 / 2) + j as u32 % 2) as u64;
                        let bits = distance(sums[i][j], parameters).to_bits();
                        if column < columns && bits < nearest {
                            // SAFETY: accessed atomically alone until the next barrier.
                            let place = unsafe { atomic::add(shared.counts.add(row), 1) };
                            // SAFETY: written before a barrier.
                            let first_list = unsafe { shared.first_list.read() };
                            let list = (first_list + row as u64) * search.capacity as u64;
                            // SAFETY: a list that might not hold a tile's candidates has been
                            // shortened before.
                            unsafe { put(lists, list + place as u64, [bits, column]) };
                            is_full |= place >= search.capacity - tile_columns;
                        }
                    }
                }}
            }
        }}
        if thread::sync_threads_or(is_full as u32) != 0 {
            // Lists that will soon be full too are shortened on this occasion.
            // SAFETY: all threads are here, behind a barrier.
            unsafe { shorten(parameters, search, lists, &shared, search.capacity / 2) };
        }
        tile += 1;
    }
    // SAFETY: all threads are here. Since the last write to a list they have passed the barrier of
    // `sync_threads_or`, behind which nothing reads the chunks.
    unsafe { shorten(parameters, search, lists, &shared, search.k) };
    if tid < queries_left {
        // SAFETY: a list for each query.
        unsafe {
            let count = shared.counts.add(tid as usize).read();
            let first_list = shared.first_list.read();
            lists.counts.set(first_list as usize + tid as usize, count);
        }
    }
}

/// # Safety
/// The place is within the candidates, and no other thread accesses it.
#[inline(always)]
pub unsafe fn put(lists: Lists, place: u64, candidate: [u64; 2]) {
    // SAFETY: by the contract of this function, the place is within the candidates, and no other
    // thread accesses it; candidates are aligned to 16 bytes.
    unsafe {
        let address = lists.candidates.address(2 * place as usize);
        address.cast::<Two<u64>>().write(Two(candidate));
    }
}

/// # Safety
/// The place is within the candidates, and no other thread writes there.
#[inline(always)]
pub unsafe fn get(lists: Lists, place: u64) -> [u64; 2] {
    // SAFETY: by the contract of this function, the place is within the candidates, and no other
    // thread writes there; candidates are aligned to 16 bytes.
    unsafe {
        let address = lists.candidates.address(2 * place as usize);
        address.cast::<Two<u64>>().read().0
    }
}

/// Keeps the k nearest candidates of each query that has more than `most`, in order.
///
/// # Safety
/// As of [`search`]. All threads of the block are here, behind a barrier; no thread reads chunks.
#[inline(always)]
unsafe fn shorten<T: Number>(
    parameters: Parameters,
    search: Search,
    lists: Lists,
    shared: &Shared<T>,
    most: u32,
) {
    // SAFETY: written before a barrier.
    let first_list = unsafe { shared.first_list.read() };
    let tid = thread::thread_idx_x();
    let mut row = 0;
    while row < TILE_ROWS {
        // SAFETY: an element for each row; the first thread changes that of a previous row.
        let count = unsafe { shared.counts.add(row as usize).read() };
        if count > most {
            let list = (first_list + row as u64) * search.capacity as u64;
            let mut i = tid;
            while i < count {
                // SAFETY: within the list, written before a barrier; the words are a candidate's.
                unsafe { place(shared.words, i, get(lists, list + i as u64)) };
                i += THREADS;
            }
            // SAFETY: the block has so many candidates in shared memory.
            unsafe { sort(shared.words, count) };
            let kept = count.min(search.k);
            let mut i = tid;
            while i < kept {
                // SAFETY: within the list and the candidates.
                unsafe { put(lists, list + i as u64, at(shared.words, i)) };
                i += THREADS;
            }
            if tid == 0 {
                // SAFETY: no other thread accesses the elements of this row now.
                unsafe {
                    shared.counts.add(row as usize).write(kept);
                    if kept == search.k {
                        let bits = at(shared.words, kept - 1)[0];
                        let scaled = T::of(f64::from_bits(bits) * search.rescale);
                        let limit = if parameters.root != 0 {
                            // More than the roundings of a root, also of the smallest sums.
                            scaled * scaled * T::of(ABOVE) + T::of(T::SMALLEST)
                        } else {
                            scaled
                        };
                        shared.limits.add(row as usize).write(limit);
                        shared.nearest.add(row as usize).write(bits);
                    }
                }
            }
            thread::sync_threads();
        }
        row += 1;
    }
}

/// A candidate in shared memory: distances come first, then indices, so that neighbouring lanes
/// access neighbouring banks.
///
/// # Safety
/// `i` is below [`MAX_CANDIDATES`].
#[inline(always)]
pub unsafe fn at(words: *mut u64, i: u32) -> [u64; 2] {
    // SAFETY: by the contract of this function, `i` is below `MAX_CANDIDATES`.
    unsafe {
        [
            words.add(i as usize).read(),
            words.add((MAX_CANDIDATES + i) as usize).read(),
        ]
    }
}

/// # Safety
/// `i` is below [`MAX_CANDIDATES`], and no other thread accesses the candidate.
#[inline(always)]
pub unsafe fn place(words: *mut u64, i: u32, candidate: [u64; 2]) {
    // SAFETY: by the contract of this function, `i` is below `MAX_CANDIDATES`, and no other thread
    // accesses the candidate.
    unsafe {
        words.add(i as usize).write(candidate[0]);
        words.add((MAX_CANDIDATES + i) as usize).write(candidate[1]);
    }
}

/// Sorts `count` candidates in shared memory by distance, then by index: K. Batcher's bitonic sort.
/// Its last barrier follows all writes.
///
/// # Safety
/// All threads of the block are here, `count` is the same for all and at most [`MAX_CANDIDATES`].
#[inline(always)]
pub unsafe fn sort(words: *mut u64, count: u32) {
    let tid = thread::thread_idx_x();
    let size = count.next_power_of_two();
    let mut i = count + tid;
    while i < size {
        // SAFETY: below the size, which is not above the most candidates.
        unsafe { place(words, i, [u64::MAX; 2]) };
        i += THREADS;
    }
    thread::sync_threads();
    let mut run = 2;
    while run <= size {
        let mut step = run / 2;
        while step > 0 {
            let mut pair = tid;
            while pair < size / 2 {
                let lower = 2 * pair - (pair & (step - 1));
                let upper = lower + step;
                // SAFETY: each pair belongs to one thread.
                unsafe {
                    let (first, second) = (at(words, lower), at(words, upper));
                    let is_descending =
                        first[0] > second[0] || first[0] == second[0] && first[1] > second[1];
                    if is_descending == (lower & run == 0) {
                        place(words, lower, second);
                        place(words, upper, first);
                    }
                }
                pair += THREADS;
            }
            thread::sync_threads();
            step /= 2;
        }
        run *= 2;
    }
}

/// Merges the lists of the ranges for a query, which is that of the block, to its nearest rows in
/// order.
///
/// # Safety
/// - the block has [`THREADS`] threads; the lists are as [`search()`] leaves them.
/// - `indices` and `distances` have k elements for each query, with those before the launch's
///   first.
/// - `words` points to 2 · [`MAX_CANDIDATES`] words of shared memory.
#[inline(always)]
pub unsafe fn merge(
    search: Search,
    lists: Lists,
    indices: DeviceSliceMut<u64>,
    distances: DeviceSliceMut<f64>,
    words: *mut u64,
) {
    let (tid, query) = (thread::thread_idx_x(), thread::block_idx_x() as u64);
    let mut used = 0;
    let mut range = 0;
    while range < search.ranges {
        let number = range as u64 * search.queries + query;
        // SAFETY: a list for each query and range.
        let count = unsafe { lists.counts.at(number as usize) };
        if used + count > MAX_CANDIDATES {
            // SAFETY: so many candidates are there; neither those kept nor a list is more than half.
            unsafe { sort(words, used) };
            used = used.min(search.k);
        }
        let mut i = tid;
        while i < count {
            // SAFETY: within the list, and within the candidates.
            unsafe {
                let candidate = get(lists, number * search.capacity as u64 + i as u64);
                place(words, used + i, candidate);
            }
            i += THREADS;
        }
        used += count;
        range += 1;
        // Candidates of this range may be sorted now.
        thread::sync_threads();
    }
    // SAFETY: so many candidates are there, at least k.
    unsafe { sort(words, used) };
    let mut i = tid;
    while i < search.k {
        let out = ((search.first + query) * search.k as u64) as usize + i as usize;
        // SAFETY: within the results; no other thread writes these elements.
        unsafe {
            let [bits, index] = at(words, i);
            indices.set(out, index);
            distances.set(out, f64::from_bits(bits));
        }
        i += THREADS;
    }
}
