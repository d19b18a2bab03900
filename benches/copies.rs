//! Times copies between the host and a device.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench copies -- --device cuda
//!
//! GB/s by the clock, medians with the least and the most, of copies of buffers that exist, from and to ordinary (pageable) and page-locked memory of the
//! host; `new` is a copy to a new array, so that the system provides memory meanwhile. Each column's last copy is compared
//! with its source; the target held other bytes before the first copy.

mod common;

use clap::Parser;
use common::{DeviceName, Times, time_whole};
use gridstride::Result;

#[derive(Parser)]
struct Args {
    /// Between which device and the host.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Timed copies, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
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
        let mut buffer = device.zeros::<u64>(length)?;
        let rate = |times: Times| {
            let [median, least, most] = [times.median, times.most, times.least]
                .map(|ms| (mebibytes << 20) as f64 * 1e-6 / ms);
            format!("{median:.1} ({least:.1}-{most:.1})")
        };
        let mut rates = Vec::new();
        rates.push(rate(time_whole(args.runs, || buffer.copy_from(&source))?.0));
        assert!(buffer.to_vec()? == source);
        pinned.copy_from_slice(&source);
        buffer.copy_from(&target)?;
        rates.push(rate(time_whole(args.runs, || buffer.copy_from(&pinned))?.0));
        assert!(buffer.to_vec()? == source);
        rates.push(rate(
            time_whole(args.runs, || buffer.copy_to(&mut target))?.0,
        ));
        assert!(target == source);
        pinned.fill(0);
        rates.push(rate(
            time_whole(args.runs, || buffer.copy_to(&mut pinned))?.0,
        ));
        assert!(pinned[..] == source[..]);
        let (times, copied) = time_whole(args.runs, || buffer.to_vec())?;
        rates.push(rate(times));
        assert!(copied == source);
        println!("| {mebibytes} | {} |", rates.join(" | "));
        mebibytes *= 4;
    }
    Ok(())
}
