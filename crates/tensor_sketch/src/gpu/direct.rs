//! The direct form: one block for each sequence.

use std::cmp::Reverse;

use gridstride_runtime::device::{Buffer, LaunchConfig, collected, reserve};
use gridstride_runtime::{Device, Result};
use gridstride_sequences::SequenceBuffers;
use tensor_sketch_kernels::{Arrays, Parameters};

use super::kernels::HasKernels;
use super::pack_tables;
use crate::MODULE;
use crate::input::Job;
use crate::options::divisor;
use crate::tuning::{DirectPolicy, step_exponent};

/// Writes the rows of all sequences, whose codes are below the alphabet's size.
pub fn sketch<T: HasKernels>(
    device: &Device,
    policy: &DirectPolicy,
    job: &Job,
    sequences: &SequenceBuffers,
    out: &mut Buffer<T>,
) -> Result<()> {
    let tuple = job.tables.tuple_length();
    let lengths = collected(sequences.lengths())?;
    let count = lengths.len();
    if count == 0 {
        return Ok(());
    }
    // The longest first, so that no long sequence is left for the end.
    let mut order = collected(0..count as u32)?;
    order.sort_unstable_by_key(|&sequence| Reverse(lengths[sequence as usize]));
    let longest = lengths[order[0] as usize];
    let exponent = step_exponent(longest, tuple).expect("the call refuses longer sequences");
    let parameters = Parameters {
        bits: sequences.letters.bits,
        step: power_of_two(-exponent) as f32,
        ..job.parameters()
    };
    let packed = device.buffer_from(&pack_tables(job.tables))?;
    let scales = device.buffer_from(&scales(&lengths, tuple, exponent, job.normalize)?)?;
    let offsets = device.buffer_from(&sequences.offsets)?;
    let order = device.buffer_from(&order)?;
    let config = LaunchConfig::new(count as u32, (policy.lanes, parameters.tuple))
        .with_shared_bytes(policy.shared_bytes as u32);
    let arrays = Arrays {
        letters: sequences.letters.buffer.slice(),
        offsets: offsets.slice(),
        order: order.slice(),
        tables: packed.slice(),
        scales: scales.slice(),
        out: out.slice_mut(),
    };
    let kernels = T::KERNELS.direct.unwrap_or_default();
    let kernel = kernels.iter().find(|(values, _)| *values == policy.values);
    let (_, kernel) = kernel.expect("tuning chooses from these");
    let arguments = (parameters, arrays);
    // SAFETY: offsets, order, tables and scales are made as the kernel asks, codes are checked by
    // the caller, the block and its shared memory are the policy's, and `out` has its rows. The
    // buffers are of this device, and freeing them waits for the kernel.
    unsafe { device.launch(&MODULE, kernel, config, arguments) }
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
    fn scales_take_the_powers_back() {
        assert_eq!(scales(&[10], 2, 0, false).unwrap(), [1.0, 1.0, 1.0]);
        assert_eq!(scales(&[10], 2, 3, false).unwrap(), [1.0, 8.0, 64.0]);
        assert_eq!(
            scales(&[10, 1], 2, 0, true).unwrap(),
            [1.0, 0.1, 1.0 / 45.0, 1.0, 1.0, 1.0]
        );
    }
}
