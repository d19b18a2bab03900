//! Edit distances on GPUs and in the simulator.

mod kernels;
mod plan;
mod tuning;

use edit_distance_kernels::{Pair, Parameters, SHORT_THREADS, Texts};
use gridstride_runtime::device::{Buffer, LaunchConfig, reserve};
use gridstride_runtime::{Device, Error, Result};
use gridstride_sequences::{PackedLetters, SequencesView};

use super::input::{DevicePairs, HostPairs};
use super::options::ABOVE_LIMIT;
use super::workspace::shorter_first;
use crate::MODULE;
use plan::Plan;

/// The sequences of one side in a device's memory.
struct Side<'a> {
    letters: &'a PackedLetters,
    /// Where the sequences begin and end.
    offsets: &'a [u64],
}

pub fn host(device: &Device, pairs: &mut HostPairs) -> Result<()> {
    let limit = pairs.limit;
    let upload = |view: SequencesView| {
        let letters = PackedLetters::upload_densely(device, view.own_codes())?;
        Ok::<_, Error>((letters, view.offsets_from_zero()?))
    };
    let (a, b) = (upload(pairs.a)?, upload(pairs.b)?);
    let sides = [&a, &b].map(|(letters, offsets)| Side { letters, offsets });
    let mut out = device.alloc(pairs.out.len())?;
    write(device, limit, sides, &mut out)?;
    out.copy_to(pairs.out)
}

/// Writes the distances of sequences in the memory of a device.
pub fn device(pairs: DevicePairs) -> Result<()> {
    let sides = [pairs.a, pairs.b].map(|sequences| {
        let buffers = sequences.buffers();
        Side {
            letters: &buffers.letters,
            offsets: &buffers.offsets,
        }
    });
    write(pairs.a.device(), pairs.limit, sides, pairs.out)
}

/// Writes the distances of the pairs of two sides, which have as many sequences as places.
fn write(device: &Device, limit: u32, [a, b]: [Side; 2], out: &mut Buffer<u32>) -> Result<()> {
    // The calls refuse more.
    let count = out.len() as u32;
    let length = |side: &Side, i: usize| (side.offsets[i + 1] - side.offsets[i]) as usize;
    let plan = Plan::new(count, device.processors(), limit, |index| {
        let i = index as usize;
        shorter_first(length(&a, i), length(&b, i))
    })?;
    launch(device, limit, [a, b], &plan, out)
}

/// Launches the kernels of a plan.
fn launch(
    device: &Device,
    limit: u32,
    [a, b]: [Side; 2],
    plan: &Plan,
    out: &mut Buffer<u32>,
) -> Result<()> {
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
    let module = &MODULE;
    // Long pairs come first, so that they do not run alone at the end.
    let mut edges = device.alloc::<u64>(plan.edges as usize)?;
    let mut launch_long = |pairs: &[Pair], out: &mut Buffer<u32>| {
        let config = LaunchConfig::new(pairs.len() as u32, 32 * plan.warps);
        let pairs = device.buffer_from(pairs)?;
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
        unsafe { device.launch(module, kernels.long, config, arguments) }
    };
    // The lists of short pairs are copied first: copies would wait for the kernel of long pairs.
    let short = plan.jobs.iter().zip(kernels.short);
    let short = short.filter(|(jobs, _)| !jobs.is_empty());
    let mut lists = Vec::with_capacity(plan.jobs.len());
    for (jobs, kernel) in short {
        lists.push((device.buffer_from(jobs)?, kernel));
    }
    let pairs = match lists.is_empty() {
        true => &[],
        false => &*plan.pairs,
    };
    let pairs = device.buffer_from(pairs)?;
    if !plan.long.is_empty() {
        launch_long(&plan.long, out)?;
    }
    for (jobs, kernel) in lists {
        let blocks = (jobs.len() as u32).div_ceil(SHORT_THREADS / 32);
        let config = LaunchConfig::new(blocks, SHORT_THREADS);
        let arguments = (
            parameters,
            texts,
            jobs.slice(),
            pairs.slice(),
            out.slice_mut(),
        );
        // SAFETY: a warp for each job, whose lanes have a row for each letter of the shorter
        // sequences; the texts, the pairs and the results are those of the plan. The buffers are on
        // this device and freed after the kernels have run.
        unsafe { device.launch(module, kernel, config, arguments)? };
    }
    if plan.long.iter().all(|pair| pair.limit == limit) {
        return Ok(());
    }
    // `out` may be of another stream, and be copied before this one has written it.
    device.synchronize()?;
    let distances = out.to_vec()?;
    let is_left =
        |pair: &&Pair| pair.limit < limit && distances[pair.index as usize] == ABOVE_LIMIT;
    let mut left = Vec::new();
    for pair in plan.long.iter().filter(is_left) {
        reserve(&mut left, 1)?;
        left.push(Pair { limit, ..*pair });
    }
    if left.is_empty() {
        return Ok(());
    }
    launch_long(&left, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use gridstride_runtime::device::device_for_tests;
    use gridstride_sequences::{SequenceBuffers, Sequences};

    /// However many warps a long pair has, also if they compute several strips each.
    #[test]
    fn long_pairs_by_any_number_of_warps() {
        let text = |length: u32, factor: u32| {
            let codes = (0..length).map(|i| (i.wrapping_mul(factor) >> 13) as u8 % 4);
            codes.collect::<Vec<u8>>()
        };
        let (mut a, b) = (text(8300, 0x9e37_79b9), text(8400, 0x85eb_ca6b));
        // Long runs that are equal, between others.
        for start in [100, 3000, 6000] {
            a[start..start + 1500].copy_from_slice(&b[start + 20..start + 1520]);
        }
        let expected = reference::edit_distance(a[..].into(), b[..].into());
        let (a, b) = (Sequences::from(vec![a]), Sequences::from(vec![b]));
        let device = device_for_tests();
        // The last number is the limit of the first launch, as a band of long pairs has it.
        for (warps, limit, first_limit) in [
            (1, u32::MAX, u32::MAX),
            (2, u32::MAX, expected / 2),
            (3, expected, expected),
            (4, expected - 1, expected / 2),
        ] {
            let [a, b] =
                [&a, &b].map(|side| SequenceBuffers::upload(&device, side.view(), 4).unwrap());
            let mut plan = Plan::new(1, 1, limit, |_| (8300, 8400)).unwrap();
            plan.warps = warps;
            plan.long[0].limit = first_limit;
            // Of another stream than the kernels.
            let stream = device.stream().unwrap();
            let mut out = stream.device().alloc(1).unwrap();
            stream.device().synchronize().unwrap();
            let sides = [&a, &b].map(|buffers| Side {
                letters: &buffers.letters,
                offsets: &buffers.offsets,
            });
            launch(&device, limit, sides, &plan, &mut out).unwrap();
            device.synchronize().unwrap();
            let expected = if expected <= limit {
                expected
            } else {
                u32::MAX
            };
            assert_eq!(out.to_vec().unwrap(), [expected], "{warps} warps");
        }
    }
}
