//! Matrix products, C = A·B, row-major: a thread computes an element of C.
//!
//! The first index of a thread, along which the threads of a warp are neighbours, is its row: this
//! is the order in which one writes an index, and what the study of block shapes is about.

use cuda_std::prelude::*;

/// Rows and columns of a tile, and of the block that computes it.
pub const TILE: u32 = 16;

const SIDE: usize = TILE as usize;

/// The sizes of a product, M×K · K×N → M×N.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceParam)]
pub struct Sizes {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of A and rows of B.
    pub k: u32,
    /// Columns of B and C.
    pub n: u32,
}

/// The article's naive kernel: a thread reads its row of A and its column of B from global memory.
/// Each number is read by many threads, and only the caches help.
///
/// # Safety
/// The matrices have the sizes, and the grid has a thread for each element of C, its rows along x.
#[kernel]
pub unsafe fn matmul_naive(
    sizes: Sizes,
    a: DeviceSlice<f32>,
    b: DeviceSlice<f32>,
    c: DeviceSliceMut<f32>,
) {
    let (row, column) = thread::index_2d().as_usizevec2().into();
    let (m, k, n) = (sizes.m as usize, sizes.k as usize, sizes.n as usize);
    if row >= m || column >= n {
        return;
    }
    let mut sum = 0.0;
    for i in 0..k {
        // SAFETY: row, column and i are below the sizes.
        sum = unsafe { float::fma_f32(a.at(row * k + i), b.at(i * n + column), sum) };
    }
    // SAFETY: row and column are below the sizes of C, and no other thread has this element.
    unsafe { c.set(row * n + column, sum) };
}

/// The article's kernel with tiles: a block brings 16×16 tiles of A and B to shared memory, and
/// each number read serves 16 threads. What lies outside of the matrices is zero, so that every
/// thread meets every barrier, whatever the sizes.
///
/// # Safety
/// The matrices have the sizes, and the grid has a block for each tile of C, rows of tiles along x.
#[kernel(block = (16, 16))]
pub unsafe fn matmul_tiled(
    sizes: Sizes,
    a: DeviceSlice<f32>,
    b: DeviceSlice<f32>,
    c: DeviceSliceMut<f32>,
) {
    let tile_a = shared_array![f32; SIDE * SIDE];
    let tile_b = shared_array![f32; SIDE * SIDE];
    // Neighbours have neighbouring columns here: what they read and write lies side by side.
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_x() as usize * SIDE + y;
    let column = thread::block_idx_y() as usize * SIDE + x;
    let (m, k, n) = (sizes.m as usize, sizes.k as usize, sizes.n as usize);
    let mut sum = 0.0;
    let mut first = 0;
    while first < k {
        // SAFETY: reads are inside of the matrices; x, y and i are below 16; barriers separate the
        // writes of the tiles from the reads.
        unsafe {
            let is_in_a = row < m && first + x < k;
            let is_in_b = first + y < k && column < n;
            let of_a = if is_in_a {
                a.at(row * k + first + x)
            } else {
                0.0
            };
            let of_b = if is_in_b {
                b.at((first + y) * n + column)
            } else {
                0.0
            };
            tile_a.add(y * SIDE + x).write(of_a);
            tile_b.add(y * SIDE + x).write(of_b);
            thread::sync_threads();
            for i in 0..SIDE {
                let (of_a, of_b) = (tile_a.add(y * SIDE + i), tile_b.add(i * SIDE + x));
                sum = float::fma_f32(of_a.read(), of_b.read(), sum);
            }
            thread::sync_threads();
        }
        first += SIDE;
    }
    if row < m && column < n {
        // SAFETY: inside of C; a thread per element.
        unsafe { c.set(row * n + column, sum) };
    }
}

/// The product of the article on block shapes: the naive one in `f64`, to be launched in blocks of
/// any shape, rows along x. The shape alone decides how many threads have nothing to do and how
/// warps read and write.
///
/// # Safety
/// As of [`matmul_naive`].
#[kernel]
pub unsafe fn block_shape(
    sizes: Sizes,
    a: DeviceSlice<f64>,
    b: DeviceSlice<f64>,
    c: DeviceSliceMut<f64>,
) {
    let (row, column) = thread::index_2d().as_usizevec2().into();
    let (m, k, n) = (sizes.m as usize, sizes.k as usize, sizes.n as usize);
    if row >= m || column >= n {
        return;
    }
    let mut sum = 0.0;
    for i in 0..k {
        // SAFETY: row, column and i are below the sizes.
        sum = unsafe { float::fma_f64(a.at(row * k + i), b.at(i * n + column), sum) };
    }
    // SAFETY: row and column are below the sizes of C, and no other thread has this element.
    unsafe { c.set(row * n + column, sum) };
}
