//! The kernel of `row_sums`.

use cuda_std::prelude::*;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Sets `sums[r]` to the sum of row `r` of a row-major matrix. Each block sums one row.
///
/// # Safety
/// For each block of the grid, `matrix` has `columns` elements and `sums` has one.
#[kernel(block = 256)]
pub unsafe fn row_sums(matrix: DeviceSlice<f32>, columns: usize, sums: DeviceSliceMut<f32>) {
    let partial = shared_array![f32; BLOCK as usize];
    let me = thread::thread_idx_x();
    let row = thread::block_idx_x() as usize;

    // Neighbouring threads read neighbouring elements.
    let mut sum = 0.0;
    let mut column = me as usize;
    while column < columns {
        // SAFETY: the row has `columns` elements.
        sum += unsafe { matrix.at(row * columns + column) };
        column += BLOCK as usize;
    }
    // SAFETY: the array has an element for each thread.
    unsafe { partial.add(me as usize).write(sum) };

    let mut half = BLOCK / 2;
    while half > 0 {
        // Makes the writes of the previous step visible. All threads of the block reach this barrier.
        thread::sync_threads();
        if me < half {
            // SAFETY: both indices are below the array's length; no thread writes the upper half in this step.
            unsafe {
                let other = partial.add((me + half) as usize).read();
                let own = partial.add(me as usize);
                own.write(own.read() + other);
            }
        }
        half /= 2;
    }
    if me == 0 {
        // SAFETY: `sums` has an element for each block. This thread wrote the sum.
        unsafe { sums.set(row, partial.read()) };
    }
}
