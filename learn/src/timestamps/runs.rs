//! Rounded timestamps, and the walks along their runs.

use anyhow::{Result, ensure};
use gridstride::Device;
use gridstride::device::LaunchConfig;
use ladder_kernels::timestamps::{count_runs, round_timestamps, sum_runs};

use super::THREADS;
use super::expected::Expected;
use super::times::Times;
use crate::KERNELS;
use crate::climb::Climb;

/// The kernels that find the buckets by rounded timestamps.
pub fn climb(
    climb: &mut Climb,
    device: &Device,
    times: &Times,
    values: &[f64],
    expected: &Expected,
) -> Result<()> {
    let (n, granularity) = (values.len(), times.granularity);
    let config = LaunchConfig::for_len(n, THREADS);
    let mut rounded = device.buffer_from(&times.timestamps)?;
    let to_round = rounded.slice_mut();
    // Of rounded timestamps it changes nothing, so that it can run many times. SAFETY: a thread for
    // each timestamp, none of which is near the limits of i64; the buffer lives through this
    // function, at the end of which the results of all launches have been read.
    let round =
        || unsafe { device.launch(&KERNELS, &round_timestamps, config, (granularity, to_round)) };
    climb.kernel(
        "round_timestamps",
        "a thread floors a timestamp in place",
        || Ok(round()?),
        |()| check_rounded(times, &rounded.to_vec()?),
    )?;
    climb.occupancy(&round_timestamps, config)?;
    let mut counts = device.alloc::<u32>(n)?;
    let (rounded_slice, counts_slice) = (rounded.slice(), counts.slice_mut());
    climb.kernel(
        "count_uniqs",
        "the thread at the first of a run walks it and counts",
        || {
            let arguments = (rounded_slice, counts_slice);
            // SAFETY: a count and a thread for each timestamp; the buffers live through this
            // function, at the end of which the results of all launches have been read.
            Ok(unsafe { device.launch(&KERNELS, &count_runs, config, arguments) }?)
        },
        |()| expected.check_counts(&counts.to_vec()?),
    )?;
    climb.occupancy(&count_runs, config)?;
    let on_device = device.buffer_from(values)?;
    let mut sums = device.alloc::<f64>(n)?;
    let sums_slice = sums.slice_mut();
    climb.kernel(
        "sum_uniqs",
        "rounding, then the walk sums too: no fixed number of neighbours",
        || {
            round()?;
            let arguments = (rounded_slice, on_device.slice(), counts_slice, sums_slice);
            // SAFETY: a value, a count, a sum and a thread for each timestamp; the buffers live
            // through this function, at the end of which the results of all launches have been
            // read.
            Ok(unsafe { device.launch(&KERNELS, &sum_runs, config, arguments) }?)
        },
        |()| {
            let (counts, sums) = (counts.to_vec()?, sums.to_vec()?);
            expected.check_counts(&counts)?;
            let of_runs = counts.iter().zip(&sums).filter(|(count, _)| **count > 0);
            expected.check_sums(&of_runs.map(|(_, sum)| *sum).collect::<Vec<_>>())
        },
    )
}

fn check_rounded(times: &Times, rounded: &[i64]) -> Result<String> {
    for (timestamp, found) in times.timestamps.iter().zip(rounded) {
        let expected = timestamp.div_euclid(times.granularity) * times.granularity;
        ensure!(
            *found == expected,
            "{timestamp} is rounded to {found}, not {expected}"
        );
    }
    Ok(String::new())
}
