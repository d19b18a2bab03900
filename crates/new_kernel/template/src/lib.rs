//! Sums of the rows of a matrix.

pub mod kernels;

use gridstride::device::{DeviceKind, Image, LaunchConfig, Module};
use gridstride::{Device, Error, Result};
use ndarray::{Array1, ArrayView2, Axis};

/// The PTX of the kernels from build.rs. The simulator and the CPU need none.
#[cfg(feature = "cuda")]
const IMAGES: &[Image] = &[Image::new(
    "sm_70",
    include_str!(concat!(env!("OUT_DIR"), "/row_sums.ptx")),
)];
#[cfg(not(feature = "cuda"))]
const IMAGES: &[Image] = &[];

static KERNELS: Module = Module::new("row_sums", IMAGES);

/// Returns the sum of each row, M×N → M.
///
/// # Errors
/// If there are more rows than a grid can have blocks, if memory runs out, if the driver rejects the kernel, or if the
/// simulator finds an error.
pub fn row_sums(device: &Device, matrix: ArrayView2<f32>) -> Result<Array1<f32>> {
    let (rows, columns) = matrix.dim();
    if device.kind() == DeviceKind::Cpu {
        return Ok(matrix.sum_axis(Axis(1)));
    }
    if rows == 0 {
        return Ok(Array1::zeros(0));
    }
    let blocks = u32::try_from(rows).map_err(|_| Error::Shape {
        operation: "row_sums",
        message: format!("{rows} rows are more than a grid has blocks"),
    })?;
    // `upload` copies a view of any layout to a contiguous row-major array.
    let on_device = device.upload(&matrix)?;
    let mut sums = device.alloc::<f32>(rows)?;
    let config = LaunchConfig::new(blocks, kernels::BLOCK);
    let arguments = (on_device.buffer().slice(), columns, sums.slice_mut());
    // SAFETY: for each block, the matrix has `columns` elements and `sums` has one. Both are freed, or read, after the
    // kernel has run.
    unsafe { device.launch(&KERNELS, &kernels::row_sums, config, arguments)? };
    Ok(Array1::from(sums.to_vec()?))
}
