//! Many calls leave no memory behind, neither the host's nor the device's.
//!
//! `GRIDSTRIDE_TEST_CALLS` sets how often each call is made, for example 100000, and
//! `GRIDSTRIDE_TEST_FUNCTIONS` chooses calls by the beginnings of their names, with commas between
//! them.

use std::time::Instant;

use fake_driver::in_own_process;
use gridstride::Device;
use gridstride::device::DeviceKind;

use crate::common::calls::{CALLS, Call, Data};
use crate::common::devices;
use crate::out_of_memory::allocated;

/// Bytes of a page.
const PAGE: i64 = 4096;

/// What a process has at a time: bytes of its allocator, bytes of memory that are resident, and used
/// bytes of a GPU.
#[derive(Clone, Copy, Debug)]
struct Memory {
    allocated: i64,
    resident: i64,
    device: i64,
}

impl Memory {
    fn now(device: &Device) -> Memory {
        device.synchronize().unwrap();
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: i64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
        let info = device.info();
        let is_gpu = matches!(device.kind(), DeviceKind::Cuda { .. });
        let used = (info.total_memory.zip(info.free_memory)).map_or(0, |(all, free)| all - free);
        Memory {
            allocated: allocated() as i64,
            resident: pages * PAGE,
            device: if is_gpu { used as i64 } else { 0 },
        }
    }
}

/// How often each call is made.
fn count(device: &Device) -> usize {
    let usual = if device.kind() == DeviceKind::Simulator {
        4
    } else {
        200
    };
    std::env::var("GRIDSTRIDE_TEST_CALLS").map_or(usual, |calls| calls.parse().unwrap())
}

/// The calls that are made.
fn calls() -> Vec<&'static Call> {
    let Ok(chosen) = std::env::var("GRIDSTRIDE_TEST_FUNCTIONS") else {
        return CALLS.iter().collect();
    };
    let begins = |call: &Call, start: &str| !start.is_empty() && call.name.starts_with(start);
    for start in chosen.split(',') {
        let is_one = CALLS.iter().any(|call| begins(call, start));
        assert!(is_one, "no call begins with {start:?}");
    }
    let is_chosen = |call: &&Call| chosen.split(',').any(|start| begins(call, start));
    CALLS.iter().filter(is_chosen).collect()
}

#[test]
fn many_calls_leave_no_memory_behind() {
    in_own_process(
        many_calls_leave_no_memory_behind,
        |_| {},
        || {
            for device in devices() {
                leaves_nothing(&device);
            }
        },
    );
}

fn leaves_nothing(device: &Device) {
    let (data, rounds, calls) = (Data::new(12), count(device), calls());
    let start = Instant::now();
    let round = || {
        for call in &calls {
            (call.run)(&data, std::slice::from_ref(device)).unwrap();
        }
    };
    // Threads, modules and kept memory come with the first calls.
    (0..rounds.div_ceil(10)).for_each(|_| round());
    let before = Memory::now(device);
    (0..rounds).for_each(|_| round());
    let after = Memory::now(device);
    let took = start.elapsed();
    eprintln!(
        "{rounds} times {} calls on {device} in {took:.1?}: {before:?}, {after:?}",
        calls.len()
    );
    // Queues of threads may have grown, but by less than a byte for ten rounds of calls.
    let grown = after.allocated - before.allocated;
    assert!(
        grown <= 1024 + rounds as i64 / 10,
        "{device}: {grown} bytes"
    );
    let grown = after.resident - before.resident;
    assert!(grown <= 8 << 20, "{device}: {grown} resident bytes");
    // Exact, but without what the driver keeps.
    let counted = device.with_memory_limit(1 << 30);
    for call in &calls {
        (call.run)(&data, std::slice::from_ref(&counted)).unwrap();
        assert_eq!(counted.memory_used(), Some(0), "{} on {device}", call.name);
    }
    // Other processes may use the GPU too.
    let grown = after.device - before.device;
    assert!(grown <= 64 << 20, "{device}: {grown} bytes of the GPU");
}
