//! The sequences whose slide distances are computed, and the checks of their shapes.

use ndarray::ArrayViewMut2;

use super::windows::{DeviceWindows, Windows};
use crate::device::Buffer;
use crate::distances::options::Metric;
use crate::{Error, Result};

/// Pairs of sequences, and the place for their distances.
pub struct Slides<W, Out> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    pub a: W,
    pub b: W,
    pub pairs: Pairing,
    /// N×M, or N×1 for [`Pairing::Each`].
    pub out: Out,
}

/// Pairs of sequences of host arrays.
pub type HostSlides<'a, T> = Slides<Windows<'a, T>, ArrayViewMut2<'a, f64>>;

/// Pairs of sequences in a device's memory. The result is row-major.
pub type DeviceSlides<'a, T> = Slides<DeviceWindows<'a, T>, &'a mut Buffer<f64>>;

/// Which sequences are compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Pairing {
    /// All sequences of `a` with all of `b`.
    All,
    /// Each sequence of `a` with the sequence of `b` that has its index.
    Each,
}

/// Checks the number of sequences in `a` and `b`, and the numbers of their windows. Returns the
/// shape of the result.
pub fn shape(
    operation: &'static str,
    pairs: Pairing,
    (sequences_a, dim_a): (usize, usize),
    (sequences_b, dim_b): (usize, usize),
) -> Result<(usize, usize)> {
    let refuse = |message| Err(Error::Shape { operation, message });
    if dim_a != dim_b {
        return refuse(format!(
            "the windows of a have {dim_a} numbers and those of b {dim_b}: they must have the same \
             length"
        ));
    }
    match pairs {
        Pairing::All => Ok((sequences_a, sequences_b)),
        Pairing::Each if sequences_a == sequences_b => Ok((sequences_a, 1)),
        Pairing::Each => refuse(format!(
            "a has {sequences_a} sequences and b {sequences_b}: pairs need as many of both"
        )),
    }
}

/// Checks the shape of an existing result.
pub fn require_out(operation: &'static str, expected: &[usize], out: &[usize]) -> Result<()> {
    if out == expected {
        return Ok(());
    }
    let shape = |lengths: &[usize]| match lengths {
        [length] => length.to_string(),
        _ => format!("{}×{}", lengths[0], lengths[1]),
    };
    let (expected, out) = (shape(expected), shape(out));
    let message = format!("the distances are {expected}, but out is {out}");
    Err(Error::Shape { operation, message })
}
