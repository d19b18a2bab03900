//! Values that the options leave, and rates.

use time_series_kernels::{self as kernels, Preparation};

use super::{DeviceSeries, HasKernels, MODULE, tuning};
use crate::Result;
use crate::device::{Buffer, DeviceArray};
use crate::time_series::{Aggregation, Duplicates, Nan};
use ndarray::Ix1;

/// The value of each point, or its rate, as an `f64`: with the bits of `ABSENT` where there is none.
pub fn prepared<V: HasKernels>(
    with: &Aggregation,
    series: &DeviceSeries,
    values: &DeviceArray<V, Ix1>,
    makes_rates: bool,
) -> Result<Buffer<f64>> {
    let device = series.device();
    let mut prepared = device.alloc(values.len())?;
    let preparation = Preparation {
        timestamps: series.timestamps.buffer().slice(),
        series_starts: series.starts.slice(),
        duplicates: match with.duplicates {
            Duplicates::Keep => kernels::Duplicates::Keep,
            Duplicates::First => kernels::Duplicates::First,
            Duplicates::Last => kernels::Duplicates::Last,
        },
        skips_nan: u32::from(with.nan == Nan::Skip),
        makes_rates: u32::from(makes_rates),
    };
    let arguments = (preparation, values.buffer().slice(), prepared.slice_mut());
    let config = tuning::grid_stride(values.len());
    // SAFETY: as many timestamps, values and places; buffers are of this device, and freed after the kernel
    // has run.
    unsafe { device.launch(MODULE, V::prepare(), config, arguments)? };
    Ok(prepared)
}
