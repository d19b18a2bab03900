//! Times copies between the host and a device.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench copies -- --device cuda
//!
//! GB/s by the clock, medians with the least and the most, of copies of buffers that exist, from and to ordinary (pageable) and page-locked memory of the
//! host; `new` is a copy to a new array, whose memory the system has to make. Every copy's bytes are compared.

mod common;

use std::time::Instant;

use clap::Parser;
use common::{Times, Where};
use gridstride::Result;

#[derive(Parser)]
struct Args {
    /// Between which device and the host.
    #[arg(long, value_enum, default_value = "cpu")]
    device: Where,
    /// Timed copies, after a first one that is not.
    #[arg(long, default_value_t = 15)]
    runs: usize,
    /// MiB of the largest copy.
    #[arg(long, default_value_t = 1024)]
    largest: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let device = args.device.open()?;
    println!("{}", device.info());
    println!("| MiB | to it, pageable | page-locked | from it, pageable | page-locked | new |");
    println!("|--:|--:|--:|--:|--:|--:|");
    let mut mebibytes = 1;
    while mebibytes <= args.largest {
        let length = mebibytes << 17;
        let source: Vec<u64> = (0..length as u64).map(|i| i.wrapping_mul(0x9e37)).collect();
        let mut target = vec![0; length];
        let mut pinned = device.pinned::<u64>(length)?;
        pinned.copy_from_slice(&source);
        let mut buffer = device.alloc::<u64>(length)?;
        let rate = |times: Vec<f64>| {
            let gigabytes = (mebibytes << 20) as f64 * 1e-6;
            Times::of(times.iter().map(|ms| gigabytes / ms).collect())
        };
        let mut rates = Vec::new();
        rates.push(rate(time(args.runs, || buffer.copy_from(&source))?));
        assert!(buffer.to_vec()? == source);
        rates.push(rate(time(args.runs, || buffer.copy_from(&pinned))?));
        rates.push(rate(time(args.runs, || buffer.copy_to(&mut target))?));
        assert!(target == source);
        rates.push(rate(time(args.runs, || buffer.copy_to(&mut pinned))?));
        assert!(pinned[..] == source[..]);
        rates.push(rate(time(args.runs, || buffer.to_vec())?));
        let cells = rates.iter().map(|rate| {
            let Times {
                median,
                least,
                most,
            } = rate;
            format!("{median:.1} ({least:.1}-{most:.1})")
        });
        let cells: Vec<_> = cells.collect();
        println!("| {mebibytes} | {} |", cells.join(" | "));
        mebibytes *= 4;
    }
    Ok(())
}

/// Milliseconds of each call.
fn time<T>(runs: usize, mut copy: impl FnMut() -> Result<T>) -> Result<Vec<f64>> {
    copy()?;
    let call = |_| {
        let start = Instant::now();
        let copied = copy()?;
        let elapsed = start.elapsed();
        drop(copied);
        Ok(elapsed.as_secs_f64() * 1e3)
    };
    (0..runs).map(call).collect()
}
