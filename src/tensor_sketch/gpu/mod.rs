//! Buffers and launches of the kernels, the same for GPU and simulator.

mod direct;
mod fourier;
mod layout;
mod letters;
pub(super) mod stream;
mod tuning;
pub(super) mod windows;

use std::any::Any;

use tensor_sketch_kernels::NEGATIVE;

pub use fourier::Kernels;
pub(super) use fourier::sketch_from_host;
pub(super) use letters::SequenceBuffers;

use super::{Form, OPERATION, Real, Rows, Tables};
use crate::device::Buffer;
use crate::{Device, Error, Result};

/// What is to be sketched, and how.
pub(super) struct Job<'a> {
    pub tables: &'a Tables,
    pub rows: Rows,
    pub normalize: bool,
    pub form: Form,
}

/// The sketches of all sequences: row t alone, or rows 0 to t, sequence after sequence.
///
/// The device runs kernels and holds `sequences`, whose codes are below the alphabet's size.
pub(super) fn sketch<T: Real>(
    device: &Device,
    job: &Job,
    sequences: &SequenceBuffers,
) -> Result<Buffer<T>> {
    match job.form {
        Form::Auto | Form::Fourier => fourier::sketch(device, job, sequences),
        Form::Direct => {
            require_single::<T>(device)?;
            let sketches: Box<dyn Any> = Box::new(direct::sketch(device, job, sequences)?);
            Ok(*sketches.downcast().expect("both are f32"))
        }
    }
}

/// The direct form has kernels for `f32` alone.
fn require_single<T: Real>(device: &Device) -> Result<()> {
    if size_of::<T>() == size_of::<f32>() {
        return Ok(());
    }
    let message =
        format!("on {device} the direct form computes in f32 alone: take the Fourier form");
    Err(Error::input(OPERATION, message))
}

/// How it is done, for people.
pub(super) fn plan<T: Real>(device: &Device, tables: &Tables, form: Form) -> Result<String> {
    match form {
        Form::Auto | Form::Fourier => Ok(fourier::policy::<T>(device, tables)?.to_string()),
        Form::Direct => {
            require_single::<T>(device)?;
            direct::plan(device, tables)
        }
    }
}

/// Rotation and sign in one word each, letter after letter.
fn pack_tables(tables: &Tables) -> Vec<u32> {
    let entries = tables.hashes().into_iter().zip(tables.signs());
    entries
        .map(|(&hash, &sign)| if sign < 0 { hash | NEGATIVE } else { hash })
        .collect()
}
