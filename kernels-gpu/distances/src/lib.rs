//! The GPU kernels of gridstride's distances between rows. `gridstride::distances` launches them.
#![no_std]

mod few;
mod largest;
mod loader;
mod nearest;
mod number;
mod scale;
mod select;
mod slide;
mod sums;
mod tile;

use cuda_std::prelude::*;

use few::{FEW_WORDS, scaled};
pub use largest::LARGEST_THREADS;
use largest::{WORDS, largest};
pub use loader::{CHUNK, MAX_DIM};
pub use nearest::{Lists, MAX_CANDIDATES, MAX_NEAREST, Search};
use nearest::{Shared, words};
pub use scale::Scale;
pub use select::Columns;
pub use slide::Windows;
use sums::shared_words;
pub use tile::{Matrices, Parameters, THREADS, TILE_COLUMNS_F32, TILE_COLUMNS_F64, TILE_ROWS};
use tile::{place, place_below, tile};

macro_rules! entries {
    ($($type:ident, $per_thread:literal, $load_a:literal, $load_b:literal, $columns:ident,
       $distances:ident, $pairwise:ident, $few_distances:ident, $few_pairwise:ident, $slide:ident, $slide_paired:ident, $nearest:ident, $largest:ident;)*) => {$(
        #[doc = concat!("A tile of the distances of the rows of `a` and `b`, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As stated in `gridstride::distances`' launch: [`THREADS`] threads, a block per tile,
        /// matrices as large as the parameters say, aligned to 16 bytes.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $distances(
            parameters: Parameters,
            Matrices { a, b }: Matrices<$type>,
            out: DeviceSliceMut<f64>,
        ) {
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let place = place(thread::block_idx_x(), parameters.columns, $columns);
            // SAFETY: `tile` asks for what this kernel asks of block, matrices and result. `chunks`
            // has `shared_words`, and of the loads, both even, the `THREADS` threads have a chunk.
            unsafe {
                tile::<$type, $per_thread, $load_a, $load_b, false>(parameters, a, b, out, chunks, place)
            }
        }

        #[doc = concat!("A tile of the distances of the rows of `a` to each other, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As for the distances, with a block per tile that reaches the diagonal or lies below it.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $pairwise(
            parameters: Parameters,
            a: DeviceSlice<$type>,
            out: DeviceSliceMut<f64>,
        ) {
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let place = place_below(thread::block_idx_x(), $columns);
            // SAFETY: `tile` asks for what this kernel asks of block, matrix and result; the matrix
            // is square, `columns` being `rows`. `chunks` has `shared_words`, and of the loads,
            // both even, the `THREADS` threads have a chunk.
            unsafe {
                tile::<$type, $per_thread, $load_a, $load_b, true>(parameters, a, a, out, chunks, place)
            }
        }

        #[doc = concat!("A tile of the distances of the rows of `a` and `b`, of few `", stringify!($type), "` numbers,")]
        /// whose scale each block finds itself. `bad` gets, for each matrix, the complement of the
        /// index of the first number that is NaN or infinite, or 0.
        ///
        /// # Safety
        /// As for the distances; and `bad` has two elements.
        #[kernel(max_block = 256)]
        pub unsafe fn $few_distances(
            parameters: Parameters,
            Matrices { a, b }: Matrices<$type>,
            out: DeviceSliceMut<f64>,
            bad: DeviceSliceMut<u64>,
        ) {
            let words = shared_array![u64; FEW_WORDS];
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let place = place(thread::block_idx_x(), parameters.columns, $columns);
            // SAFETY: by the contract of this kernel, `bad` has two elements, and block, matrices
            // and result are as `tile` asks; `scaled` changes only the scale. `words` has
            // `FEW_WORDS`, `chunks` has `shared_words`.
            unsafe {
                let parameters = scaled(parameters, a, Some(b), bad, words);
                tile::<$type, $per_thread, $load_a, $load_b, false>(parameters, a, b, out, chunks, place)
            }
        }

        #[doc = concat!("A tile of the distances of the rows of `a` to each other, of few `", stringify!($type), "` numbers,")]
        /// whose scale each block finds itself.
        ///
        /// # Safety
        /// As for the distances of rows to each other; and `bad` has two elements.
        #[kernel(max_block = 256)]
        pub unsafe fn $few_pairwise(
            parameters: Parameters,
            a: DeviceSlice<$type>,
            out: DeviceSliceMut<f64>,
            bad: DeviceSliceMut<u64>,
        ) {
            let words = shared_array![u64; FEW_WORDS];
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let place = place_below(thread::block_idx_x(), $columns);
            // SAFETY: by the contract of this kernel, `bad` has two elements, and block, matrix and
            // result are as `tile` asks, with `columns` equal to `rows`; `scaled` changes only the
            // scale. `words` has `FEW_WORDS`, `chunks` has `shared_words`.
            unsafe {
                let parameters = scaled(parameters, a, None, bad, words);
                tile::<$type, $per_thread, $load_a, $load_b, true>(parameters, a, a, out, chunks, place)
            }
        }

        #[doc = concat!("A tile of the slide distances of the sequences of `a` and `b`, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As stated in `gridstride::distances`' launch: [`THREADS`] threads, a block per tile,
        /// sequences and a result as large as the parameters say, aligned to 16 bytes.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $slide(
            parameters: Parameters,
            a: Windows<$type>,
            b: Windows<$type>,
            out: DeviceSliceMut<f64>,
        ) {
            let chunks = shared_array![u64; shared_words::<$type>($columns)];
            let longest = shared_array![u32; 2];
            let place = place(thread::block_idx_x(), parameters.columns, $columns);
            // SAFETY: `slide::tile` asks for what this kernel asks of block, sequences and result.
            // `chunks` has `shared_words`, and `longest` two words.
            unsafe {
                slide::tile::<$type, $per_thread, $load_a, $load_b>(
                    parameters, a, b, out, (chunks, longest), place,
                )
            }
        }

        #[doc = concat!("The slide distance of each sequence of `a` to that of `b` with its index, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As for the slide distances, with a block per sequence.
        #[kernel(max_block = 256)]
        pub unsafe fn $slide_paired(
            parameters: Parameters,
            a: Windows<$type>,
            b: Windows<$type>,
            out: DeviceSliceMut<f64>,
        ) {
            let of_warps = shared_array![$type; THREADS as usize / 32];
            // SAFETY: `slide::pair` asks for what this kernel asks: a block of `THREADS` threads
            // for each sequence, and `out` with an element for each. `of_warps` has an element for
            // each warp of a block.
            unsafe { slide::pair(parameters, a, b, out, of_warps) }
        }

        #[doc = concat!("The nearest rows of `b` in each of its ranges, for each row of `a`, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// As stated in `gridstride::distances`' launch: [`THREADS`] threads, a block per range and
        /// tile of queries, matrices and lists as large as the parameters say, aligned to 16 bytes.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $nearest(
            parameters: Parameters,
            search: Search,
            matrices: Matrices<$type>,
            lists: Lists,
        ) {
            let shared = Shared {
                words: shared_array![u64; words::<$type>($columns)],
                limits: shared_array![$type; TILE_ROWS as usize],
                nearest: shared_array![u64; TILE_ROWS as usize],
                counts: shared_array![u32; TILE_ROWS as usize],
                first_list: shared_array![u64; 1],
            };
            // SAFETY: `nearest::search` asks for what this kernel asks of block, grid, matrices and
            // lists. The arrays of `shared` have the sizes that it names.
            unsafe {
                nearest::search::<$type, $per_thread, $load_a, $load_b>(
                    parameters, search, matrices, lists, shared,
                )
            }
        }

        #[doc = concat!("The bits of the largest magnitude of `", stringify!($type), "` numbers,")]
        /// and the complement of the index of the first that is NaN or infinite, or 0: of `a` in the
        /// first two elements of `found`, by the blocks 0 along y, and of `b` in the next two, by
        /// the blocks 1.
        ///
        /// # Safety
        /// [`LARGEST_THREADS`] threads; `found` has two elements for each block along y, zeros if
        /// there are several blocks along x.
        #[kernel(max_block = 256)]
        pub unsafe fn $largest(Matrices { a, b }: Matrices<$type>, found: DeviceSliceMut<u64>) {
            let words = shared_array![u64; WORDS];
            let number = thread::block_idx_y() as usize;
            let values = if number == 0 { a } else { b };
            // SAFETY: by the contract of this function, `LARGEST_THREADS` threads; `found` has two
            // elements for each block along y, zeros if there are several blocks along x.
            unsafe { largest(values, number, found, words) }
        }
    )*};
}

entries! {
    f32, 8, 2, 2, TILE_COLUMNS_F32, distances_f32, pairwise_f32, few_distances_f32, few_pairwise_f32, slide_f32, slide_paired_f32, nearest_f32, largest_f32;
    f64, 4, 4, 2, TILE_COLUMNS_F64, distances_f64, pairwise_f64, few_distances_f64, few_pairwise_f64, slide_f64, slide_paired_f64, nearest_f64, largest_f64;
}

/// The nearest rows of each query, from the lists of all ranges.
///
/// # Safety
/// As stated in `gridstride::distances`' launch: [`THREADS`] threads, a block per query, lists and
/// results as large as the search says.
#[kernel(max_block = 256)]
pub unsafe fn merge_nearest(
    search: Search,
    lists: Lists,
    indices: DeviceSliceMut<u64>,
    distances: DeviceSliceMut<f64>,
) {
    let words = shared_array![u64; 2 * MAX_CANDIDATES as usize];
    // SAFETY: `nearest::merge` asks for what this kernel asks: a block of `THREADS` threads for
    // each query, lists as the search leaves them, and results as large as the search says. `words`
    // has 2 · `MAX_CANDIDATES`.
    unsafe { nearest::merge(search, lists, indices, distances, words) }
}

/// Brings the nearest columns of each query in a block of a matrix of distances to the lists.
///
/// # Safety
/// As stated in `gridstride::distances`' launch: [`THREADS`] threads, a block per list, a matrix and
/// lists as large as the parameters say.
#[kernel(max_block = 256)]
pub unsafe fn select_nearest(
    search: Search,
    columns: Columns,
    matrix: DeviceSlice<f64>,
    lists: Lists,
) {
    let words = shared_array![u64; 2 * MAX_CANDIDATES as usize];
    let used = shared_array![u32; 1];
    // SAFETY: `select::select` asks for what this kernel asks: a block of `THREADS` threads for
    // each list, and a matrix and lists as large as the parameters say. `words` has 2 ·
    // `MAX_CANDIDATES`, and `used` one element.
    unsafe { select::select(search, columns, matrix, lists, words, used) }
}
