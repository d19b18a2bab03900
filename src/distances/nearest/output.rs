//! The nearest rows of queries, on the host and on a device.

use ndarray::{Array2, Ix2};

use crate::Result;
use crate::device::DeviceArray;

/// The k nearest rows of each of N queries, the nearest first. Of rows at the same distance, those
/// with smaller indices come first.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// N×k: the rows of the database.
    pub indices: Array2<u64>,
    /// N×k: their distances, in ascending order.
    pub distances: Array2<f64>,
}

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
    /// [`Error::Allocation`](crate::Error::Allocation) if the host has too little memory.
    pub fn download(&self) -> Result<Nearest> {
        Ok(Nearest {
            indices: self.indices.download()?,
            distances: self.distances.download()?,
        })
    }
}
