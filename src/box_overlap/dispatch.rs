//! Dispatch by element type and kind of device.

use super::cpu::{self, CpuSearch};
use super::device_output::DeviceOverlaps;
use super::element::Dispatch;
use super::gpu::{self, GpuSearch};
use super::input::{DeviceProblem, Problem};
use super::partition;
use super::slices::{self, Search};
use crate::device::{Buffer, DeviceKind, collected};
use crate::{Device, Result};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host<'a>(
                devices: &[Device],
                problem: Problem<'a, $type>,
            ) -> Result<Box<dyn Search + 'a>> {
                partition::search(devices, problem, |device, problem| match device.kind() {
                    DeviceKind::Cpu => Ok(Box::new(CpuSearch::new(problem)?)),
                    _ => Ok(Box::new(GpuSearch::new(device, &problem)?)),
                })
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
                Self::host(devices, problem)?.counts(counts)
            }

            fn device(
                problem: DeviceProblem<$type>,
                counts: &mut Buffer<u32>,
            ) -> Result<DeviceOverlaps> {
                if problem.device().kind() != DeviceKind::Cpu {
                    let (offsets, indices) = gpu::overlaps(&problem, counts)?;
                    return DeviceOverlaps::new(offsets, indices);
                }
                let found = cpu::resident(&problem, |search, rows| search.overlaps(0..rows))?;
                counts.copy_from(&collected(found.row_lengths())?)?;
                DeviceOverlaps::upload(problem.device(), &found)
            }

            fn device_counts(
                problem: DeviceProblem<$type>,
                counts: &mut Buffer<u32>,
            ) -> Result<()> {
                if problem.device().kind() != DeviceKind::Cpu {
                    return gpu::counts(&problem, counts);
                }
                let count = |search: &mut CpuSearch<_>, rows| slices::counts(search, rows);
                counts.copy_from(&cpu::resident(&problem, count)?)
            }
        }
    )*};
}
dispatch! { f32 f64 i32 }
