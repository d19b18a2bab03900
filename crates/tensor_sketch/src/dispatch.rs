//! Dispatch by type of entries and kind of device.

use gridstride_runtime::device::{DeviceKind, zeroed_lazily};
use gridstride_runtime::{Device, Number, Result, partition};

use super::element::Dispatch;
use super::input::{DeviceSketch, HostSketch, Job};
use super::options::{Form, Plan};
use super::session::batch::Engine;
use super::{cpu, gpu};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(devices: &[Device], whole: HostSketch<$type>) -> Result<()> {
                let (job, sequences) = (whole.job, whole.sequences);
                let parts = partition::run(devices, job.operation, whole, |device, sketch| {
                    match device.kind() {
                        DeviceKind::Cpu => {
                            sketch.check_codes()?;
                            cpu::sketch(sketch)
                        }
                        _ => {
                            let policy = job.policy::<$type>(device)?;
                            sketch.require_kernels(&policy)?;
                            match gpu::host(device, &policy, sketch)? {
                                true => Ok(()),
                                false => sketch.check_codes(),
                            }
                        }
                    }
                });
                let check = || job.check_codes(sequences);
                partition::recheck(parts, check).map(|_| ())
            }

            fn device(sketch: DeviceSketch<$type>) -> Result<()> {
                let device = sketch.sequences.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        let mut rows = zeroed_lazily(sketch.out.len())?;
                        cpu::sketch(&mut sketch.download(&mut rows))?;
                        sketch.out.copy_from(&rows)
                    }
                    _ => {
                        let policy = sketch.job.policy::<$type>(device)?;
                        sketch.require_kernels(&policy)?;
                        gpu::device(&policy, sketch)
                    }
                }
            }

            fn engine(job: &Job, device: &Device) -> Result<Box<dyn Engine<$type>>> {
                Ok(match device.kind() {
                    DeviceKind::Cpu => Box::new(cpu::Batches::new(job.tables, job.normalize)),
                    _ => {
                        let policy = job.fourier_policy::<$type>(device)?;
                        Box::new(gpu::Batches::new(device, &policy, job)?)
                    }
                })
            }

            fn plan(job: &Job, device: &Device) -> Result<Plan> {
                let form = match job.form {
                    Form::Auto => Form::Fourier,
                    form => form,
                };
                Ok(Plan {
                    form,
                    number: Self::NAME,
                    details: match device.kind() {
                        DeviceKind::Cpu => cpu::plan(job.tables, form),
                        _ => job.policy::<$type>(device)?.to_string(),
                    },
                })
            }
        }
    )*};
}
dispatch! { f32 f64 }
