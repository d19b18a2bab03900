//! The direct form: one block for each sequence.

use std::cmp::Reverse;

use cuda_std::host::Kernel;
use tensor_sketch_kernels::{self as kernels, Arrays, Parameters};

use super::letters::SequenceBuffers;
use super::tuning::direct::Policy;
use super::{Job, pack_tables};
use crate::device::{Buffer, LaunchConfig, collected, reserve};
use crate::tensor_sketch::{OPERATION, Rows, Tables, binomial};
use crate::{Device, Error, Result, modules};

type DirectKernel = Kernel<(Parameters, Arrays)>;

/// The sketches of all sequences: row t alone, or rows 0 to t, sequence after sequence.
///
/// The device runs kernels and holds `sequences`, whose codes are below the alphabet's size.
pub(super) fn sketch(
    device: &Device,
    job: &Job,
    sequences: &SequenceBuffers,
) -> Result<Buffer<f32>> {
    let tables = job.tables;
    let (tuple, dim) = (tables.tuple_length(), tables.dim());
    let lengths = collected(sequences.lengths())?;
    let count = lengths.len();
    let all_rows = matches!(job.rows, Rows::All);
    let rows = if all_rows { tuple + 1 } else { 1 };
    let mut out = device.alloc(count.saturating_mul(rows * dim))?;
    if count == 0 {
        return Ok(out);
    }
    // The longest first: the last one to begin is not the last to end.
    let mut order = collected(0..grid_size(count)?)?;
    order.sort_unstable_by_key(|&sequence| Reverse(lengths[sequence as usize]));
    let longest = lengths[order[0] as usize];
    let exponent = step_exponent(longest, tuple)?;
    let parameters = Parameters {
        alphabet: tables.alphabet_size() as u32,
        tuple: tuple as u32,
        dim: dim as u32,
        bits: sequences.letters.bits,
        all_rows: u32::from(all_rows),
        step: power_of_two(-exponent) as f32,
    };
    let policy = Policy::new(&parameters);
    let shared_bytes = shared_bytes(&policy, tables, device)?;
    let packed = device.buffer_from(&pack_tables(tables))?;
    let scales = device.buffer_from(&scales(&lengths, tuple, exponent, job.normalize)?)?;
    let (offsets, order) = (
        device.buffer_from(&sequences.offsets)?,
        device.buffer_from(&order)?,
    );
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
    // SAFETY: offsets, order, tables and scales are made as the kernel asks, codes are checked by
    // the caller, the block and its shared memory are the policy's, and `out` has its rows. The
    // buffers are of this device, and freeing them waits for the kernel.
    unsafe {
        device.launch(
            &modules::TENSOR_SKETCH,
            kernel(policy.values),
            config,
            (parameters, arrays),
        )?
    };
    Ok(out)
}

/// How it is launched, for people.
pub(super) fn plan(device: &Device, tables: &Tables) -> Result<String> {
    let policy = Policy::new(&Parameters {
        alphabet: tables.alphabet_size() as u32,
        tuple: tables.tuple_length() as u32,
        dim: tables.dim() as u32,
        bits: 8,
        all_rows: 0,
        step: 1.0,
    });
    let shared_bytes = shared_bytes(&policy, tables, device)?;
    Ok(format!(
        "{} threads of {} values for each row, {shared_bytes} bytes of shared memory",
        policy.lanes, policy.values
    ))
}

/// The number of sequences as that of a grid's blocks.
fn grid_size(count: usize) -> Result<u32> {
    let blocks = u32::try_from(count)
        .ok()
        .filter(|&count| count <= i32::MAX as u32);
    blocks.ok_or_else(|| {
        let message = format!("{count} sequences are more than a grid's 2147483647 blocks");
        Error::input(OPERATION, message)
    })
}

fn kernel(values: u32) -> &'static DirectKernel {
    match values {
        1 => &kernels::direct_1,
        2 => &kernels::direct_2,
        3 => &kernels::direct_3,
        4 => &kernels::direct_4,
        6 => &kernels::direct_6,
        8 => &kernels::direct_8,
        12 => &kernels::direct_12,
        16 => &kernels::direct_16,
        24 => &kernels::direct_24,
        32 => &kernels::direct_32,
        _ => unreachable!("tuning chooses from VALUES"),
    }
}

fn shared_bytes(policy: &Policy, tables: &Tables, device: &Device) -> Result<u32> {
    let available = device.shared_memory_per_block().unwrap_or(0);
    u32::try_from(policy.shared_bytes).ok().filter(|&bytes| bytes <= available).ok_or_else(|| {
        let (alphabet, tuple, dim) = (tables.alphabet_size(), tables.tuple_length(), tables.dim());
        Error::input(
            OPERATION,
            format!(
                "{alphabet} letters, tuples of {tuple} and dimension {dim} need {} bytes of shared memory per block, \
                 and {device} has {available}: take a smaller dimension or the Fourier form",
                policy.shared_bytes
            ),
        )
    })
}

/// The largest power of two that the kernel's sums may reach: far enough below `f32`'s 2¹²⁸ that
/// rounding does not matter.
const MAX_EXPONENT: f64 = 126.0;

/// The smallest e ≥ 0 such that row k, at most C(n, k) · 2^(−e·k), stays below `f32`'s range for
/// every k up to t.
///
/// Scaling by a power of two changes no rounding, as long as nothing gets too small: the smallest
/// entry of row t, 2^(−e·t), has to be a normal number. It is for all sequences of fewer than 2³²
/// letters, where e is at most 15 for t = 8; much longer ones are refused.
fn step_exponent(longest: u64, tuple: usize) -> Result<i32> {
    let needed = |k: usize| (binomial(longest, k as u64).max(1.0).log2() - MAX_EXPONENT) / k as f64;
    let exponent = (1..=tuple).map(needed).fold(0.0, f64::max).ceil() as i32;
    if exponent * tuple as i32 <= -f32::MIN_EXP {
        return Ok(exponent);
    }
    let message = format!(
        "a sequence of {longest} letters is too long for tuples of {tuple}: take the device cpu"
    );
    Err(Error::input(OPERATION, message))
}

/// What row k of each sequence is multiplied with at the end: it takes the powers of two back, and
/// divides by C(n, k) if that was asked for. A row without tuples is zero whatever it is.
fn scales(lengths: &[u64], tuple: usize, exponent: i32, normalize: bool) -> Result<Vec<f32>> {
    let scale = |n: u64, k: usize| {
        let divisor = if normalize {
            binomial(n, k as u64).max(1.0)
        } else {
            1.0
        };
        (power_of_two(exponent * k as i32) / divisor) as f32
    };
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
        assert!(step_exponent(1 << 36, 8).is_err());
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
