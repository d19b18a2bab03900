//! Time series: statistics of the values in buckets of time.
//!
//! A point is a timestamp, an `i64` in any unit, and a value, an `f64` or `f32`. A length g, which calls
//! name `every`, and an *origin* o cut time into buckets: a timestamp t is in the bucket \[l, l + g) with
//! the label l = o + ⌊(t − o)/g⌋·g, computed in exact integer arithmetic, also for negative timestamps.
//! The result has the buckets with points, in order, even if all their values are
//! [skipped](Nan::Skip) NaN, and other buckets if they are [filled](Fill). One call aggregates many
//! series, which follow each other in the same arrays.
//!
//! The options apply in this order: points are [sorted](Order::Sort), [duplicates](Duplicates) are
//! left out, [NaN](Nan) is skipped, and [rates](Method::rate) are computed from the remaining
//! values.
//!
//! # Missing values
//! A missing value is no point, and is left out before the call: a null of SQL, polars, pyarrow or
//! pandas, or an empty cell of CSV. NaN is a value of a point, which the methods skip or propagate. A
//! bucket whose values are all NaN therefore exists, with the count 0, while a bucket without points
//! does not. pandas takes NaN in columns of numpy's types for missing values, and so does the Python
//! package, unless NaN shall propagate.
//!
//! A result that does not exist is NaN in columns of numbers, an empty cell in CSV, and null in JSON and
//! SQL: the mean of no values, the deviation of one, and a [filled](Fill) result without a number. A
//! result that is NaN is treated likewise.
//!
//! # Algorithm
//! GPUs compute all statistics except percentiles by a segmented reduction in tiles, whatever the
//! lengths of the buckets. Each tile has places in the output for as many buckets as its time span
//! and its number of points allow. Mostly the points are read once. They are read a second time if
//! some of these buckets have no points, then with the numbers of buckets that were counted, if tiles
//! of long buckets are among those of short ones, or if rates leave out values.
//!
//! # Accuracy
//! Results are the same from run to run on the same device. Counts, extremes, first and last values
//! and percentiles are the same on every device. Sums, means, variances, deviations, skewness and
//! kurtosis may differ between devices, within these bounds, with u = 2⁻⁵³ and n finite values x:
//!
//! | | largest error |
//! |---|---|
//! | sum S | 2u·\|S\| + n²u²·Σ\|x\| |
//! | mean | the error of S divided by n, and another rounding |
//! | variance V | (3u + 50·n·k²·u²)·V |
//! | standard deviation D | (3u + 25·n·k²·u²)·D |
//! | skewness G | 12u·\|G\| + 700·n·k²·u²·√n |
//! | excess kurtosis K | (12u + 1200·n·k²·u²)·(\|K\| + t), t = 3 for the population and 3(n − 1)²/((n − 2)(n − 3)) for a sample |
//!
//! k = min(n, 8192) + n/8192 + 64 is the most additions that a value goes through;
//! [resampling](Summaries::resample) adds the number of merged buckets. The second term is below 3u
//! up to 6·10⁶ values for the variance, and up to 10⁷ for the deviation. A result below the normal
//! range has an additional error of up to two units of its last place. The bounds do not depend on
//! the mean, since deviations are taken from a value of the bucket (T. Chan, G. Golub, R. LeVeque,
//! 'Algorithms for Computing the Sample Variance', 1983). Sums carry their rounding errors along
//! (T. Ogita, S. Rump, S. Oishi, 'Accurate Sum and Dot Product', 2005). Very large and very small
//! values are scaled by powers of two, so that no sum or square overflows or underflows before the
//! result does. The sums of cubes and fourth powers for skewness and kurtosis are taken and scaled
//! likewise.
//!
//! # Several devices, and little memory
//! Calls for arrays on the host take a [set](gridstride_runtime::DeviceSet) of devices. Points are cut where
//! buckets begin, into one partition for each device, or into more partitions if the memory of a
//! device or its [limit](gridstride_runtime::Device::with_memory_limit) requires. For rates, a partition also
//! has the last value before its first point. The host does the [sorting](Order::Sort) then. A
//! bucket that is larger than a device's memory is merged from [summaries](Summaries) of its
//! points. Percentiles, rates, bucket counts and user-defined aggregates cannot be merged so: they
//! fail with [`Error::Allocation`](gridstride_runtime::Error::Allocation). Results equal those of one device,
//! except that sums, means and deviations may differ within the bounds above.
//!
//! Calls whose name ends in `_device` take and return arrays in a device's memory. They run on the
//! stream of the timestamps' handle.
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
mod device_offsets;
mod device_output;
mod dispatch;
mod element;
mod fill;
mod gpu;
mod input;
mod method;
mod options;
mod order;
mod output;
mod partition;
pub mod reference;
mod room;
mod states;
mod timeline;
mod values;
mod workspace;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::{
    aggregate, bucket_counts, bucket_counts_device, check_offsets, round_timestamps,
    round_timestamps_device, round_timestamps_device_inplace, round_timestamps_device_into,
    round_timestamps_inplace, round_timestamps_into,
};
pub use custom::Custom;
pub use device_output::{
    DeviceAggregates, DeviceBucketCounts, DeviceCustomAggregates, DeviceSummaries,
};
pub use element::Value;
pub use fill::{Fill, Fills};
#[doc(hidden)]
pub use fill::{MAX_EXACT, is_rounded};
pub use method::{Accuracy, Method, Statistic, Unit};
pub use options::{Duplicates, Nan, Order, Singletons, TimeBuckets};
pub use output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
pub use states::*;
pub use time_series_kernels::{Aggregate, Kernels, Point};
