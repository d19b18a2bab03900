//! Dispatch by element type and kind of device.

use std::ops::Range;

use gridstride_runtime::device::{Buffer, DeviceArray, DeviceKind, collected};
use gridstride_runtime::partition::{lack_memory, recheck, require_devices, run_divided};
use gridstride_runtime::{Device, Result};
use ndarray::Ix2;

use super::cpu::{CpuSearch, Lanes};
use super::device_output::DeviceOverlaps;
use super::element::Dispatch;
use super::gpu::{self, GpuSearch, HasKernels};
use super::input::{DeviceProblem, Problem, matrix_size};
use super::output::Overlaps;
use super::partition::{Found, joined};
use super::slices::{self, Search};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host<'a>(
                devices: &[Device],
                problem: Problem<'a, $type>,
            ) -> Result<Box<dyn Search + 'a>> {
                Ok(Box::new(SetSearch::new(devices, problem)?))
            }

            fn host_counts(
                devices: &[Device],
                problem: Problem<$type>,
                counts: &mut [u32],
            ) -> Result<()> {
                if let [device] = devices
                    && device.kind() != DeviceKind::Cpu
                    && gpu::host_counts(device, &problem, counts)?
                {
                    return Ok(());
                }
                SetSearch::new(devices, problem)?.counts(counts)
            }

            fn device(
                problem: DeviceProblem<$type>,
                counts: &mut Buffer<u32>,
            ) -> Result<DeviceOverlaps> {
                let (device, rows) = (problem.device(), 0..problem.rows1());
                match device.kind() {
                    DeviceKind::Cpu => {
                        let found = CpuSearch::new(problem.download()?)?.overlaps(rows)?;
                        counts.copy_from(&collected(found.row_lengths())?)?;
                        DeviceOverlaps::upload(device, &found)
                    }
                    _ => gpu::overlaps(&problem, counts),
                }
            }

            fn device_counts(
                problem: DeviceProblem<$type>,
                counts: &mut Buffer<u32>,
            ) -> Result<()> {
                match problem.device().kind() {
                    DeviceKind::Cpu => {
                        let mut search = CpuSearch::new(problem.download()?)?;
                        counts.copy_from(&slices::counts(&mut search, problem.rows1())?)
                    }
                    _ => gpu::counts(&problem, counts),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 i32 }

/// A search over a set of devices.
struct SetSearch<'a, T: Lanes + HasKernels> {
    devices: Vec<Device>,
    problem: Problem<'a, T>,
    /// The search of the only device, if it has memory for all boxes.
    whole: Option<Box<dyn Search + 'a>>,
}

/// Prepares a search on a device.
fn prepare<'a, T: Lanes + HasKernels>(
    device: &Device,
    problem: &Problem<'a, T>,
) -> Result<Box<dyn Search + 'a>> {
    Ok(match device.kind() {
        DeviceKind::Cpu => Box::new(CpuSearch::new(problem.clone())?),
        _ => Box::new(GpuSearch::new(device, problem)?),
    })
}

impl<'a, T: Lanes + HasKernels> SetSearch<'a, T> {
    fn new(devices: &[Device], problem: Problem<'a, T>) -> Result<Self> {
        require_devices(devices, problem.operation)?;
        let whole = match devices {
            [device] => match prepare(device, &problem) {
                Err(error) if lack_memory(devices, &error) => None,
                whole => Some(whole?),
            },
            _ => None,
        };
        Ok(SetSearch {
            devices: devices.to_vec(),
            problem,
            whole,
        })
    }
}

impl<T: Lanes + HasKernels> Search for SetSearch<'_, T> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        if let Some(whole) = &mut self.whole {
            return whole.counts(counts);
        }
        let (devices, problem) = (&self.devices, &self.problem);
        let parts = problem.divided(0..counts.len(), devices.len());
        let found = run_divided(devices, problem.operation, parts, |device, part| {
            let counts = slices::counts(&mut *prepare(device, part)?, part.rows1())?;
            Ok(Found::new(part, counts))
        });
        counts.fill(0);
        for found in recheck(found, || problem.check())? {
            for (count, more) in counts[found.rows].iter_mut().zip(found.result) {
                *count += more;
            }
        }
        Ok(())
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        let (devices, problem) = (&self.devices, &self.problem);
        if let Some(whole) = &mut self.whole {
            match whole.overlaps(rows.clone()) {
                Err(error) if lack_memory(devices, &error) => self.whole = None,
                found => return found,
            }
        }
        let parts = problem.divided(rows.clone(), devices.len());
        let found = run_divided(devices, problem.operation, parts, |device, part| {
            let found = prepare(device, part)?.overlaps(0..part.rows1())?;
            Ok(Found::new(part, found))
        });
        joined(rows, recheck(found, || problem.check())?)
    }
}

/// Returns the list of pairs of compressed rows.
pub fn pair_list(found: &DeviceOverlaps) -> Result<DeviceArray<u32, Ix2>> {
    let device = found.device();
    match device.kind() {
        DeviceKind::Cpu => device.upload(&found.download()?.pairs()?),
        _ => gpu::pair_list(found),
    }
}

/// Returns the matrix of compressed rows, with `limit` columns.
pub fn matrix(
    operation: &'static str,
    found: &DeviceOverlaps,
    limit: usize,
) -> Result<DeviceArray<i32, Ix2>> {
    let device = found.device();
    let size = matrix_size(operation, device.memory_kind(), (found.len(), limit))?;
    match device.kind() {
        DeviceKind::Cpu => device.upload(&found.download()?.matrix(operation, limit)?.indices),
        _ => gpu::matrix(found, limit, size),
    }
}
