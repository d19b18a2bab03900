//! Dispatch by element type and kind of device.

use std::slice;

use ndarray::ArrayViewMut3;

use super::cpu::{self, Vector};
use super::element::Dispatch;
use super::gpu::{self, HasKernels};
use super::input::{Job, Rows, Windows};
use super::options::{Form, Plan};
use super::output::check_range;
use super::partition::{SequencesPartition, WindowsPartition};
use super::session::batch::{Batch, Engine};
use super::tables::Tables;
use super::windows;
use crate::device::{Buffer, DeviceKind, append, zeroed, zeroed_lazily};
use crate::sequences::{DeviceSequences, Memory, Sequences, SequencesView};
use crate::{Device, Number, Result, partition};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(
                job: &Job,
                devices: &[Device],
                sequences: SequencesView,
                out: &mut [$type],
            ) -> Result<()> {
                let made = sketch(job, devices, sequences, out);
                partition::recheck(made, || {
                    job.check_code(sequences.first_code_from(job.tables.alphabet_size()))
                })?;
                check_range(job.operation, out, job.entries(), 0, "sequence")
            }

            fn device(
                job: &Job,
                sequences: &DeviceSequences,
                out: &mut Buffer<$type>,
            ) -> Result<()> {
                job.check_code(sequences.largest)?;
                match &sequences.memory {
                    Memory::Host(host) => {
                        let mut entries = zeroed_lazily(out.len())?;
                        cpu::sketch(job, host.view(), view(job, &mut entries))?;
                        out.copy_from(&entries)
                    }
                    Memory::Device(buffers) => gpu::sketch(&sequences.device, job, buffers, out),
                }
            }

            fn windows(
                job: &Job,
                devices: &[Device],
                codes: &[u8],
                windows: Windows,
                out: &mut [$type],
            ) -> Result<()> {
                partition::require_devices(devices, job.operation)?;
                if windows.count == 0 {
                    return Ok(());
                }
                let whole = WindowsPartition {
                    tables: job.tables,
                    codes,
                    windows,
                    sketches: &mut *out,
                };
                partition::run(devices, job.operation, whole, |device, partition| {
                    let (codes, windows) = (partition.codes, partition.windows);
                    let sketches = &mut *partition.sketches;
                    match device.kind() {
                        DeviceKind::Cpu => windows::cpu::sketch(job, codes, windows, sketches),
                        _ => windows::gpu::host(device, job, codes, windows, sketches),
                    }
                })?;
                check_range(job.operation, out, job.tables.dim(), 0, "window")
            }

            fn windows_device(
                job: &Job,
                sequences: &DeviceSequences,
                windows: Windows,
                out: &mut Buffer<$type>,
            ) -> Result<()> {
                job.check_code(sequences.largest)?;
                if windows.count == 0 {
                    return Ok(());
                }
                match &sequences.memory {
                    Memory::Host(host) => {
                        let mut entries = zeroed(out.len())?;
                        windows::cpu::sketch(job, host.codes(), windows, &mut entries)?;
                        out.copy_from(&entries)
                    }
                    Memory::Device(buffers) => {
                        windows::gpu::device(&sequences.device, job, buffers, windows, out)
                    }
                }
            }

            fn engine(job: &Job, device: &Device) -> Result<Box<dyn Engine<$type>>> {
                Ok(match (device.kind(), job.form) {
                    (_, Form::Direct) => {
                        // Before letters come, refuses what the device cannot do.
                        Self::plan(job, device)?;
                        Box::new(WholeSequences {
                            operation: job.operation,
                            tables: job.tables.clone(),
                            normalize: job.normalize,
                            device: device.clone(),
                            begun: Vec::new(),
                        })
                    }
                    (DeviceKind::Cpu, _) => Box::new(cpu::Batches::new(job.tables, job.normalize)),
                    _ => Box::new(gpu::Batches::new(device, job)?),
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
                        _ => gpu::plan::<$type>(device, job)?,
                    },
                })
            }
        }
    )*};
}
dispatch! { f32 f64 }

/// Writes the rows of all sequences. Entries beyond the range of `T` are infinite.
fn sketch<T: Vector + HasKernels>(
    job: &Job,
    devices: &[Device],
    sequences: SequencesView,
    out: &mut [T],
) -> Result<()> {
    let is_direct = job.form == Form::Direct;
    let whole = SequencesPartition {
        sequences,
        entries: job.entries(),
        bytes_per_letter: u64::from(is_direct),
        out,
    };
    let work = |device: &Device, partition: &mut SequencesPartition<T>| {
        let (sequences, out) = (partition.sequences, &mut *partition.out);
        let is_cpu = device.kind() == DeviceKind::Cpu;
        if !is_cpu && !is_direct && gpu::sketch_from_host(device, job, sequences, out)? {
            return Ok(());
        }
        job.check_code(sequences.first_code_from(job.tables.alphabet_size()))?;
        match is_cpu {
            true => cpu::sketch(job, sequences, view(job, out)),
            false => gpu::sketch_uploaded(device, job, sequences, out),
        }
    };
    partition::run(devices, job.operation, whole, work).map(|_| ())
}

/// Returns a view of the shape (number of sequences)×(number of rows)×D.
fn view<'a, T>(job: &Job, entries: &'a mut [T]) -> ArrayViewMut3<'a, T> {
    let count = entries.len() / job.entries();
    let shape = (count, job.row_count(), job.tables.dim());
    ArrayViewMut3::from_shape(shape, entries).expect("rows of whole sequences")
}

/// Keeps the letters of a session's sequence until it ends, and then sketches it as a whole.
struct WholeSequences {
    operation: &'static str,
    tables: Tables,
    normalize: bool,
    device: Device,
    /// The letters of the sequence that has not ended.
    begun: Vec<u8>,
}

impl<T: Vector + HasKernels> Engine<T> for WholeSequences {
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()> {
        let mut sequences = Sequences::new();
        for segment in &batch.segments {
            let letters = batch.letters(segment);
            if segment.ends && !segment.continues {
                sequences.push(letters)?;
                continue;
            }
            append(&mut self.begun, letters)?;
            if segment.ends {
                sequences.push(std::mem::take(&mut self.begun))?;
            }
        }
        let job = Job {
            operation: self.operation,
            tables: &self.tables,
            rows: Rows::Last,
            normalize: self.normalize,
            form: Form::Direct,
            is_of_one: false,
        };
        let mut sketches = zeroed_lazily(sequences.len().saturating_mul(job.entries()))?;
        let devices = slice::from_ref(&self.device);
        sketch(&job, devices, sequences.view(), &mut sketches)?;
        append(rows, &sketches)
    }

    fn drain(&mut self, _: &mut Vec<T>) -> Result<()> {
        Ok(())
    }
}
