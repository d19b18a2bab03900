//! Values that the options leave, and rates.

use ndarray::Ix1;
use time_series_kernels::{self as kernels, Preparation};

use super::kernels::{HasKernels, MODULE};
use super::timeline::Timeline;
use super::tuning;
use super::workspace::Prepared;
use crate::Result;
use crate::device::{Buffer, DeviceArray};
use crate::time_series::options::{Duplicates, Nan, TimeBuckets};

/// The value of each point, or its rate, as an `f64`: with the bits of `ABSENT` where there is none.
pub fn prepared<V: HasKernels>(
    options: &TimeBuckets,
    timeline: &Timeline,
    values: &DeviceArray<V, Ix1>,
    makes_rates: bool,
) -> Result<Buffer<f64>> {
    let device = timeline.device();
    let mut prepared = Prepared::allocate(device, values.len())?.values;
    let preparation = Preparation {
        timestamps: timeline.timestamps.buffer().slice(),
        series_starts: timeline.starts.slice(),
        duplicates: match options.duplicates {
            Duplicates::Keep => kernels::Duplicates::Keep,
            Duplicates::First => kernels::Duplicates::First,
            Duplicates::Last => kernels::Duplicates::Last,
        },
        skips_nan: u32::from(options.nan == Nan::Skip),
        makes_rates: u32::from(makes_rates),
    };
    let arguments = (preparation, values.buffer().slice(), prepared.slice_mut());
    let config = tuning::grid_stride(values.len());
    // SAFETY: as many timestamps, values and places; buffers are of this device, and freed after the kernel
    // has run.
    unsafe { device.launch(MODULE, V::KERNELS.prepare, config, arguments)? };
    Ok(prepared)
}
