//! Times radix sort of random 64-bit keys, alone and with 32-bit values, in the device's memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench primitives -- --device cuda
//!
//! By the device's events; the calls also allocate what they need. The keys are the same for each run, and results are
//! compared with the only stable order. benches/peers/primitives_cub.cu has CUB's sort of the same keys and values.

mod common;

use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use common::{Clock, DeviceName, Measured, Random, grouped, random, show};
use gridstride::Device;
use gridstride::device::{DeviceKind, Event};
use gridstride::primitives::{sort_keys, sort_pairs};
use rayon::prelude::*;

#[derive(Parser)]
struct Args {
    /// Where to sort.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Keys of the longest array; by default 10⁸ on a GPU, 10⁷ on the CPU and 10⁴ in the simulator.
    #[arg(long)]
    keys: Option<usize>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The divisors of the number of keys, and the lowest bits by which they are sorted: those of the
/// peer.
const SORTS: [(usize, u32); 4] = [(1, 64), (1, 32), (100, 64), (250, 48)];

fn main() -> Result<()> {
    let args = Args::parse();
    let all = args.keys.unwrap_or(match args.device {
        DeviceName::Auto | DeviceName::Cpu => 10_000_000,
        DeviceName::Cuda(_) => 100_000_000,
        DeviceName::Simulator => 10_000,
    });
    let device = args.device.open()?;
    println!("{}", device.info());
    for (divisor, bits) in SORTS {
        measure(&device, args.runs, (all / divisor).max(1), bits)?;
    }
    Ok(())
}

fn measure(device: &Device, runs: usize, count: usize, bits: u32) -> Result<()> {
    let mut keys = device.pinned::<u64>(count)?;
    let mut values = device.pinned::<u32>(count)?;
    keys.copy_from_slice(&random(1, count, Random::next));
    let places = values.par_iter_mut().enumerate();
    places.for_each(|(i, value)| *value = i as u32);
    let row = |what, size: usize, times| {
        let case = format!("{} {what} by {bits} bits", grouped(count));
        // The keys are read once for the counts of all digits, and all is read and written in each pass over a digit.
        let passes = bits.div_ceil(8) as usize;
        let bytes = (8 + 2 * size * passes) * count;
        show(&Measured::new(case, Clock::Device, times).bytes(bytes))
    };
    let mask = u64::MAX >> (u64::BITS - bits);

    let mut sorted = device.alloc(count)?;
    let times = time(runs, || {
        let mut unsorted = std::mem::replace(&mut sorted, device.alloc(0)?);
        unsorted.copy_from(&keys)?;
        let begin = Begin::new(device)?;
        sorted = sort_keys(unsorted, 0..bits)?;
        begin.elapsed()
    })?;
    row("keys", 8, times)?;
    let keys_alone = sorted.to_vec()?;

    let mut moved = device.alloc(count)?;
    let times = time(runs, || {
        let mut unsorted = std::mem::replace(&mut sorted, device.alloc(0)?);
        let mut unmoved = std::mem::replace(&mut moved, device.alloc(0)?);
        unsorted.copy_from(&keys)?;
        unmoved.copy_from(&values)?;
        let begin = Begin::new(device)?;
        (sorted, moved) = sort_pairs(unsorted, unmoved, 0..bits)?;
        begin.elapsed()
    })?;
    row("pairs", 12, times)?;
    let (sorted, moved) = (sorted.to_vec()?, moved.to_vec()?);
    let pairs = sorted.par_iter().zip(&moved);
    assert!(
        pairs.all(|(key, &value)| keys[value as usize] == *key),
        "values are not with their keys"
    );
    // Values are the places of their keys before. In strictly increasing order none occurs twice, so all occur, and equal
    // bits keep their order.
    let pairs = sorted.iter().zip(&moved);
    assert!(
        pairs.is_sorted_by(
            |(key, value), (next_key, next)| (*key & mask, *value) < (*next_key & mask, *next)
        ),
        "pairs are not in the stable order"
    );
    assert!(keys_alone == sorted, "keys alone are in another order");
    Ok(())
}

/// Milliseconds of all runs but the first.
fn time(runs: usize, mut run: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    run()?;
    (0..runs).map(|_| run()).collect()
}

/// Where a measurement begins: an event on a GPU, the clock's time on the CPU.
struct Begin<'a>(&'a Device, Event, Instant);

impl<'a> Begin<'a> {
    fn new(device: &'a Device) -> Result<Self> {
        let event = device.event()?;
        device.record(&event)?;
        Ok(Begin(device, event, Instant::now()))
    }

    /// Milliseconds since then.
    fn elapsed(self) -> Result<f64> {
        let Begin(device, start, begin) = self;
        let end = device.event()?;
        device.record(&end)?;
        let elapsed = match device.kind() {
            DeviceKind::Cpu => begin.elapsed(),
            _ => end.elapsed_since(&start)?,
        };
        Ok(elapsed.as_secs_f64() * 1e3)
    }
}
