//! Dispatch by element type and kind of device.

use std::ops::Range;

use gridstride_runtime::device::{Buffer, DeviceArray, DeviceKind, collected};
use gridstride_runtime::partition::{lack_memory, recheck, require_devices, run_divided};
use gridstride_runtime::{Device, Result};
use ndarray::Ix2;

use super::cpu::{CpuSearch, HasKey};
use super::device_output::DeviceOverlaps;
use super::element::Dispatch;
use super::gpu::{self, GpuSearch, HasKernels};
use super::input::{DeviceProblem, Problem, matrix_size};
use super::output::Overlaps;
use super::partition::{PartitionResult, SearchPartition, joined};
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

/// Sets of boxes of any type of coordinates.
trait AnyProblem<'a>: Send + Sync {
    /// Prepares a search of a partition on a device.
    fn prepare(&self, device: &Device, part: &SearchPartition) -> Result<Box<dyn Search + 'a>>;

    /// Fails for the first row that is no box.
    fn check(&self) -> Result<()>;
}

impl<'a, T: HasKey + HasKernels> AnyProblem<'a> for Problem<'a, T> {
    fn prepare(&self, device: &Device, part: &SearchPartition) -> Result<Box<dyn Search + 'a>> {
        let problem = self.of_partition(part);
        Ok(match device.kind() {
            DeviceKind::Cpu => Box::new(CpuSearch::new(problem)?),
            _ => Box::new(GpuSearch::new(device, &problem)?),
        })
    }

    fn check(&self) -> Result<()> {
        Problem::check(self)
    }
}

/// A search over a set of devices.
struct SetSearch<'a> {
    operation: &'static str,
    devices: Vec<Device>,
    problem: Box<dyn AnyProblem<'a> + 'a>,
    /// The partition that is the whole problem.
    all: SearchPartition,
    /// The search of the only device, if it has memory for all boxes.
    whole: Option<Box<dyn Search + 'a>>,
}

impl<'a> SetSearch<'a> {
    fn new<T: HasKey + HasKernels>(devices: &[Device], problem: Problem<'a, T>) -> Result<Self> {
        let (operation, all) = (problem.operation, problem.whole());
        SetSearch::of_any(devices, operation, all, Box::new(problem))
    }

    fn of_any(
        devices: &[Device],
        operation: &'static str,
        all: SearchPartition,
        problem: Box<dyn AnyProblem<'a> + 'a>,
    ) -> Result<Self> {
        require_devices(devices, operation)?;
        let whole = match devices {
            [device] => match problem.prepare(device, &all) {
                Err(error) if lack_memory(devices, &error) => None,
                whole => Some(whole?),
            },
            _ => None,
        };
        Ok(SetSearch {
            operation,
            devices: devices.to_vec(),
            problem,
            all,
            whole,
        })
    }

    /// Searches each partition of `rows`.
    fn partitions<R: Send>(
        &self,
        rows: Range<usize>,
        search: impl Fn(&mut dyn Search, usize) -> Result<R> + Sync,
    ) -> Result<Vec<PartitionResult<R>>> {
        let (devices, problem) = (&self.devices, &self.problem);
        let parts = self.all.divided(rows, devices.len());
        let found = run_divided(devices, self.operation, parts, |device, part| {
            let found = search(&mut *problem.prepare(device, part)?, part.rows.len())?;
            Ok(PartitionResult::new(part, found))
        });
        recheck(found, || problem.check())
    }
}

impl Search for SetSearch<'_> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        if let Some(whole) = &mut self.whole {
            return whole.counts(counts);
        }
        let found = self.partitions(0..counts.len(), slices::counts)?;
        counts.fill(0);
        for PartitionResult { rows, result, .. } in found {
            for (count, more) in counts[rows].iter_mut().zip(result) {
                *count += more;
            }
        }
        Ok(())
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        if let Some(whole) = &mut self.whole {
            match whole.overlaps(rows.clone()) {
                Err(error) if lack_memory(&self.devices, &error) => self.whole = None,
                found => return found,
            }
        }
        let found = self.partitions(rows.clone(), |search, rows| search.overlaps(0..rows))?;
        joined(rows, found)
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
