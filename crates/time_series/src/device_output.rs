//! Results in the memory of a device.

use std::ops::Range;

use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::Result;
use gridstride_runtime::device::{
    Buffer, Device, DeviceArray, DeviceView, Element, collected, copied, reserve,
};
use ndarray::Ix1;
use time_series_kernels::Summary;

use super::device_offsets::DeviceOffsets;
use super::method::Method;
use super::options::TimeBuckets;
use super::output::{
    Aggregates, BucketCounts, CustomAggregates, Summaries, index_of, require_column,
};
use super::states::BucketState;

/// [`Aggregates`] in the memory of a device.
#[derive(Debug)]
pub struct DeviceAggregates {
    pub(super) offsets: DeviceOffsets,
    pub(super) starts: DeviceArray<i64, Ix1>,
    pub(super) methods: Vec<Method>,
    pub(super) columns: DeviceColumns,
}

/// Columns one after the other, with room behind each if there are fewer buckets than `stride`.
#[derive(Debug)]
pub(super) struct DeviceColumns {
    pub elements: Buffer<f64>,
    pub stride: usize,
}

impl DeviceColumns {
    /// Returns the first `len` numbers of a column, for launches.
    pub fn column(&self, index: usize, len: usize) -> DeviceSlice<f64> {
        let (all, start) = (self.elements.slice(), index * self.stride);
        assert!(start + len <= all.len());
        // SAFETY: within the buffer; launches require that the buffer lives until they end.
        unsafe { DeviceSlice::from_raw_parts(all.as_ptr().add(start), len) }
    }

    /// Returns room for neighbouring columns, for launches.
    pub fn columns_mut(&mut self, first: usize, count: usize) -> DeviceSliceMut<f64> {
        let (all, start) = (self.elements.slice_mut(), first * self.stride);
        let len = count * self.stride;
        assert!(start + len <= all.len());
        // SAFETY: within the buffer; launches require that the buffer lives until they end.
        unsafe { DeviceSliceMut::from_raw_parts(all.as_mut_ptr().add(start), len) }
    }
}

impl DeviceAggregates {
    /// Returns the first timestamp of each bucket.
    pub fn starts(&self) -> &DeviceArray<i64, Ix1> {
        &self.starts
    }

    /// Returns the methods, one for each column.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns the column of the method with an index: a number for each bucket.
    /// [`DeviceView::to_array`] copies the column, for calls that take a [`DeviceArray`].
    ///
    /// # Panics
    /// If `index` is not below the number of methods.
    #[track_caller]
    pub fn column(&self, index: usize) -> DeviceView<'_, f64, Ix1> {
        require_column(index, self.methods.len());
        let DeviceColumns { elements, stride } = &self.columns;
        DeviceView::part(elements, index * stride, self.len())
    }

    /// Returns the first column of a method, or `None`.
    pub fn column_of(&self, method: Method) -> Option<DeviceView<'_, f64, Ix1>> {
        Some(self.column(index_of(&self.methods, method)?))
    }

    /// Returns the number of buckets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no buckets.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the number of series.
    pub fn series_count(&self) -> usize {
        self.offsets.series_count()
    }

    /// Returns the buckets of the series with an index. The first call copies all
    /// [`offsets`](Self::offsets) to the host.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    ///
    /// # Panics
    /// If there is no such series.
    pub fn series(&self, index: usize) -> Result<Range<usize>> {
        let offsets = self.offsets()?;
        Ok(offsets[index]..offsets[index + 1])
    }

    /// Returns the index of each series' first bucket, and at the end the number of buckets. The
    /// first call copies them to the host.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    pub fn offsets(&self) -> Result<&[usize]> {
        self.offsets.get()
    }

    /// Copies everything to the host.
    ///
    /// # Errors
    /// [`Error::Driver`](gridstride_runtime::Error::Driver) if the copy, or earlier work on the array's stream,
    /// fails; [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the host's memory does not
    /// suffice.
    pub fn download(&self) -> Result<Aggregates> {
        let columns = (0..self.methods.len()).map(|index| self.column(index).download());
        Ok(Aggregates {
            offsets: copied(self.offsets()?)?,
            starts: self.starts.download()?,
            methods: self.methods.clone(),
            columns: columns.collect::<Result<_>>()?,
        })
    }

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
            offsets: DeviceOffsets::Host(aggregates.offsets),
            methods: aggregates.methods,
        })
    }
}

/// [`CustomAggregates`] in the memory of a device.
#[derive(Debug)]
pub struct DeviceCustomAggregates<O: Element> {
    pub(super) offsets: DeviceOffsets,
    pub(super) starts: DeviceArray<i64, Ix1>,
    pub(super) results: DeviceArray<O, Ix1>,
}

impl<O: Element> DeviceCustomAggregates<O> {
    /// Returns the first timestamp of each bucket.
    pub fn starts(&self) -> &DeviceArray<i64, Ix1> {
        &self.starts
    }

    /// Returns the result for each bucket.
    pub fn results(&self) -> &DeviceArray<O, Ix1> {
        &self.results
    }

    /// Returns the index of each series' first bucket, and at the end the number of buckets. The
    /// first call copies them to the host.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    pub fn offsets(&self) -> Result<&[usize]> {
        self.offsets.get()
    }

    /// Copies everything to the host, as [`DeviceAggregates::download`].
    pub fn download(&self) -> Result<CustomAggregates<O>> {
        Ok(CustomAggregates {
            offsets: copied(self.offsets()?)?,
            starts: self.starts.download()?,
            results: self.results.download()?,
        })
    }

    pub(super) fn upload(device: &Device, found: CustomAggregates<O>) -> Result<Self> {
        Ok(DeviceCustomAggregates {
            starts: device.upload(&found.starts)?,
            results: device.upload(&found.results)?,
            offsets: DeviceOffsets::Host(found.offsets),
        })
    }
}

/// [`Summaries`] in the memory of a device.
#[derive(Debug)]
pub struct DeviceSummaries<S: BucketState = Summary> {
    options: TimeBuckets,
    buckets: DeviceCustomAggregates<S>,
}

impl<S: BucketState> DeviceSummaries<S> {
    pub(super) fn new(options: &TimeBuckets, buckets: DeviceCustomAggregates<S>) -> Self {
        DeviceSummaries {
            options: options.clone(),
            buckets,
        }
    }

    /// Returns the first timestamp of each bucket.
    pub fn starts(&self) -> &DeviceArray<i64, Ix1> {
        &self.buckets.starts
    }

    /// Returns the summary of each bucket.
    pub fn summaries(&self) -> &DeviceArray<S, Ix1> {
        &self.buckets.results
    }

    /// Returns the index of each series' first bucket, and at the end the number of buckets. The
    /// first call copies them to the host.
    ///
    /// # Errors
    /// As [`download`](Self::download).
    pub fn offsets(&self) -> Result<&[usize]> {
        self.buckets.offsets()
    }

    /// Copies everything to the host, as [`DeviceAggregates::download`], where summaries can be
    /// [resampled](Summaries::resample).
    pub fn download(&self) -> Result<Summaries<S>> {
        Ok(Summaries::new(&self.options, self.buckets.download()?))
    }
}

/// [`BucketCounts`] in the memory of a device.
#[derive(Debug)]
pub struct DeviceBucketCounts {
    /// The first timestamp of each bucket.
    pub starts: DeviceArray<i64, Ix1>,
    /// The number of points in each bucket, at least 1: exact, but `f64`, like all columns on a
    /// device.
    pub counts: DeviceArray<f64, Ix1>,
}

impl DeviceBucketCounts {
    /// Copies both to the host, as [`DeviceAggregates::download`].
    pub fn download(&self) -> Result<BucketCounts> {
        let counts = self.counts.buffer().to_vec()?.into_iter();
        Ok(BucketCounts {
            starts: self.starts.download()?,
            counts: collected(counts.map(|count| count as u32))?.into(),
        })
    }

    pub(super) fn upload(device: &Device, found: &BucketCounts) -> Result<Self> {
        let counts = collected(found.counts.iter().map(|&count| f64::from(count)))?;
        Ok(DeviceBucketCounts {
            starts: device.upload(&found.starts)?,
            counts: device.upload(&ndarray::aview1(&counts))?,
        })
    }
}
