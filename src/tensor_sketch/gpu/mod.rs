//! Buffers and launches of the kernels, the same for GPU and simulator.

mod direct;
mod fourier;
mod layout;
mod letters;
pub(super) mod stream;
mod tuning;
pub(super) mod windows;

use tensor_sketch_kernels::NEGATIVE;

pub use fourier::Kernels;
pub(super) use letters::SequenceBuffers;

use super::{Form, OPERATION, Real, Rows, Tables, invalid_input};
use crate::device::{Buffer, Element};
use crate::{Device, Result};

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
            let sketches = direct::sketch(device, job, sequences)?;
            same_type(sketches).ok_or_else(|| {
                let message = format!(
                    "on {device} the direct form computes in f32 alone: take the Fourier form"
                );
                invalid_input(OPERATION, message)
            })
        }
    }
}

/// The buffer itself, if it is of that type.
fn same_type<A: Element, B: Element>(buffer: Buffer<A>) -> Option<Buffer<B>> {
    (Box::new(buffer) as Box<dyn std::any::Any>)
        .downcast()
        .ok()
        .map(|buffer| *buffer)
}

/// Rotation and sign in one word each, letter after letter.
fn pack_tables(tables: &Tables) -> Vec<u32> {
    let entries = tables.hashes().into_iter().zip(tables.signs());
    entries
        .map(|(&hash, &sign)| if sign < 0 { hash | NEGATIVE } else { hash })
        .collect()
}
