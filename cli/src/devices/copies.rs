//! The speed of copies between the host and a device.

use std::time::{Duration, Instant};

use gridstride::device::{Buffer, DeviceKind};
use gridstride::{Device, Result};
use indicatif::ProgressBar;
use program::report::{milliseconds, per_second};
use serde::Serialize;

/// Timed rounds, of which the median counts, after one that is not timed.
const TIMED: usize = 7;

/// Rounds of a device: of two kinds of memory.
pub const ROUNDS: u64 = 2 * (TIMED as u64 + 1);

/// Bytes of a large copy, on a GPU and elsewhere.
const LARGE: usize = 256 << 20;
const LARGE_ON_HOST: usize = 64 << 20;

/// Bytes of a small copy, and how many of them a round has.
const SMALL: usize = 4 << 10;
const SMALL_COPIES: usize = 100;

/// The medians of copies from and to one kind of memory.
#[derive(Serialize)]
pub struct Copies {
    /// `ordinary` or `page-locked`.
    pub memory: &'static str,
    pub large_copy_bytes: usize,
    pub to_device_bytes_per_second: Option<f64>,
    pub from_device_bytes_per_second: Option<f64>,
    pub small_copy_bytes: usize,
    pub to_device_copies_per_second: Option<f64>,
    pub from_device_copies_per_second: Option<f64>,
}

/// Measures copies from and to ordinary and page-locked memory. `bar` counts the rounds.
pub fn measure(device: &Device, bar: &ProgressBar) -> Result<[Copies; 2]> {
    let bytes = match device.kind() {
        DeviceKind::Cuda { .. } => LARGE,
        _ => LARGE_ON_HOST,
    };
    // Pages of zeros may all be the same page.
    let mut ordinary: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
    let mut locked = device.pinned::<u8>(bytes)?;
    locked.copy_from_slice(&ordinary);
    Ok([
        of_memory("ordinary", device, &mut ordinary, bar)?,
        of_memory("page-locked", device, &mut locked, bar)?,
    ])
}

fn of_memory(
    memory: &'static str,
    device: &Device,
    host: &mut [u8],
    bar: &ProgressBar,
) -> Result<Copies> {
    let bytes = host.len();
    let (mut large, mut small) = (device.zeros::<u8>(bytes)?, device.zeros::<u8>(SMALL)?);
    let mut rounds = Vec::new();
    for _ in 0..=TIMED {
        rounds.push(Round::new(device, &mut large, &mut small, host)?);
        bar.inc(1);
    }
    let median = |time: fn(&Round) -> Duration| {
        let mut times: Vec<_> = rounds[1..].iter().map(time).collect();
        times.sort();
        milliseconds(times[TIMED / 2])
    };
    let large_rate = |time| per_second(bytes as f64, median(time));
    let small_rate = |time| per_second(SMALL_COPIES as f64, median(time));
    Ok(Copies {
        memory,
        large_copy_bytes: bytes,
        to_device_bytes_per_second: large_rate(|round| round.large_to),
        from_device_bytes_per_second: large_rate(|round| round.large_from),
        small_copy_bytes: SMALL,
        to_device_copies_per_second: small_rate(|round| round.small_to),
        from_device_copies_per_second: small_rate(|round| round.small_from),
    })
}

/// The times of one copy of each kind; of small copies of all of them.
struct Round {
    large_to: Duration,
    large_from: Duration,
    small_to: Duration,
    small_from: Duration,
}

impl Round {
    fn new(
        device: &Device,
        large: &mut Buffer<u8>,
        small: &mut Buffer<u8>,
        host: &mut [u8],
    ) -> Result<Round> {
        let timed = |copies: usize, copy: &mut dyn FnMut() -> Result<()>| {
            device.synchronize()?;
            let start = Instant::now();
            (0..copies).try_for_each(|_| copy())?;
            device.synchronize()?;
            Ok(start.elapsed())
        };
        Ok(Round {
            large_to: timed(1, &mut || large.copy_from(host))?,
            large_from: timed(1, &mut || large.copy_to(host))?,
            small_to: timed(SMALL_COPIES, &mut || small.copy_from(&host[..SMALL]))?,
            small_from: timed(SMALL_COPIES, &mut || small.copy_to(&mut host[..SMALL]))?,
        })
    }
}
