//! The sweeps: threads of a block, and boxes of a thread.

use std::time::Duration;

use anyhow::Result;

use super::kernels::{Data, Version};
use crate::SHARED_BYTES;
use crate::climb::{Climb, Plan};
use crate::rows::{Axis, Clock};

/// Threads and boxes of the sweeps, each also as the lines of the other one.
const SWEPT_THREADS: std::ops::RangeInclusive<u32> = 16..=1024;
const SWEPT_STEP: usize = 16;
const LINES_OF_THREADS: [u32; 5] = [64, 128, 256, 512, 1024];
const SWEPT_ITEMS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const LINES_OF_ITEMS: [u32; 4] = [1, 2, 4, 8];

/// The times of all kernels by threads of a block, and by boxes of a thread.
pub fn climb(climb: &mut Climb, data: &Data) -> Result<()> {
    let threads: Vec<u32> = SWEPT_THREADS.step_by(SWEPT_STEP).collect();
    let items = LINES_OF_ITEMS.map(Version::SharedItems);
    let in_f32 = [Version::Plain, Version::Shared].into_iter().chain(items);
    let in_halves = LINES_OF_ITEMS.map(Version::Half);
    for (title, versions) in [
        ("Threads of a block", in_f32.collect()),
        ("Threads of a block, half precision", in_halves.to_vec()),
    ] {
        let versions: Vec<Version> = versions;
        let plan = Plan {
            title,
            clock: Clock::Kernel,
            parameter: "threads of a block",
            axis: Axis::Linear,
            values: &threads,
            lines: &versions
                .into_iter()
                .map(|version| (version.name(), version))
                .collect::<Vec<_>>(),
        };
        climb.sweep(plan, |climb, &version, threads| {
            time(climb, data, version, threads)
        })?;
    }
    type OfItems = fn(u32) -> Version;
    let of_items: [(&str, OfItems); 2] = [
        ("v2: boxes of a thread", Version::SharedItems),
        ("v3: boxes of a thread, half precision", Version::Half),
    ];
    for (title, version) in of_items {
        let plan = Plan {
            title,
            clock: Clock::Kernel,
            parameter: "boxes of a thread",
            axis: Axis::Doubling,
            values: &SWEPT_ITEMS,
            lines: &LINES_OF_THREADS.map(|threads| (format!("{threads} threads"), threads)),
        };
        climb.sweep(plan, |climb, &threads, items| {
            time(climb, data, version(items), threads)
        })?;
    }
    Ok(())
}

/// The time of a kernel; nothing if a tile does not fit.
fn time(climb: &Climb, data: &Data, version: Version, threads: u32) -> Result<Option<Duration>> {
    if version.config(1, threads).shared_bytes > SHARED_BYTES {
        return Ok(None);
    }
    let mut matches = data.room()?;
    let launch = || data.launch(version, threads, &mut matches);
    let time = climb.time(Clock::Kernel, launch)?;
    data.check(version, &matches)?;
    Ok(Some(time))
}
