//! Shared memory.

mod common;

use common::{SEEDS, launch, slice_mut, under_all_schedules};
use cuda_std::host::LaunchConfig;
use cuda_std::prelude::*;
use simt::{Accessed, Limits, SimError, Simulator, differing_seeds};

/// The addresses of two arrays of one type from different places, and of one in a function.
#[kernel]
unsafe fn addresses(out: DeviceSliceMut<[usize; 4]>) {
    let first = shared_array![u64; 16];
    let second = shared_array![u64; 16];
    let addresses = [first as usize, second as usize, helper(), helper()];
    // SAFETY: there is an element for each thread.
    unsafe { out.set(thread::global_index(), addresses) };
}

fn helper() -> usize {
    shared_array![u8; 3] as usize
}

#[test]
fn each_place_has_its_array_and_a_block_shares_it() {
    under_all_schedules(|simulator| {
        let mut out = vec![[0; 4]; 3 * 40];
        let config = LaunchConfig::new(3, 40);
        launch(simulator, &addresses, config, (slice_mut(&mut out),)).unwrap();
        for block in out.chunks(40) {
            assert!(block.iter().all(|thread| *thread == block[0]));
            let [first, second, helper, again] = block[0];
            assert!(first.abs_diff(second) >= 128);
            assert!(helper.abs_diff(first) >= 16 && helper.abs_diff(second) >= 16);
            assert_eq!(helper, again);
        }
    });
}

/// Writes the dynamic shared memory in one order and reads it in another.
#[kernel]
unsafe fn reverse(out: DeviceSliceMut<u32>) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let same = shared::dynamic_shared_mem::<u32>();
    let (i, threads) = (
        thread::thread_idx_x() as usize,
        thread::block_dim_x() as usize,
    );
    // SAFETY: the launch gives four bytes a thread; the barrier separates writes from reads.
    unsafe {
        tile.add(i).write(thread::index_1d());
        thread::sync_threads();
        out.set(thread::global_index(), same.add(threads - 1 - i).read());
    }
}

#[test]
fn dynamic_shared_memory_is_one_array_a_block() {
    under_all_schedules(|simulator| {
        let mut out = vec![0; 4 * 50];
        let config = LaunchConfig::new(4, 50).with_shared_bytes(200);
        launch(simulator, &reverse, config, (slice_mut(&mut out),)).unwrap();
        for (block, out) in out.chunks(50).enumerate() {
            assert!((0..50).all(|i| out[i] as usize == block * 50 + 49 - i));
        }
    });
}

/// Also by a launch that gives no memory at all. Nothing else is destroyed.
#[test]
fn writes_past_the_end_are_found() {
    for seed in SEEDS {
        for (threads, given) in [(50, 196), (50, 0), (1024, 0), (1024, 64)] {
            let mut out = vec![0; threads as usize];
            let config = LaunchConfig::new(1, threads).with_shared_bytes(given);
            let simulator = Simulator::with_seed(seed);
            let neighbours: Vec<_> = (0..64).map(|i| vec![i; 4096]).collect();
            let error = launch(&simulator, &reverse, config, (slice_mut(&mut out),)).unwrap_err();
            let bytes = match error {
                SimError::SharedOverrun { bytes, .. } => bytes,
                // Behind the zone that alignment leaves.
                SimError::NoMemory { memory, .. } => match *memory {
                    Accessed::Shared { bytes, .. } => bytes,
                    other => panic!("{other}"),
                },
                other => panic!("{other}"),
            };
            assert_eq!(bytes, given as usize);
            let is_whole = |(i, numbers): (usize, &Vec<usize>)| numbers.iter().all(|&n| n == i);
            assert!(neighbours.iter().enumerate().all(is_whole));
        }
    }
}

/// Reads behind an array that the block has written.
#[kernel]
unsafe fn read_behind(out: DeviceSliceMut<f32>) {
    let tile = shared::dynamic_shared_mem::<f32>();
    let i = thread::thread_idx_x() as usize;
    // SAFETY: in range for 16 threads and 64 bytes, but for the read, which the test is about: the
    // memory behind the array belongs to it in the simulator.
    unsafe {
        tile.add(i).write(1.0);
        out.set(i, tile.add(16 + i).read());
    }
}

#[test]
fn reads_past_the_end_show_in_results() {
    let run = |simulator: &Simulator| {
        let mut out = vec![0.0; 16];
        let config = LaunchConfig::new(1, 16).with_shared_bytes(64);
        launch(simulator, &read_behind, config, (slice_mut(&mut out),)).unwrap();
        out.into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let results: Vec<_> = SEEDS.map(|seed| run(&Simulator::with_seed(seed))).collect();
    for (i, result) in results.iter().enumerate() {
        assert!(!results[..i].contains(result));
        assert!(result.iter().any(|bits| bits != &result[0]));
    }
}

/// Reads both kinds of shared memory before anything was written there.
#[kernel]
unsafe fn uninitialised(out: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 8];
    let dynamic = shared::dynamic_shared_mem::<u32>();
    let i = thread::thread_idx_x() as usize;
    let base = thread::block_idx_x() as usize * 16;
    // SAFETY: in range for 8 threads and 32 bytes of dynamic memory. The simulator fills what
    // is read here, although a GPU does not.
    unsafe {
        out.set(base + i, tile.add(i).read());
        out.set(base + 8 + i, dynamic.add(i).read());
    }
}

#[test]
fn uninitialised_shared_memory_differs_between_seeds() {
    let config = LaunchConfig::new(2, 8).with_shared_bytes(32);
    let run = |simulator: &Simulator| {
        let mut out = vec![0; 32];
        launch(simulator, &uninitialised, config, (slice_mut(&mut out),))?;
        Ok(out)
    };
    let plain = run(&Simulator::default()).unwrap();
    assert!(plain.iter().all(|&word| word == u32::MAX), "{plain:?}");
    // Each seed fills it differently, and the same every time.
    for seed in SEEDS {
        assert_eq!(differing_seeds([seed, seed], run).unwrap(), None);
        let difference = differing_seeds([seed, seed + 1], run).unwrap();
        let (a, b) = difference.expect("other content").results;
        assert!(a.iter().zip(&b).all(|(a, b)| a != b));
    }
    // Blocks differ too, and the two memories.
    let mut words = run(&Simulator::with_seed(5)).unwrap();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 32);
}

#[kernel]
unsafe fn uses_32_kib_and_more(more: u32) {
    shared_array![u64; 4096];
    if more > 0 {
        shared_array![u64; 2049];
    }
}

#[test]
fn shared_memory_is_limited() {
    let run = |bytes, more, limits| {
        let config = LaunchConfig::new(1, 1).with_shared_bytes(bytes);
        let simulator = Simulator::default().limits(limits);
        launch(&simulator, &uses_32_kib_and_more, config, (more,))
    };
    let limits = Limits::default();
    run(0, 0, limits).unwrap();
    run(195 << 10, 0, limits).unwrap();
    let error = run((195 << 10) + 1, 0, limits).unwrap_err();
    assert!(
        matches!(
            error,
            SimError::SharedMemory {
                value: 232_449,
                limit: 232_448,
                ..
            }
        ),
        "{error}"
    );
    let error = run((227 << 10) + 1, 0, limits).unwrap_err();
    assert!(
        matches!(
            error,
            SimError::LimitExceeded {
                value: 232_449,
                limit: 232_448,
                ..
            }
        ),
        "{error}"
    );
    let error = run(0, 1, limits).unwrap_err();
    assert!(
        matches!(
            error,
            SimError::SharedMemory {
                value: 49_160,
                limit: 49_152,
                ..
            }
        ),
        "{error}"
    );
    let mut limits = limits;
    limits.static_shared_bytes = 50 << 10;
    run(0, 1, limits).unwrap();
}

/// Counts at a barrier, which needs no shared memory of the kernel.
#[kernel]
unsafe fn counts_with_all_memory() {
    shared_array![u64; 6144];
    let is_fifth = u32::from(thread::thread_idx_x() == 5);
    assert_eq!(thread::sync_threads_or(is_fifth), 1);
    assert_eq!(thread::sync_threads_count(is_fifth), 1);
}

#[test]
fn counting_barriers_take_no_shared_memory() {
    let config = LaunchConfig::new(2, 40).with_shared_bytes(179 << 10);
    launch(&Simulator::default(), &counts_with_all_memory, config, ()).unwrap();
}
