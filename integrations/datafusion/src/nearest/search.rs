//! Calls of the library.

use std::sync::OnceLock;

use datafusion::arrow::array::{ArrowPrimitiveType, FixedSizeListArray};
use datafusion::common::Result;
use datafusion::physical_plan::metrics::{Count, Time};
use gridstride::device::{DeviceArray, DeviceKind};
use gridstride::distances::{Component, Distances, Nearest};
use gridstride::ndarray::{ArrayView2, Ix2};
use gridstride::{Device, Error};

use super::parameters::EXEC_NAME;
use crate::arrow::rows;
use crate::config;
use crate::error::external;

/// Counters and times of a partition.
#[derive(Clone)]
pub struct Measures {
    pub input_bytes: Count,
    pub calls: Count,
    pub kernel_time: Time,
    pub copy_time: Time,
}

/// Vectors among which the nearest are searched.
pub trait Database: Send + Sync {
    /// Finds the `k` nearest vectors for each of `queries`.
    fn nearest(
        &self,
        queries: &FixedSizeListArray,
        k: usize,
        measures: &Measures,
    ) -> Result<Nearest>;
}

/// Vectors of `f32` or `f64`.
pub struct Vectors<T: ArrowPrimitiveType<Native: Component>> {
    vectors: FixedSizeListArray,
    device: Device,
    /// The device's copy for all partitions; `None` if the device has too little memory for it.
    on_device: OnceLock<Option<DeviceArray<T::Native, Ix2>>>,
}

impl<T: ArrowPrimitiveType<Native: Component>> Vectors<T> {
    pub fn new(vectors: FixedSizeListArray, device: Device) -> Vectors<T> {
        Vectors {
            vectors,
            device,
            on_device: OnceLock::new(),
        }
    }

    /// Searches in the memory of a GPU or the simulator, so that copies and kernels are measured
    /// apart. Returns `None` if there is too little memory.
    fn on_device(
        &self,
        queries: ArrayView2<T::Native>,
        database: ArrayView2<T::Native>,
        k: usize,
        measures: &Measures,
    ) -> gridstride::Result<Option<Nearest>> {
        if self.on_device.get().is_none() {
            let _copying = measures.copy_time.timer();
            let copy = match self.leaves_room(&database) {
                true => allocated(self.device.upload(&database))?,
                false => None,
            };
            self.device.synchronize()?;
            // Of several partitions that get here, one keeps its copy.
            let _ = self.on_device.set(copy);
        }
        let Some(Some(database)) = self.on_device.get() else {
            return Ok(None);
        };
        // Calls of other partitions have streams of their own, so that their copies overlap with
        // these kernels.
        let device = self.device.on(&self.device.stream()?)?;
        let copying = measures.copy_time.timer();
        let Some(queries) = allocated(device.upload(&queries))? else {
            return Ok(None);
        };
        device.synchronize()?;
        drop(copying);
        let computing = measures.kernel_time.timer();
        let neighbours = Distances::new().nearest_device(&queries, database, k);
        let Some(neighbours) = allocated(neighbours)? else {
            return Ok(None);
        };
        device.synchronize()?;
        drop(computing);
        let _copying = measures.copy_time.timer();
        neighbours.download().map(Some)
    }

    /// Whether the copy of the references leaves at least half of a memory limit to other calls:
    /// it stays on the device when they have their turns.
    fn leaves_room(&self, database: &ArrayView2<T::Native>) -> bool {
        let bytes = database.len() * size_of::<T::Native>();
        let limit = self.device.memory_limit();
        limit.is_none_or(|limit| bytes as u64 <= limit / 2)
    }

    fn search(
        &self,
        queries: ArrayView2<T::Native>,
        database: ArrayView2<T::Native>,
        k: usize,
        measures: &Measures,
    ) -> gridstride::Result<Nearest> {
        let _turn = config::turn(&self.device);
        if self.device.kind() != DeviceKind::Cpu
            && let Some(neighbours) = self.on_device(queries, database, k, measures)?
        {
            return Ok(neighbours);
        }
        // The call for host arrays divides the work so that it fits.
        let _timer = measures.kernel_time.timer();
        Distances::new().nearest(&self.device, queries, database, k)
    }
}

impl<T: ArrowPrimitiveType<Native: Component>> Database for Vectors<T> {
    fn nearest(
        &self,
        queries: &FixedSizeListArray,
        k: usize,
        measures: &Measures,
    ) -> Result<Nearest> {
        measures.calls.add(1);
        let (queries, database) = (rows::<T>(queries)?, rows::<T>(&self.vectors)?);
        measures
            .input_bytes
            .add(queries.len() * size_of::<T::Native>());
        self.search(queries, database, k, measures)
            .map_err(external(EXEC_NAME))
    }
}

/// Returns `None` for a lack of memory.
fn allocated<T>(result: gridstride::Result<T>) -> gridstride::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Allocation { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{Float32Type, Float64Type};
    use gridstride::ndarray::Array2;

    use super::*;
    use crate::arrow::into_list;

    fn measures() -> Measures {
        Measures {
            input_bytes: Count::new(),
            calls: Count::new(),
            kernel_time: Time::new(),
            copy_time: Time::new(),
        }
    }

    /// Numbers that are exact in `f32`, each row at another distance.
    fn vectors(rows: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, 16), |(row, column)| {
            ((row * row + column) % 4096) as f64
        })
    }

    /// The result is the same in a device's memory, and on a device with too little memory for the
    /// references.
    #[test]
    fn in_the_memory_of_devices() {
        let (queries, database) = (vectors(3), vectors(2000));
        let expected = Distances::new()
            .nearest(&Device::cpu(), queries.view(), database.view(), 4)
            .unwrap();
        let simulator = Device::simulator().unwrap();
        let little = simulator.with_memory_limit(100 << 10);
        for (device, copies) in [(Device::cpu(), false), (simulator, true), (little, false)] {
            let queries = into_list::<Float64Type>(queries.clone(), None);
            let all = into_list::<Float64Type>(database.clone(), None);
            let double = Vectors::<Float64Type>::new(all, device.clone());
            let (first, second) = (measures(), measures());
            assert_eq!(double.nearest(&queries, 4, &first).unwrap(), expected);
            assert_eq!(double.nearest(&queries, 4, &second).unwrap(), expected);
            assert_eq!(
                double.on_device.get().is_some_and(Option::is_some),
                copies,
                "{device}"
            );
            assert_eq!(
                (first.calls.value(), first.input_bytes.value()),
                (1, 3 * 16 * 8)
            );
            assert_eq!(
                first.copy_time.value() > 0,
                device.kind() != DeviceKind::Cpu
            );

            let all = into_list::<Float32Type>(database.mapv(|number| number as f32), None);
            let queries = into_list::<Float32Type>(vectors(3).mapv(|number| number as f32), None);
            let single = Vectors::<Float32Type>::new(all, device);
            let neighbours = single.nearest(&queries, 4, &first).unwrap();
            assert_eq!(neighbours.indices, expected.indices);
        }
    }
}
