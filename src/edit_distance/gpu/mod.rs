//! Edit distances on GPUs and in the simulator.

mod kernels;
mod tuning;
mod workspace;

use edit_distance_kernels::{Parameters, SHORT_THREADS, Texts};

use super::input::HostPairs;
use crate::device::{Buffer, LaunchConfig};
use crate::sequences::{PackedLetters, SequenceBuffers, SequencesView};
use crate::{Device, Error, Result, modules};
use tuning::Plan;

/// The sequences of one side in a device's memory.
struct Side<'a> {
    letters: &'a PackedLetters,
    /// Where the sequences begin and end.
    offsets: &'a [u64],
}

pub fn host(device: &Device, pairs: &mut HostPairs) -> Result<()> {
    let (operation, limit, bound) = (pairs.operation, pairs.limit, pairs.bound);
    let upload = |view: SequencesView| {
        let letters = PackedLetters::upload(device, view.own_codes(), bound)?;
        Ok::<_, Error>((letters, view.offsets_from_zero()?))
    };
    let (a, b) = (upload(pairs.a)?, upload(pairs.b)?);
    let sides = [&a, &b].map(|(letters, offsets)| Side { letters, offsets });
    let mut out = device.alloc(pairs.out.len())?;
    write(device, operation, limit, sides, &mut out)?;
    out.copy_to(pairs.out)
}

pub fn device(
    device: &Device,
    operation: &'static str,
    limit: u32,
    sequences: [&SequenceBuffers; 2],
    out: &mut Buffer<u32>,
) -> Result<()> {
    let sides = sequences.map(|buffers| Side {
        letters: &buffers.letters,
        offsets: &buffers.offsets,
    });
    write(device, operation, limit, sides, out)
}

/// Estimates the bytes of a device's memory that pairs take.
pub fn bytes(pairs: &HostPairs) -> u64 {
    let texts = [pairs.a, pairs.b]
        .map(|view| workspace::text_bytes(view.own_codes().len(), view.len(), pairs.bound));
    let of_pair = |i| workspace::pair_bytes(shorter_first(pairs.a.length(i), pairs.b.length(i)));
    let of_pairs: u64 = (0..pairs.out.len()).map(of_pair).sum();
    texts[0] + texts[1] + of_pairs
}

fn shorter_first(a: usize, b: usize) -> tuning::Lengths {
    (a.min(b) as u32, a.max(b) as u32)
}

/// Writes the distances of the pairs of two sides, which have as many sequences as places.
fn write(
    device: &Device,
    operation: &'static str,
    limit: u32,
    [a, b]: [Side; 2],
    out: &mut Buffer<u32>,
) -> Result<()> {
    let count = u32::try_from(out.len()).map_err(|_| {
        let message = format!("{} pairs are more than one launch computes", out.len());
        Error::input(operation, message)
    })?;
    let length = |side: &Side, i: usize| (side.offsets[i + 1] - side.offsets[i]) as usize;
    let plan = Plan::new(count, device.processors(), |index| {
        let i = index as usize;
        shorter_first(length(&a, i), length(&b, i))
    })?;
    let (a_offsets, b_offsets) = (
        device.buffer_from(a.offsets)?,
        device.buffer_from(b.offsets)?,
    );
    let parameters = Parameters {
        a_bits: a.letters.bits,
        b_bits: b.letters.bits,
        limit,
    };
    let texts = Texts {
        a_letters: a.letters.buffer.slice(),
        a_offsets: a_offsets.slice(),
        b_letters: b.letters.buffer.slice(),
        b_offsets: b_offsets.slice(),
    };
    let kernels = kernels::kernels(parameters.a_bits.max(parameters.b_bits));
    let module = &modules::EDIT_DISTANCE;
    // Long pairs come first, so that they do not run alone at the end.
    if !plan.long.is_empty() {
        let pairs = device.buffer_from(&plan.long)?;
        let mut edges = device.alloc::<u64>(plan.edges as usize)?;
        let config = LaunchConfig::new(plan.long.len() as u32, 32 * plan.warps);
        let arguments = (
            parameters,
            texts,
            pairs.slice(),
            edges.slice_mut(),
            out.slice_mut(),
        );
        // SAFETY: a block of whole warps for each pair, whose shorter sequence is not empty; the
        // plan gives each pair its own edges. The buffers are of this device, and freeing them
        // waits for the kernel.
        unsafe { device.launch(module, kernels.long, config, arguments)? };
    }
    for (plan, kernel) in plan.short.iter().zip(kernels.short) {
        if plan.jobs.is_empty() {
            continue;
        }
        let jobs = device.buffer_from(&plan.jobs)?;
        let pairs = device.buffer_from(&plan.pairs)?;
        let blocks = (plan.jobs.len() as u32).div_ceil(SHORT_THREADS / 32);
        let config = LaunchConfig::new(blocks, SHORT_THREADS);
        let arguments = (
            parameters,
            texts,
            jobs.slice(),
            pairs.slice(),
            out.slice_mut(),
        );
        // SAFETY: a warp for each job, whose lanes have a row for each letter of the shorter
        // sequences; the rest as above.
        unsafe { device.launch(module, kernel, config, arguments)? };
    }
    Ok(())
}
