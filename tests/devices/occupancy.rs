//! Occupancy: what it is calculated from, and the block that it suggests.

use cuda_std::prelude::*;
use cuda_std_tests_kernels::launches::{add_to_all, nothing};
use gridstride::device::{DeviceKind, Module};
use gridstride::{Device, Error};

use crate::OF_TESTS;
use crate::common::{assert_error, module, simulator, with_kernels};

static MODULE: Module = module!("occupancy_test", "kernels-gpu/ptx/cuda_std_tests", "sm_70");

/// A kernel for blocks of one shape, which runs nowhere.
#[kernel(block = (48, 2))]
fn of_one_shape() {}

/// A kernel for blocks of less than a warp, which runs nowhere.
#[kernel(max_block = 20)]
fn of_few_threads() {}

/// A kernel for blocks that are no whole warps, which runs nowhere.
#[kernel(max_block = 100)]
fn of_some_warps() {}

/// A kernel for clusters of two blocks, which runs nowhere.
#[kernel(block = 64, cluster = 2)]
fn of_clusters() {}

#[test]
fn more_shared_memory_or_larger_blocks_never_let_more_blocks_run() {
    for device in with_kernels() {
        let blocks = |threads: u32, shared_bytes| {
            let found = (device.occupancy(&MODULE, &nothing, threads, shared_bytes)).unwrap();
            assert_eq!(found.threads_per_block, threads);
            assert!((0.0..=1.0).contains(&found.share()), "{found:?}");
            let is_simulated = device.kind() == DeviceKind::Simulator;
            assert_eq!(found.registers_per_thread.is_none(), is_simulated);
            let resident = found.blocks_per_multiprocessor * threads;
            assert!(resident <= found.threads_per_multiprocessor, "{found:?}");
            found.blocks_per_multiprocessor
        };
        assert!(blocks(1, 0) > 0);
        let (mut before, mut by_memory) = (u32::MAX, Vec::new());
        for shared_bytes in [0, 1 << 10, 4 << 10, 16 << 10, 40 << 10] {
            let now = blocks(128, shared_bytes);
            assert!(now <= before);
            before = now;
            by_memory.push(now);
        }
        assert!(by_memory[4] < by_memory[0], "{by_memory:?}");
        let by_threads = [32, 64, 256, 512, 1024].map(|threads| blocks(threads, 0));
        assert!(by_threads.is_sorted_by(|a, b| a >= b), "{by_threads:?}");
        // All that a block may have.
        let most = device.info().shared_memory_per_block.unwrap();
        assert_eq!(blocks(32, most), 1);
    }
}

/// By the limits of compute capability 9.0: 2048 threads, 32 blocks and 228 KiB, of which each block
/// takes 1 KiB.
#[test]
fn the_simulator_has_the_limits_of_compute_capability_9() {
    let device = simulator();
    for (threads, shared_bytes, expected, share) in [
        (1, 0, 32, 0.5),
        (32, 0, 32, 0.5),
        (64, 0, 32, 1.0),
        (65, 0, 21, 63.0 / 64.0),
        (1024, 0, 2, 1.0),
        (672, 0, 3, 63.0 / 64.0),
        (64, 7026, 29, 58.0 / 64.0),
        (64, 7027, 28, 56.0 / 64.0),
        (64, 227 << 10, 1, 2.0 / 64.0),
    ] {
        let found = device.occupancy(&MODULE, &nothing, threads, shared_bytes);
        let found = found.unwrap();
        let blocks = found.blocks_per_multiprocessor;
        assert_eq!((blocks, found.share()), (expected, share), "{threads}");
    }
}

#[test]
fn the_suggested_block_is_the_largest_of_the_best() {
    for device in with_kernels() {
        for bytes_per_thread in [0, 8, 24, 100] {
            let shared_bytes = |threads: u32| threads * bytes_per_thread;
            let resident = |threads: u32| {
                let found = device.occupancy(&MODULE, &nothing, threads, shared_bytes(threads));
                found.map_or(0, |found| found.blocks_per_multiprocessor * threads)
            };
            let suggested = device.suggested_block(&MODULE, &nothing, shared_bytes);
            let suggested = suggested.unwrap();
            for threads in (32..=1024).step_by(32) {
                let (best, other) = (resident(suggested), resident(threads));
                let is_better = best > other || best == other && suggested >= threads;
                assert!(is_better, "{device}: {suggested}, {threads}");
            }
        }
        // A kernel for at most 256 threads.
        let bounded = device.suggested_block(&MODULE, &add_to_all, |_| 0);
        assert_eq!(bounded.unwrap(), 256);
    }
}

#[test]
fn suggestions_keep_to_the_bound_of_the_kernel() {
    let device = simulator();
    let none = |_| 0;
    let suggested = [
        device.suggested_block(&OF_TESTS, &of_one_shape, none),
        device.suggested_block(&OF_TESTS, &of_few_threads, none),
        device.suggested_block(&OF_TESTS, &of_some_warps, none),
    ];
    // 64 threads: 32 blocks; 96: 21; 32: 32.
    assert_eq!(suggested.map(Result::unwrap), [96, 20, 64]);
    let suggested = device.suggested_block(&OF_TESTS, &of_clusters, none);
    assert_eq!(suggested.unwrap(), 64);
    let found = device.occupancy(&OF_TESTS, &of_clusters, 64, 0).unwrap();
    assert_eq!(found.blocks_per_multiprocessor, 32);
}

#[test]
fn blocks_beyond_a_limit_are_refused() {
    for device in with_kernels() {
        let most = device.info().shared_memory_per_block.unwrap();
        for (threads, shared_bytes, said) in [
            (1025, 0, "1025"),
            (0, 0, "no extent along x"),
            (32, most + 1, "bytes of shared memory"),
        ] {
            let found = device.occupancy(&MODULE, &nothing, threads, shared_bytes);
            assert_error!(found, Error::Launch { message, .. } if message.contains(said));
        }
        let wrong = device.occupancy(&OF_TESTS, &of_one_shape, 96, 0);
        assert_error!(wrong, Error::Launch { message, .. } if message.contains("(48, 2, 1) alone"));
        let suggested = device.suggested_block(&MODULE, &nothing, |_| most + 1);
        assert_error!(suggested, Error::Launch { kernel, .. } if kernel == "nothing");
    }
    let cpu = Device::cpu();
    let found = cpu.occupancy(&MODULE, &nothing, 32, 0);
    assert_error!(found, Error::Unavailable { reason, .. } if reason.contains("nothing"));
    let found = cpu.suggested_block(&MODULE, &nothing, |_| 0);
    assert_error!(found, Error::Unavailable { device, .. } if device == "cpu");
}
