//! The arguments: points of series, on the host or on a device, with all checks.

use std::borrow::Cow;

use gridstride_runtime::device::{Buffer, Device, DeviceArray, Element, collected};
use gridstride_runtime::error::During;
use gridstride_runtime::{Error, Result, offsets};
use ndarray::{ArrayView1, ArrayViewMut1, Ix1};
use time_series_kernels::Floor;

use super::method::Method;
use super::options::TimeBuckets;
use super::values::{HostValue, Values};

/// The most points of a call: their indices have 32 bits.
const MAX_POINTS: usize = u32::MAX as usize;

/// Series one after the other, on the host: a value for each timestamp, and one offset more than
/// series.
#[derive(Clone)]
pub struct Series<'a> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub options: Cow<'a, TimeBuckets>,
    pub floor: Floor,
    pub offsets: Cow<'a, [usize]>,
    pub timestamps: Cow<'a, [i64]>,
    pub values: Values<'a>,
}

impl<'a> Series<'a> {
    /// Checks the arguments. Views without gaps are not copied.
    pub fn new<T: HostValue>(
        operation: &'static str,
        options: &'a TimeBuckets,
        offsets: &'a [usize],
        timestamps: ArrayView1<'a, i64>,
        values: ArrayView1<'a, T>,
    ) -> Result<Series<'a>> {
        let count = values.len();
        let series = Series::without_values(operation, options, offsets, timestamps, count)?;
        let values = T::values(packed(values).during(operation)?);
        Ok(Series { values, ..series })
    }

    /// As [`new`](Self::new), but leaves out the values: checks only how many there are.
    pub fn without_values(
        operation: &'static str,
        options: &'a TimeBuckets,
        offsets: &'a [usize],
        timestamps: ArrayView1<'a, i64>,
        value_count: usize,
    ) -> Result<Series<'a>> {
        let lengths = [timestamps.len(), value_count];
        Ok(Series {
            operation,
            options: Cow::Borrowed(options),
            floor: checked(operation, options, offsets, lengths)?,
            offsets: offsets.into(),
            timestamps: packed(timestamps).during(operation)?,
            values: Values::None,
        })
    }

    /// Returns the number of series.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn borrowed(&self) -> Series<'_> {
        Series {
            operation: self.operation,
            options: Cow::Borrowed(&self.options),
            floor: self.floor,
            offsets: Cow::Borrowed(&self.offsets),
            timestamps: Cow::Borrowed(&self.timestamps),
            values: self.values.range(0..self.timestamps.len()),
        }
    }
}

/// Series in the memory of a device, with the offsets on the host.
#[derive(Clone, Copy)]
pub struct DeviceSeries<'a, T: Element> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub options: &'a TimeBuckets,
    pub floor: Floor,
    pub offsets: &'a [usize],
    pub timestamps: &'a DeviceArray<i64, Ix1>,
    pub values: &'a DeviceArray<T, Ix1>,
}

impl<'a, T: Element> DeviceSeries<'a, T> {
    pub fn new(
        operation: &'static str,
        options: &'a TimeBuckets,
        offsets: &'a [usize],
        timestamps: &'a DeviceArray<i64, Ix1>,
        values: &'a DeviceArray<T, Ix1>,
    ) -> Result<DeviceSeries<'a, T>> {
        let lengths = [timestamps.len(), values.len()];
        let device = timestamps.device();
        device.require_same(values.device(), operation)?;
        Ok(DeviceSeries {
            operation,
            options,
            floor: checked(operation, options, offsets, lengths)?,
            offsets,
            timestamps,
            values,
        })
    }

    /// Returns the handle on whose stream the work runs.
    pub fn device(&self) -> &'a Device {
        self.timestamps.device()
    }
}

impl<'a, T: HostValue> DeviceSeries<'a, T> {
    /// Copies the series to the host.
    pub fn download(&self) -> Result<Series<'a>> {
        Ok(Series {
            operation: self.operation,
            options: Cow::Borrowed(self.options),
            floor: self.floor,
            offsets: self.offsets.into(),
            timestamps: self.timestamps.buffer().to_vec()?.into(),
            values: T::values(self.values.buffer().to_vec()?.into()),
        })
    }
}

/// Timestamps of one series in the memory of a device, without values.
pub struct DeviceTimestamps<'a> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub floor: Floor,
    pub timestamps: &'a DeviceArray<i64, Ix1>,
}

impl<'a> DeviceTimestamps<'a> {
    pub fn new(
        operation: &'static str,
        (every, origin): (i64, i64),
        timestamps: &'a DeviceArray<i64, Ix1>,
    ) -> Result<Self> {
        let floor = floor(operation, every, origin)?;
        require_count(operation, timestamps.len())?;
        Ok(DeviceTimestamps {
            operation,
            floor,
            timestamps,
        })
    }
}

/// Timestamps on the host, and a place for each rounded timestamp.
pub struct Rounding<'a> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub floor: Floor,
    pub timestamps: ArrayView1<'a, i64>,
    pub out: ArrayViewMut1<'a, i64>,
}

impl<'a> Rounding<'a> {
    pub fn new(
        operation: &'static str,
        floor: Floor,
        timestamps: ArrayView1<'a, i64>,
        out: ArrayViewMut1<'a, i64>,
    ) -> Result<Rounding<'a>> {
        require_length(operation, timestamps.len(), out.len())?;
        Ok(Rounding {
            operation,
            floor,
            timestamps,
            out,
        })
    }
}

/// Timestamps in the memory of a device, which are rounded in place on the stream of `device`.
pub struct DeviceRounding<'a> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub floor: Floor,
    pub device: &'a Device,
    pub timestamps: &'a mut Buffer<i64>,
}

/// Checks all arguments except the points, and returns the rounding of timestamps.
fn checked(
    operation: &'static str,
    options: &TimeBuckets,
    offsets: &[usize],
    [timestamps, values]: [usize; 2],
) -> Result<Floor> {
    let floor = floor(operation, options.every, options.origin)?;
    let check = |method: &Method| method.check(operation);
    options.methods.iter().try_for_each(check)?;
    options.fill.check(operation, &options.methods)?;
    if timestamps != values {
        let message = format!(
            "the number of timestamps is {timestamps}, the number of values {values}: they must be equal"
        );
        return Err(Error::Shape { operation, message });
    }
    require_count(operation, timestamps)?;
    offsets::check(operation, offsets, timestamps, "points")?;
    Ok(floor)
}

/// Returns the rounding of timestamps down to the starts of their buckets.
pub fn floor(operation: &'static str, every: i64, origin: i64) -> Result<Floor> {
    Floor::new(every, origin).ok_or_else(|| {
        let message = format!("every is {every}, and has to be 1 at least");
        Error::input(operation, message)
    })
}

fn require_count(operation: &'static str, points: usize) -> Result<()> {
    if points <= MAX_POINTS {
        return Ok(());
    }
    let message = format!("{points} points are more than {MAX_POINTS}");
    Err(Error::input(operation, message))
}

/// Returns the rounding to buckets that are made of buckets of length `of`.
pub fn coarser(operation: &'static str, of: i64, every: i64, origin: i64) -> Result<Floor> {
    if every < of || every % of != 0 {
        let message =
            format!("every is {every}, which is not a multiple of that of the summaries, {of}");
        return Err(Error::input(operation, message));
    }
    floor(operation, every, origin)
}

/// Returns the error for a method that summaries do not have.
pub fn no_statistic(operation: &'static str, method: Method, has: fn(Method) -> bool) -> Error {
    let told = Method::ALL.iter().filter(|method| has(**method));
    let told: Vec<_> = told.map(Method::to_string).collect();
    let message = format!(
        "summaries do not tell {method}: they have neither percentiles nor rates, but {}",
        told.join(", ")
    );
    Error::input(operation, message)
}

/// Checks that a result has a place for each timestamp.
pub fn require_length(operation: &'static str, timestamps: usize, out: usize) -> Result<()> {
    if timestamps == out {
        return Ok(());
    }
    let message = format!("there are {timestamps} timestamps, but out has {out} elements");
    Err(Error::Shape { operation, message })
}

/// Checks that existing columns have a row for each method, and that all rows have the same room.
pub fn require_rows(
    operation: &'static str,
    methods: usize,
    starts: usize,
    columns: (usize, usize),
) -> Result<()> {
    if columns == (methods, starts) {
        return Ok(());
    }
    let message = format!(
        "columns has the shape {:?} and starts {starts} elements: columns needs a row for each of the {methods} \
         methods, each as long as starts",
        [columns.0, columns.1],
    );
    Err(Error::Shape { operation, message })
}

/// Checks that existing arrays have room for all buckets.
pub fn require_room(operation: &'static str, buckets: usize, room: usize) -> Result<()> {
    if buckets <= room {
        return Ok(());
    }
    let message = format!(
        "there are {buckets} buckets, but starts and columns have room for {room}: make them longer"
    );
    Err(Error::Shape { operation, message })
}

/// Returns the elements in order, copied if the view has gaps.
pub fn packed<T: Clone>(view: ArrayView1<'_, T>) -> Result<Cow<'_, [T]>> {
    Ok(match view.to_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(collected(view.iter().cloned())?),
    })
}

/// Returns the series of a point: the last series that begins at or before the point, since empty
/// series begin where the next series does.
pub fn series_of(offsets: &[usize], point: usize) -> usize {
    offsets.partition_point(|&offset| offset <= point) - 1
}

/// Returns an error for the first timestamp whose bucket has no label.
pub fn require_labels<'a>(
    operation: &'static str,
    timestamps: impl IntoIterator<Item = &'a i64>,
    floor: &Floor,
) -> Result<()> {
    let mut numbered = timestamps.into_iter().enumerate();
    match numbered.find(|&(_, &timestamp)| timestamp < floor.lowest()) {
        Some((index, &timestamp)) => Err(without_label(operation, index, timestamp, floor)),
        None => Ok(()),
    }
}

/// Returns the error for a timestamp whose bucket has no label.
pub fn without_label(
    operation: &'static str,
    index: usize,
    timestamp: i64,
    floor: &Floor,
) -> Error {
    let message = format!(
        "the bucket of timestamp {timestamp}, at index {index}, begins before the first i64; the first label is {}",
        floor.lowest()
    );
    Error::input_at(operation, "timestamps", index, message)
}

/// Returns the error for a timestamp below the timestamp before it in its series.
pub fn out_of_order(
    operation: &'static str,
    offsets: &[usize],
    index: usize,
    before: i64,
    timestamp: i64,
) -> Error {
    let series = series_of(offsets, index);
    let of_series = match offsets.len() {
        2 => String::new(),
        _ => format!(" of series {series}"),
    };
    let advice = match operation {
        // These calls have no options.
        "bucket_counts" | "bucket_counts_device" => "sort them first",
        _ => "sort them, or use TimeBuckets::order(Order::Sort)",
    };
    let message = format!(
        "timestamp {timestamp} at index {index}{of_series} is below the one before it, {before}: \
         points have to be in the order of time: {advice}"
    );
    Error::input_at(operation, "timestamps", index, message)
}
