//! Time series: statistics of the values in buckets of time.
//!
//! A point is a timestamp, an `i64` in any unit, and a value, an `f64` or `f32`. A *granularity* g and an *origin* o
//! cut time into buckets: the one of a timestamp t is \[l, l + g) with l = o + ⌊(t − o)/g⌋·g, in exact integer
//! arithmetic, before 1970 too, and it is labelled by l. Only buckets with points come out, in order, unless others
//! are to be [filled](Fill): also those all of whose values are NaN that is [skipped](Nan::Skip). Many series are
//! aggregated in one call, one after the other in the same arrays.
//!
//! Points are [sorted](Order::Sort) first, if that is asked for, then [duplicates](Duplicates) are left out, then
//! [NaN](Nan), and of what is left [rates](Method::rate) are computed.
//!
//! On GPUs points are read once for all statistics but percentiles, whatever the lengths of the buckets: segmented
//! reduction in tiles, whose buckets are counted by decoupled look-back (D. Merrill, M. Garland, 'Single-pass Parallel
//! Prefix Scan with Decoupled Look-back', 2016).
//!
//! # Accuracy
//! Results are the same from run to run on the same device. Counts, extremes, first and last values and percentiles
//! are the same on every device. Sums, means, variances and deviations may differ between devices, within these
//! bounds, with u = 2⁻⁵³ and n values x that are finite:
//!
//! | | off by at most |
//! |---|---|
//! | sum S | 2u·\|S\| + n²u²·Σ\|x\| |
//! | mean | the same for S, divided by n, and one rounding more |
//! | variance V | (3u + 50·n·k²·u²)·V |
//! | standard deviation | (3u + 25·n·k²·u²) times itself |
//!
//! k = min(n, 8192) + n/8192 + 64 is the most additions that a value goes through; [resampling](Summaries::resample)
//! adds the number of merged buckets to it. The second term is below 3u up to 6·10⁶ values for the variance, and up to 10⁷
//! for the deviation. A result below the normal range is off by up to two units of its last place besides. Neither bound
//! depends on the mean: squares are those of deviations from a value of
//! the bucket (T. Chan, G. Golub, R. LeVeque, 'Algorithms for Computing the Sample Variance', 1983). Sums carry their
//! rounding errors along (T. Ogita, S. Rump, S. Oishi, 'Accurate Sum and Dot Product', 2005). Very large and very small
//! values are scaled by powers of two, so that no sum or square overflows or underflows before the result does.
//!
//! # Several devices, and little memory
//! Calls over arrays of the host take a [set](crate::DeviceSet) of devices. Points are cut where buckets begin, in one
//! stretch for each device, or in more where stretches are larger than a device's memory or its
//! [limit](crate::Device::with_memory_limit). For rates a stretch begins with the last value before it. The host
//! then does the [sorting](Order::Sort). A bucket that is larger than a device's memory is made of
//! [summaries](Summaries) of its points. Summaries do not have percentiles, rates, counts alone or user-defined aggregates:
//! these fail with [`Error::Allocation`](crate::Error::Allocation). Results are those of one device: sums, means and
//! deviations within the bounds above, everything else exactly.
//!
//! Calls with the ending `_device` take and return arrays in a device's memory. They run on the stream of the
//! timestamps' handle.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::time_series::{Method, aggregate};
//! use ndarray::array;
//!
//! let timestamps = array![-3, 0, 5, 10, 40];
//! let values = array![1.0, 2.0, 4.0, 6.0, 5.0];
//! let methods = [Method::MEAN, Method::MAX];
//! let found = aggregate(&Device::auto(), timestamps.view(), values.view(), 35, &methods)?;
//! assert_eq!(found.starts(), array![-35, 0, 35]);
//! assert_eq!(found.column(0), array![1.0, 4.0, 5.0]);
//! assert_eq!(found.column(1), array![1.0, 6.0, 5.0]);
//! # Ok::<(), gridstride::Error>(())
//! ```

mod calls;
mod cpu;
mod custom;
mod device_output;
mod dispatch;
mod element;
mod gpu;
mod input;
mod method;
mod options;
mod output;
mod partition;
pub mod reference;

pub use calls::{
    aggregate, bucket_counts, bucket_counts_device, round_timestamps, round_timestamps_device,
    round_timestamps_device_inplace, round_timestamps_device_into, round_timestamps_inplace,
    round_timestamps_into,
};
pub use custom::Custom;
pub use device_output::{
    DeviceAggregates, DeviceBucketCounts, DeviceCustomAggregates, DeviceSummaries,
};
pub use element::Value;
pub use method::{Method, Statistic};
pub use options::{Duplicates, Fill, Nan, Order, Singletons, TimeBuckets};
pub use output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
pub use time_series_kernels::{Aggregate, Kernels, Point, Summary};
