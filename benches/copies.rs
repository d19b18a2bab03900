//! Times copies between the host and a device.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench copies -- --device cuda
//!
//! By the clock, of buffers that exist, from and to ordinary (pageable) and page-locked memory of the host; `a new array` is
//! a copy to memory that the system provides meanwhile. The last copy of each kind is compared with its source; the target
//! held other bytes before the first copy.

mod common;

use anyhow::Result;
use clap::Parser;
use common::{Clock, DeviceName, Measured, show, time_whole};

#[derive(Parser)]
struct Args {
    /// Between which device and the host.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Timed copies, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// MiB of the largest copy.
    #[arg(long, default_value_t = 256)]
    largest: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let device = args.device.open()?;
    println!("{}", device.info());
    let mut mebibytes = 1;
    while mebibytes <= args.largest {
        let length = mebibytes << 17;
        let source: Vec<u64> = (0..length as u64).map(|i| i.wrapping_mul(0x9e37)).collect();
        let mut target = vec![0; length];
        let mut pinned = device.pinned::<u64>(length)?;
        let mut buffer = device.zeros::<u64>(length)?;
        let row = |what, times| {
            let case = format!("{what}, {mebibytes} MiB");
            show(&Measured::new(case, Clock::Call, times).bytes(mebibytes << 20))
        };
        let (times, ()) = time_whole(args.runs, || buffer.copy_from(&source))?;
        assert!(buffer.to_vec()? == source);
        row("to the device, pageable", times)?;
        pinned.copy_from_slice(&source);
        buffer.copy_from(&target)?;
        let (times, ()) = time_whole(args.runs, || buffer.copy_from(&pinned))?;
        assert!(buffer.to_vec()? == source);
        row("to the device, page-locked", times)?;
        let (times, ()) = time_whole(args.runs, || buffer.copy_to(&mut target))?;
        assert!(target == source);
        row("from the device, pageable", times)?;
        pinned.fill(0);
        let (times, ()) = time_whole(args.runs, || buffer.copy_to(&mut pinned))?;
        assert!(pinned[..] == source[..]);
        row("from the device, page-locked", times)?;
        let (times, copied) = time_whole(args.runs, || buffer.to_vec())?;
        assert!(copied == source);
        row("from the device, a new array", times)?;
        mebibytes *= 16;
    }
    Ok(())
}
