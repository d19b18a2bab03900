//! The nearest rows of queries, in a device's memory.

use gridstride_runtime::Result;
use gridstride_runtime::device::DeviceArray;
use ndarray::Ix2;

use super::output::Nearest;

/// As [`Nearest`], in a device's memory.
#[derive(Debug)]
pub struct DeviceNearest {
    /// N×k: the rows of the database.
    pub indices: DeviceArray<u64, Ix2>,
    /// N×k: their distances, in ascending order.
    pub distances: DeviceArray<f64, Ix2>,
}

impl DeviceNearest {
    /// Copies both arrays to the host.
    ///
    /// # Errors
    /// [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the host has too little memory.
    pub fn download(&self) -> Result<Nearest> {
        Ok(Nearest {
            indices: self.indices.download()?,
            distances: self.distances.download()?,
        })
    }
}
