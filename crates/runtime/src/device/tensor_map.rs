//! Tensor maps, from which kernels copy tiles of arrays.

use cuda_std::host::TensorTiles;
use cuda_std::tensor::TensorMap;

use super::handle::Backend;
use crate::{Device, Error, Result};

const TENSOR_MAP: &str = "tensor_map";

impl Device {
    /// Returns a map of an array in this device's memory, as a parameter of kernels that copy tiles
    /// of it by [`cuda_std::tensor::load`]. Making one takes less than a microsecond.
    ///
    /// The map has the array's address: it is of use as long as the array's buffer exists.
    ///
    /// # Errors
    /// - [`Error::InvalidInput`] for addresses, lengths or strides that no map can have.
    /// - [`Error::Unavailable`] on the CPU, which runs no kernels.
    /// - On GPUs, [`Error::Driver`] if the driver is older than CUDA 12.0.
    ///
    /// ```
    /// use cuda_std::host::TensorTiles;
    /// use gridstride::Device;
    ///
    /// let device = Device::simulator()?;
    /// let matrix = device.zeros::<f32>(100 * 64)?;
    /// // Tiles of 8 rows and 32 columns of 100×64 numbers.
    /// let tiles = TensorTiles {
    ///     address: matrix.slice().as_ptr() as u64,
    ///     element_bytes: 4,
    ///     lengths: [64, 100, 1],
    ///     strides: [256, 25600],
    ///     tile: [32, 8, 1],
    ///     is_swizzled: false,
    /// };
    /// let map = device.tensor_map(&tiles)?;
    /// let wrong = TensorTiles { strides: [250, 25000], ..tiles };
    /// assert!(device.tensor_map(&wrong).unwrap_err().to_string().contains("multiples of 16"));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn tensor_map(&self, tiles: &TensorTiles) -> Result<TensorMap> {
        (tiles.check()).map_err(|problem| Error::input(TENSOR_MAP, problem))?;
        match &self.backend {
            Backend::Cpu => Err(Error::Unavailable {
                device: self.to_string(),
                reason:
                    "the CPU runs no kernels that take tensor maps: use Device::simulator() or a \
                         GPU"
                    .into(),
            }),
            Backend::Simulator(_) => Ok(tiles.simulated()),
            Backend::Cuda(gpu) => gpu.tensor_map(tiles),
        }
    }
}
