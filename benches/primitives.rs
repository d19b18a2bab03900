//! Times radix sort of random 64-bit keys, alone and with 32-bit values, in the device's memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench primitives -- --device cuda
//!
//! Milliseconds of whole calls by the device's events, medians with the least and the most; the calls also allocate what
//! they need. The keys are the same for each run, and results are compared with the only stable order.
//! benches/peers/primitives_cub.cu has CUB's sort of the same keys and values.

mod common;

use std::time::Instant;

use clap::Parser;
use common::{DeviceName, Random, Times};
use gridstride::device::{DeviceKind, Event};
use gridstride::primitives::{sort_keys, sort_pairs};
use gridstride::{Device, Result};

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
    println!(
        "{:<6} {:>10} {:>5} {:>24} {:>12}",
        "", "keys", "bits", "ms", "10⁹ keys/s"
    );
    for (divisor, bits) in SORTS {
        measure(&device, args.runs, (all / divisor).max(1), bits)?;
    }
    Ok(())
}

fn measure(device: &Device, runs: usize, count: usize, bits: u32) -> Result<()> {
    let mut random = Random(1);
    let mut keys = device.pinned::<u64>(count)?;
    let mut values = device.pinned::<u32>(count)?;
    for (i, (key, value)) in keys.iter_mut().zip(values.iter_mut()).enumerate() {
        (*key, *value) = (random.next(), i as u32);
    }
    let mask = u64::MAX >> (u64::BITS - bits);

    let mut sorted = device.alloc(count)?;
    let times = time(runs, || {
        let mut unsorted = std::mem::replace(&mut sorted, device.alloc(0)?);
        unsorted.copy_from(&keys)?;
        let begin = Begin::new(device)?;
        sorted = sort_keys(unsorted, 0..bits)?;
        begin.elapsed()
    })?;
    show("keys", count, bits, times);
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
    show("pairs", count, bits, times);
    let (sorted, moved) = (sorted.to_vec()?, moved.to_vec()?);
    let mut pairs = sorted.iter().zip(&moved);
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
fn time(runs: usize, mut run: impl FnMut() -> Result<f64>) -> Result<Times> {
    run()?;
    let times = (0..runs).map(|_| run()).collect::<Result<_>>()?;
    Ok(Times::of(times))
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

fn show(name: &str, count: usize, bits: u32, times: Times) {
    let rate = count as f64 / times.median * 1e-6;
    let times = format!("{:.4} ({:.3}-{:.3})", times.median, times.least, times.most);
    println!("{name:<6} {count:>10} {bits:>5} {times:>24} {rate:>12.2}");
}
