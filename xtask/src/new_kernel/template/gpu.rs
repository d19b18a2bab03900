//! The steps of the GPU version.

use ndarray::{Array1, ArrayView2};

use crate::device::LaunchConfig;
use crate::{Device, Result, modules};

/// Sums rows, of which a grid has to have a block for each.
pub fn row_sums(device: &Device, matrix: ArrayView2<f32>) -> Result<Array1<f32>> {
    let (rows, columns) = matrix.dim();
    if rows == 0 {
        return Ok(Array1::zeros(0));
    }
    let on_device = device.upload(&matrix)?;
    let mut sums = device.alloc::<f32>(rows)?;
    let config = LaunchConfig::new(rows as u32, row_sums_kernels::BLOCK);
    let arguments = (on_device.buffer().slice(), columns, sums.slice_mut());
    let (module, kernel) = (&modules::ROW_SUMS, &row_sums_kernels::row_sums);
    // SAFETY: for each block, the matrix has `columns` elements and `sums` has one. Both are freed,
    // or read, after the kernel has run.
    unsafe { device.launch(module, kernel, config, arguments)? };
    Ok(Array1::from(sums.to_vec()?))
}
