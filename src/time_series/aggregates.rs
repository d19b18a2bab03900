//! Results.

use std::ops::Range;

use ndarray::{Array1, ArrayView1, Ix1};

use super::Method;
use crate::Result;
use crate::device::{Buffer, Device, DeviceArray, DeviceView, Element, copied, reserve};

/// Buckets and one column for each method.
///
/// Buckets of a series are in the order of time, series in theirs. Columns are `f64` for all methods: counts are
/// exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregates {
    /// The offset of each series' first bucket, and the number of buckets.
    pub(crate) offsets: Vec<usize>,
    pub(crate) starts: Array1<i64>,
    pub(crate) methods: Vec<Method>,
    pub(crate) columns: Vec<Array1<f64>>,
}

impl Aggregates {
    /// The first timestamp of each bucket.
    pub fn starts(&self) -> ArrayView1<'_, i64> {
        self.starts.view()
    }

    /// The methods, one for each column.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// A number for each bucket by method number `index`.
    ///
    /// # Panics
    /// Unless there are more methods than that.
    pub fn column(&self, index: usize) -> ArrayView1<'_, f64> {
        self.columns[index].view()
    }

    /// The column of a method, the first one if there are several, or `None`. [`Method::MEDIAN`] and the 50th percentile
    /// are two methods.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Method, aggregate};
    /// use ndarray::array;
    ///
    /// let (timestamps, values) = (array![0, 1, 9], array![1.0, 2.0, 4.0]);
    /// let methods = [Method::MEAN, Method::MAX];
    /// let found = aggregate(&Device::cpu(), timestamps.view(), values.view(), 5, &methods)?;
    /// assert_eq!(found.column_of(Method::MAX), Some(array![2.0, 4.0].view()));
    /// assert_eq!(found.column_of(Method::SUM), None);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn column_of(&self, method: Method) -> Option<ArrayView1<'_, f64>> {
        let index = place_of(&self.methods, method)?;
        Some(self.column(index))
    }

    /// All columns, in the order of the methods.
    pub fn columns(&self) -> &[Array1<f64>] {
        &self.columns
    }

    /// The number of buckets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no buckets.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The number of series.
    pub fn series_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The buckets of a series.
    ///
    /// # Panics
    /// Unless there are more series than that.
    pub fn series(&self, index: usize) -> Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }

    /// Where the buckets of each series begin, and at the end their number.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The starts and the columns, to be owned.
    pub fn into_parts(self) -> (Array1<i64>, Vec<Array1<f64>>) {
        (self.starts, self.columns)
    }
}

/// The column of a method.
fn place_of(methods: &[Method], method: Method) -> Option<usize> {
    methods.iter().position(|&other| other == method)
}

/// [`Aggregates`] in the memory of a device.
#[derive(Debug)]
pub struct DeviceAggregates {
    pub(super) offsets: Vec<usize>,
    pub(super) starts: DeviceArray<i64, Ix1>,
    pub(super) methods: Vec<Method>,
    pub(super) columns: DeviceColumns,
}

/// Columns one after the other, which may have some room between them.
#[derive(Debug)]
pub(super) struct DeviceColumns {
    pub elements: Buffer<f64>,
    pub stride: usize,
}

impl DeviceAggregates {
    /// The first timestamp of each bucket.
    pub fn starts(&self) -> &DeviceArray<i64, Ix1> {
        &self.starts
    }

    /// The methods, one for each column.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// A number for each bucket by method number `index`.
    ///
    /// # Panics
    /// Unless there are more methods than that.
    pub fn column(&self, index: usize) -> DeviceView<'_, f64, Ix1> {
        assert!(
            index < self.methods.len(),
            "there are {} columns",
            self.methods.len()
        );
        let DeviceColumns { elements, stride } = &self.columns;
        DeviceView::part(elements, index * stride, self.len())
    }

    /// The column of a method, the first one if there are several, or `None`.
    pub fn column_of(&self, method: Method) -> Option<DeviceView<'_, f64, Ix1>> {
        let index = place_of(&self.methods, method)?;
        Some(self.column(index))
    }

    /// The number of buckets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no buckets.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Where the buckets of each series begin, and at the end their number. On the host.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Copies all to the host.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the copy, or earlier work on the GPU's main stream, fails;
    /// [`Error::Allocation`](crate::Error::Allocation) if the host's memory does not suffice.
    pub fn download(&self) -> Result<Aggregates> {
        let columns = (0..self.methods.len()).map(|index| self.column(index).download());
        Ok(Aggregates {
            offsets: copied(&self.offsets)?,
            starts: self.starts.download()?,
            methods: self.methods.clone(),
            columns: columns.collect::<Result<_>>()?,
        })
    }

    /// A copy of what is on the host.
    pub(super) fn upload(device: &Device, aggregates: Aggregates) -> Result<DeviceAggregates> {
        let mut columns = Vec::new();
        reserve(&mut columns, aggregates.columns.len() * aggregates.len())?;
        columns.extend(aggregates.columns.iter().flatten());
        Ok(DeviceAggregates {
            starts: device.upload(&aggregates.starts)?,
            columns: DeviceColumns {
                elements: device.buffer_from(&columns)?,
                stride: aggregates.len(),
            },
            offsets: aggregates.offsets,
            methods: aggregates.methods,
        })
    }
}

/// Buckets, and a result of an [`Aggregate`](super::Aggregate) for each.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomAggregates<O: Element> {
    pub(crate) offsets: Vec<usize>,
    pub(crate) starts: Array1<i64>,
    pub(crate) results: Array1<O>,
}

impl<O: Element> CustomAggregates<O> {
    /// The first timestamp of each bucket.
    pub fn starts(&self) -> ArrayView1<'_, i64> {
        self.starts.view()
    }

    /// The result for each bucket.
    pub fn results(&self) -> ArrayView1<'_, O> {
        self.results.view()
    }

    /// Where the buckets of each series begin, and at the end their number.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }
}

/// The number of points in each bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketCounts {
    /// The first timestamp of each bucket.
    pub starts: Array1<i64>,
    /// How many points are in it: 1 at least.
    pub counts: Array1<u32>,
}
