//! The calls for the nearest sequences by slide distances.

mod resident;

use ndarray::{Array2, ArrayViewMut2};

use crate::device::zeroed_lazily;
use crate::distances::element::Component;
use crate::distances::nearest::Nearest;
use crate::distances::nearest::input::{self, HostSlideQueries, Queries};
use crate::distances::nearest::merge::merge;
use crate::distances::options::Distances;
use crate::distances::slide::Windows;
use crate::error::During;
use crate::{DeviceSet, Result};

const SLIDE_NEAREST: &str = "slide_nearest";

/// Finds the `k` sequences of `database` with the least slide distances to each of `queries`, as
/// [`Distances::slide_nearest`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::distances::{Windows, slide_nearest};
/// use ndarray::array;
///
/// let (rows, query) = (array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]], array![[3.0, 4.0]]);
/// let database = Windows::new(rows.view(), &[0, 2, 3])?; // 2 windows and 1
/// let queries = Windows::new(query.view(), &[0, 1])?;
/// let found = slide_nearest(&Device::auto(), queries, database, 2)?;
/// assert_eq!(found.indices, array![[1, 0]]);
/// assert_eq!(found.distances, array![[0.0, 5.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn slide_nearest<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    queries: Windows<T>,
    database: Windows<T>,
    k: usize,
) -> Result<Nearest> {
    Distances::new().slide_nearest(devices, queries, database, k)
}

/// Nearest sequences by their [slide distances](crate::distances#slide-distances).
impl Distances {
    /// Finds the `k` sequences of `database`, M sequences, with the least slide distances to each of
    /// `queries`, N sequences: indices and distances, each N×k, the nearest first.
    ///
    /// The result is exact: that of sorting the rows of [`slide_distances`](Self::slide_distances)
    /// by distance, and at the same distance by index. The whole matrix of distances is not in
    /// memory. The distance to a sequence without windows is NaN, which comes after all distances.
    ///
    /// Devices that run kernels take a `k` of up to 1024, the CPU any.
    ///
    /// # Errors
    /// - [`Error::Shape`](crate::Error::Shape) if the windows of `queries` and `database` differ in
    ///   length.
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for NaN, infinities, or no devices; for
    ///   a `k` above the sequences of `database`; and on devices that run kernels for a `k` above
    ///   1024 and a sequence of more than 2³¹ − 16 numbers.
    /// - [`Error::Allocation`](crate::Error::Allocation) if the host has too little memory for the
    ///   result, or a device for two sequences and a list of candidates of 8 to 32 KiB.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Metric, Windows};
    /// use ndarray::array;
    ///
    /// let (rows, query) = (array![[0.0f32], [10.0], [4.0], [8.0]], array![[3.0], [8.0]]);
    /// let database = Windows::new(rows.view(), &[0, 2, 4])?;
    /// let queries = Windows::new(query.view(), &[0, 2])?;
    /// let squared = Distances::new().metric(Metric::SquaredL2);
    /// let found = squared.slide_nearest(&Device::auto(), queries, database, 2)?;
    /// assert_eq!((found.indices, found.distances), (array![[1, 0]], array![[1.0, 13.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        queries: Windows<T>,
        database: Windows<T>,
        k: usize,
    ) -> Result<Nearest> {
        check(SLIDE_NEAREST, queries, database, k)?;
        let shape = (queries.len(), k);
        let elements = shape.0.saturating_mul(k);
        let indices = zeroed_lazily(elements).during(SLIDE_NEAREST)?;
        let distances = zeroed_lazily(elements).during(SLIDE_NEAREST)?;
        let expected = "a place for each nearest sequence";
        let mut found = Nearest {
            indices: Array2::from_shape_vec(shape, indices).expect(expected),
            distances: Array2::from_shape_vec(shape, distances).expect(expected),
        };
        let places = (found.indices.view_mut(), found.distances.view_mut());
        self.host_slide_nearest(SLIDE_NEAREST, devices, queries, database, places)?;
        Ok(found)
    }

    /// As [`slide_nearest`](Self::slide_nearest), but writes to `indices` and `distances`, views of
    /// N×k with any strides, whose columns are k. After an error their content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_nearest`](Self::slide_nearest), and
    /// [`Error::Shape`](crate::Error::Shape) if `indices` and `distances` differ in shape or do not
    /// have a row for each query.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Windows};
    /// use ndarray::{Array2, array};
    ///
    /// let rows = array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]];
    /// let windows = Windows::new(rows.view(), &[0, 2, 3])?;
    /// let (mut indices, mut distances) = (Array2::zeros((2, 1)), Array2::zeros((2, 1)));
    /// let (device, options) = (Device::auto(), Distances::new());
    /// let places = (indices.view_mut(), distances.view_mut());
    /// options.slide_nearest_into(&device, windows, windows, places.0, places.1)?;
    /// assert_eq!((indices, distances), (array![[0], [1]], array![[0.0], [0.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        queries: Windows<T>,
        database: Windows<T>,
        indices: ArrayViewMut2<u64>,
        distances: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let operation = "slide_nearest_into";
        let count = queries.len();
        let k = input::columns(operation, count, indices.shape(), distances.shape())?;
        check(operation, queries, database, k)?;
        self.host_slide_nearest(operation, devices, queries, database, (indices, distances))
    }

    fn host_slide_nearest<T: Component>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        queries: Windows<T>,
        database: Windows<T>,
        (indices, distances): (ArrayViewMut2<u64>, ArrayViewMut2<f64>),
    ) -> Result<()> {
        let whole = HostSlideQueries {
            all: Queries {
                operation,
                metric: self.metric,
                queries,
                database,
                k: indices.ncols(),
            },
            first_query: 0,
            first_row: 0,
        };
        let found = T::host_slide_nearest(devices.devices(), whole).during(operation)?;
        merge(&found, indices, distances).during(operation)
    }
}

fn check<T>(
    operation: &'static str,
    queries: Windows<T>,
    database: Windows<T>,
    k: usize,
) -> Result<()> {
    let (of_queries, of_database) = (
        (queries.len(), queries.dim()),
        (database.len(), database.dim()),
    );
    input::check_slides(operation, of_queries, of_database, k)
}
