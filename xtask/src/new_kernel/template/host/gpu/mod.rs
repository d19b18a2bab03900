//! The steps of the GPU version.

use gridstride_runtime::device::LaunchConfig;
use gridstride_runtime::{Device, Result};

use crate::MODULE;
use crate::input::Rows;

/// Sums rows of the host.
pub fn host(device: &Device, rows: Rows) -> Result<Vec<f32>> {
    let (count, columns) = rows.matrix.dim();
    if count == 0 {
        return Ok(Vec::new());
    }
    let matrix = device.upload(&rows.matrix)?;
    let mut sums = device.alloc::<f32>(count)?;
    let config = LaunchConfig::new(count as u32, row_sums_kernels::BLOCK);
    let arguments = (matrix.buffer().slice(), columns, sums.slice_mut());
    // SAFETY: for each block, the matrix has `columns` elements and `sums` has one. Both are freed,
    // or read, after the kernel has run.
    unsafe { device.launch(&MODULE, &row_sums_kernels::row_sums, config, arguments)? };
    sums.to_vec()
}
