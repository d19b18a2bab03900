//! The calls for sequences in a device's memory.

use ndarray::Ix2;

use crate::Result;
use crate::device::DeviceArray;
use crate::distances::element::Component;
use crate::distances::nearest::DeviceNearest;
use crate::distances::nearest::input::{self, Places, Queries};
use crate::distances::options::Distances;
use crate::distances::slide::DeviceWindows;
use crate::error::During;

const SLIDE_NEAREST_DEVICE: &str = "slide_nearest_device";

/// Nearest sequences in a device's memory.
impl Distances {
    /// As [`slide_nearest`](Self::slide_nearest), but of windows in a device's memory. The result
    /// stays there.
    ///
    /// Besides the arrays, the call takes up to 256 MiB, and at most an eighth of the device's
    /// memory if that suffices for a query.
    ///
    /// The work is ordered on the stream of the handle of `queries`, by default the device's main
    /// stream. The call waits for the check of the windows; the result may not be written yet when
    /// it returns.
    ///
    /// # Errors
    /// The errors of [`slide_nearest`](Self::slide_nearest), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let rows = device.upload(&array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]])?;
    /// let windows = DeviceWindows::new(&rows, &[0, 2, 3])?;
    /// let found = Distances::new().slide_nearest_device(windows, windows, 2)?.download()?;
    /// assert_eq!(found.indices, array![[0, 1], [1, 0]]);
    /// assert_eq!(found.distances, array![[0.0, 5.0], [0.0, 5.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest_device<T: Component>(
        &self,
        queries: DeviceWindows<T>,
        database: DeviceWindows<T>,
        k: usize,
    ) -> Result<DeviceNearest> {
        check(SLIDE_NEAREST_DEVICE, queries, database, k)?;
        let device = queries.rows.device();
        let shape = Ix2(queries.len(), k);
        let elements = shape[0].saturating_mul(k);
        let indices = device.alloc(elements).during(SLIDE_NEAREST_DEVICE)?;
        let distances = device.alloc(elements).during(SLIDE_NEAREST_DEVICE)?;
        let mut found = DeviceNearest {
            indices: DeviceArray::from_buffer(indices, shape)?,
            distances: DeviceArray::from_buffer(distances, shape)?,
        };
        let places = (&mut found.indices, &mut found.distances);
        self.resident_slide_nearest(SLIDE_NEAREST_DEVICE, queries, database, places)?;
        Ok(found)
    }

    /// As [`slide_nearest_device`](Self::slide_nearest_device), but writes to `indices` and
    /// `distances`, N×k on the same device, whose columns are k. After an error their content is
    /// unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_nearest_device`](Self::slide_nearest_device) and
    /// [`slide_nearest_into`](Self::slide_nearest_into).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let rows = device.upload(&array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]])?;
    /// let windows = DeviceWindows::new(&rows, &[0, 2, 3])?;
    /// let mut indices = device.upload(&Array2::zeros((2, 1)))?;
    /// let mut distances = device.upload(&Array2::zeros((2, 1)))?;
    /// let options = Distances::new();
    /// options.slide_nearest_device_into(windows, windows, &mut indices, &mut distances)?;
    /// assert_eq!(indices.download()?, array![[0], [1]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest_device_into<T: Component>(
        &self,
        queries: DeviceWindows<T>,
        database: DeviceWindows<T>,
        indices: &mut DeviceArray<u64, Ix2>,
        distances: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        let operation = "slide_nearest_device_into";
        let (device, count) = (queries.rows.device(), queries.len());
        device.require_same(indices.device(), operation)?;
        device.require_same(distances.device(), operation)?;
        let k = input::columns(operation, count, indices.shape(), distances.shape())?;
        check(operation, queries, database, k)?;
        self.resident_slide_nearest(operation, queries, database, (indices, distances))
    }

    fn resident_slide_nearest<T: Component>(
        &self,
        operation: &'static str,
        queries: DeviceWindows<T>,
        database: DeviceWindows<T>,
        (indices, distances): (&mut DeviceArray<u64, Ix2>, &mut DeviceArray<f64, Ix2>),
    ) -> Result<()> {
        let others = [database.rows.device(), indices.device(), distances.device()];
        let _ordered = queries.rows.device().ordered_with(&others)?;
        let whole = Queries {
            operation,
            metric: self.metric,
            queries,
            database,
            k: indices.shape()[1],
        };
        let places = Places {
            indices: indices.inner_mut(),
            distances: distances.inner_mut(),
        };
        T::device_slide_nearest(whole, places).during(operation)
    }
}

fn check<T: Component>(
    operation: &'static str,
    queries: DeviceWindows<T>,
    database: DeviceWindows<T>,
    k: usize,
) -> Result<()> {
    let device = queries.rows.device();
    device.require_same(database.rows.device(), operation)?;
    let (of_queries, of_database) = (
        (queries.len(), queries.dim()),
        (database.len(), database.dim()),
    );
    input::check_slides(operation, of_queries, of_database, k)
}
