//! The timing of a version of a ladder.

use std::time::{Duration, Instant};

use anyhow::Result;
use gridstride::device::DeviceKind;

use super::rows::Clock;
use super::setup::Setup;

/// A run that takes at least this long is the only one that is timed.
const LONG: Duration = Duration::from_secs(1);

/// Returns the times of `runs` runs, sorted, and the last result. A first run is not timed, because
/// it loads kernels.
///
/// Work that takes long has a single time: that of the first run, or of a second one on a GPU, since
/// the driver may have compiled kernels in the first.
///
/// # Errors
/// The errors of `work`.
pub fn times<R>(
    setup: &Setup,
    runs: usize,
    clock: Clock,
    uses_device: bool,
    mut work: impl FnMut() -> Result<R>,
) -> Result<(Vec<Duration>, R)> {
    let device = &setup.device;
    let (start, end) = (device.event()?, device.event()?);
    let mut run = || -> Result<(Duration, R)> {
        device.synchronize()?;
        match clock {
            Clock::WholeCall => {
                let begin = Instant::now();
                let found = work()?;
                device.synchronize()?;
                Ok((begin.elapsed(), found))
            }
            Clock::Kernel => {
                device.record(&start)?;
                let found = work()?;
                device.record(&end)?;
                Ok((end.elapsed_since(&start)?, found))
            }
        }
    };
    let mut first = run()?;
    let compiles = uses_device && matches!(device.kind(), DeviceKind::Cuda { .. });
    if compiles && first.0 >= LONG && runs > 0 {
        drop(first);
        first = run()?;
    }
    if first.0 >= LONG || runs == 0 {
        return Ok((vec![first.0], first.1));
    }
    let (mut times, mut last) = (Vec::new(), first.1);
    for _ in 0..runs {
        drop(last);
        let (time, found) = run()?;
        times.push(time);
        last = found;
    }
    times.sort();
    Ok((times, last))
}
