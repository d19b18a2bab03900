//! The direct form: one block for each sequence.

use std::cmp::Reverse;

use tensor_sketch_kernels::{Arrays, Parameters};

use super::kernels::{Direct, HasKernels};
use super::pack_tables;
use super::tuning::DirectPolicy;
use crate::device::{Buffer, LaunchConfig, collected, reserve};
use crate::sequences::SequenceBuffers;
use crate::tensor_sketch::input::{Job, Rows};
use crate::tensor_sketch::options::{binomial, divisor};
use crate::{Device, Error, Result, modules};

/// Writes the rows of all sequences, whose codes are below the alphabet's size.
pub fn sketch<T: HasKernels>(
    device: &Device,
    job: &Job,
    sequences: &SequenceBuffers,
    out: &mut Buffer<T>,
) -> Result<()> {
    let kernels = kernels::<T>(device, job)?;
    let tuple = job.tables.tuple_length();
    let lengths = collected(sequences.lengths())?;
    let count = lengths.len();
    if count == 0 {
        return Ok(());
    }
    // The longest first, so that no long sequence is left for the end.
    let mut order = collected(0..grid_size(job, count)?)?;
    order.sort_unstable_by_key(|&sequence| Reverse(lengths[sequence as usize]));
    let longest = lengths[order[0] as usize];
    let exponent = step_exponent(longest, tuple).ok_or_else(|| {
        let message = format!(
            "a sequence of {longest} letters is too long for tuples of {tuple}: take the device cpu"
        );
        Error::input(job.operation, message)
    })?;
    let parameters = Parameters {
        bits: sequences.letters.bits,
        step: power_of_two(-exponent) as f32,
        ..parameters(job)
    };
    let policy = DirectPolicy::new(&parameters);
    let shared_bytes = shared_bytes(&policy, job, device)?;
    let packed = device.buffer_from(&pack_tables(job.tables))?;
    let scales = device.buffer_from(&scales(&lengths, tuple, exponent, job.normalize)?)?;
    let offsets = device.buffer_from(&sequences.offsets)?;
    let order = device.buffer_from(&order)?;
    let config = LaunchConfig::new(count as u32, (policy.lanes, parameters.tuple))
        .with_shared_bytes(shared_bytes);
    let arrays = Arrays {
        letters: sequences.letters.buffer.slice(),
        offsets: offsets.slice(),
        order: order.slice(),
        tables: packed.slice(),
        scales: scales.slice(),
        out: out.slice_mut(),
    };
    let kernel = kernels.iter().find(|(values, _)| *values == policy.values);
    let (_, kernel) = kernel.expect("tuning chooses from these");
    let arguments = (parameters, arrays);
    // SAFETY: offsets, order, tables and scales are made as the kernel asks, codes are checked by
    // the caller, the block and its shared memory are the policy's, and `out` has its rows. The
    // buffers are of this device, and freeing them waits for the kernel.
    unsafe { device.launch(&modules::TENSOR_SKETCH, kernel, config, arguments) }
}

/// Returns a readable description of the launch.
pub fn plan<T: HasKernels>(device: &Device, job: &Job) -> Result<String> {
    kernels::<T>(device, job)?;
    let policy = DirectPolicy::new(&parameters(job));
    let shared_bytes = shared_bytes(&policy, job, device)?;
    Ok(format!(
        "{} threads of {} values for each row, {shared_bytes} bytes of shared memory",
        policy.lanes, policy.values
    ))
}

/// Returns the parameters for letters of 8 bits and steps that are not scaled.
fn parameters(job: &Job) -> Parameters {
    Parameters {
        alphabet: job.tables.alphabet_size() as u32,
        tuple: job.tables.tuple_length() as u32,
        dim: job.tables.dim() as u32,
        bits: 8,
        all_rows: u32::from(matches!(job.rows, Rows::All)),
        step: 1.0,
    }
}

/// Returns the number of sequences as the number of a grid's blocks.
fn grid_size(job: &Job, count: usize) -> Result<u32> {
    let blocks = i32::try_from(count).map(|blocks| blocks as u32);
    blocks.map_err(|_| {
        let message = format!("{count} sequences are more than a grid's 2147483647 blocks");
        Error::input(job.operation, message)
    })
}

/// Returns the kernels by values per thread. Only `f32` has kernels of the direct form.
fn kernels<T: HasKernels>(
    device: &Device,
    job: &Job,
) -> Result<&'static [(u32, &'static Direct<T>)]> {
    T::KERNELS.direct.ok_or_else(|| {
        let message =
            format!("on {device} the direct form computes in f32 alone: take the Fourier form");
        Error::input(job.operation, message)
    })
}

fn shared_bytes(policy: &DirectPolicy, job: &Job, device: &Device) -> Result<u32> {
    let (tables, bytes) = (job.tables, policy.shared_bytes);
    let available = device.shared_memory_per_block().unwrap_or(0);
    if bytes <= u64::from(available) {
        return Ok(bytes as u32);
    }
    let (alphabet, tuple, dim) = (tables.alphabet_size(), tables.tuple_length(), tables.dim());
    let message = format!(
        "{alphabet} letters, tuples of {tuple} and dimension {dim} need {bytes} bytes of shared \
         memory per block, and {device} has {available}: take a smaller dimension or the Fourier \
         form"
    );
    Err(Error::input(job.operation, message))
}

/// The exponent of the largest sum that the kernel may reach: far enough below `f32`'s 2¹²⁸ that
/// rounding does not matter.
const MAX_EXPONENT: f64 = 126.0;

/// Returns the smallest e ≥ 0 such that row k, at most C(n, k) · 2^(−e·k), stays within `f32`'s
/// range for every k up to t.
///
/// Scaling by a power of two changes no rounding if the smallest entry of row t, 2^(−e·t), is a
/// normal number. All sequences of fewer than 2³² letters have one: e is at most 15 for t = 8. Much
/// longer sequences give `None`.
fn step_exponent(longest: u64, tuple: usize) -> Option<i32> {
    let needed = |k: usize| (binomial(longest, k as u64).max(1.0).log2() - MAX_EXPONENT) / k as f64;
    let exponent = (1..=tuple).map(needed).fold(0.0, f64::max).ceil() as i32;
    (exponent * tuple as i32 <= -f32::MIN_EXP).then_some(exponent)
}

/// Returns the factors of rows 0 to t of each sequence, which undo the powers of two, and divide by
/// C(n, k) if sketches are normalised.
fn scales(lengths: &[u64], tuple: usize, exponent: i32, normalize: bool) -> Result<Vec<f32>> {
    let scale =
        |n: u64, k: usize| (power_of_two(exponent * k as i32) / divisor(normalize, n, k)) as f32;
    let mut scales = Vec::new();
    reserve(&mut scales, lengths.len() * (tuple + 1))?;
    for &length in lengths {
        scales.extend((0..=tuple).map(|k| scale(length, k)));
    }
    Ok(scales)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_in_range() {
        assert!(step_exponent(1 << 36, 8).is_none());
        assert_eq!(step_exponent(0, 8).unwrap(), 0);
        assert_eq!(step_exponent(1 << 31, 4).unwrap(), 0);
        for n in [300_000u64, 1 << 24, 1 << 32] {
            for tuple in 1..=8 {
                let e = step_exponent(n, tuple).unwrap();
                assert!((0..=15).contains(&e));
                for k in 1..=tuple {
                    let largest = binomial(n, k as u64) * power_of_two(-e * k as i32);
                    assert!(
                        largest <= MAX_EXPONENT.exp2(),
                        "n = {n}, t = {tuple}, k = {k}"
                    );
                }
            }
        }
    }

    #[test]
    fn scales_take_the_powers_back() {
        assert_eq!(scales(&[10], 2, 0, false).unwrap(), [1.0, 1.0, 1.0]);
        assert_eq!(scales(&[10], 2, 3, false).unwrap(), [1.0, 8.0, 64.0]);
        assert_eq!(
            scales(&[10, 1], 2, 0, true).unwrap(),
            [1.0, 0.1, 1.0 / 45.0, 1.0, 1.0, 1.0]
        );
    }
}
