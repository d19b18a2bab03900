//! Barriers: what they order, and the mistakes around them.

mod common;

use common::{SEEDS, launch, slice, slice_mut, under_all_schedules};
use cuda_std::host::{Dim3, LaunchConfig};
use cuda_std::prelude::*;
use simt::{SimError, Simulator, differing_seeds};

/// Sums each block's values in a tree through shared memory.
#[kernel(block = 128)]
unsafe fn block_sum(input: DeviceSlice<u32>, sums: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 128];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: indices are below 128, and a barrier lies between each write and the reads of it.
    unsafe {
        tile.add(i).write(input.at(thread::global_index()));
        let mut distance = 64;
        while distance > 0 {
            thread::sync_threads();
            if i < distance {
                *tile.add(i) += tile.add(i + distance).read();
            }
            distance /= 2;
        }
        if i == 0 {
            sums.set(thread::block_idx_x() as usize, tile.read());
        }
    }
}

/// The same without the barrier in the loop.
#[kernel(block = 128)]
unsafe fn block_sum_without_barrier(input: DeviceSlice<u32>, sums: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 128];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: indices are below 128; the race is what the test is about.
    unsafe {
        tile.add(i).write(input.at(thread::global_index()));
        let mut distance = 64;
        while distance > 0 {
            if i < distance {
                // Wrapping: the other value may still be what the memory held at the start.
                let other = tile.add(i + distance).read();
                tile.add(i).write(tile.add(i).read().wrapping_add(other));
            }
            distance /= 2;
        }
        thread::sync_threads();
        if i == 0 {
            sums.set(thread::block_idx_x() as usize, tile.read());
        }
    }
}

#[test]
fn a_barrier_orders_a_block() {
    let input: Vec<u32> = (0..128 * 5).collect();
    let expected: Vec<u32> = input.chunks(128).map(|chunk| chunk.iter().sum()).collect();
    under_all_schedules(|simulator| {
        let mut sums = [0; 5];
        let args = (slice(&input), slice_mut(&mut sums));
        launch(simulator, &block_sum, LaunchConfig::new(5, 128), args).unwrap();
        assert_eq!(sums, *expected);
    });
}

#[test]
fn a_missing_barrier_shows_between_seeds() {
    let input: Vec<u32> = (1..=128).collect();
    let run = |kernel| {
        differing_seeds(SEEDS, |simulator| {
            let mut sum = [0];
            let args = (slice(&input), slice_mut(&mut sum));
            launch(simulator, kernel, LaunchConfig::new(1, 128), args)?;
            Ok(sum)
        })
        .unwrap()
    };
    let difference = run(&block_sum_without_barrier).expect("a race");
    assert_ne!(difference.results.0, difference.results.1);
    assert_eq!(run(&block_sum), None);
}

#[kernel]
#[allow(clippy::if_same_then_else)]
unsafe fn two_barriers(divide: u32) {
    if thread::thread_idx_x() < divide {
        thread::sync_threads();
    } else {
        thread::sync_threads();
    }
}

#[test]
fn threads_at_different_barriers_are_an_error() {
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        let config = LaunchConfig::new(1, (8, 8));
        let error = launch(&simulator, &two_barriers, config, (5,)).unwrap_err();
        let SimError::DivergentBarrier {
            kernel,
            block,
            first,
            second,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(*kernel, "two_barriers");
        assert_eq!(*block, Dim3::from((0, 0, 0)));
        assert_eq!(first.0, Dim3::from((0, 0, 0)));
        assert_eq!(second.0, Dim3::from((5, 0, 0)));
        assert_eq!(second.1.line(), first.1.line() + 2);
        let text = error.to_string();
        assert!(
            text.contains("thread (5, 0, 0)") && text.contains("tests/barrier.rs"),
            "{text}"
        );
    }
    let config = LaunchConfig::new(3, 64);
    for uniform in [0, 64] {
        launch(&Simulator::default(), &two_barriers, config, (uniform,)).unwrap();
    }
}

#[kernel]
unsafe fn early_return(len: u32) {
    if thread::global_index() >= len as usize {
        return;
    }
    thread::sync_threads();
}

#[test]
fn threads_that_end_before_a_barrier_are_an_error() {
    let config = LaunchConfig::new(3, 64);
    launch(&Simulator::default(), &early_return, config, (192,)).unwrap();
    for seed in SEEDS {
        // Blocks 0 and 2 are uniform: all threads wait, or none.
        let error = launch(&Simulator::with_seed(seed), &early_return, config, (122,)).unwrap_err();
        let SimError::BarrierNotReached {
            place, finished, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(place.block, Dim3::from((1, 0, 0)));
        assert_eq!(place.thread, Dim3::from((0, 0, 0)));
        let missing: Vec<_> = (58..64).map(|x| Dim3::from((x, 0, 0))).collect();
        assert_eq!(*finished, missing);
        let text = error.to_string();
        assert!(text.contains("and 2 more have finished"), "{text}");
    }
}

/// The block's threads hand a value around in a ring, one barrier a step.
#[kernel]
unsafe fn ring(steps: u32, out: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 1024];
    let i = thread::index_in_block() as usize;
    let threads = (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize;
    // SAFETY: `i` is below the block's size, which is at most 1024 and the length of `out`;
    // barriers separate writes and reads.
    unsafe {
        let mut value = i as u32;
        for _ in 0..steps {
            tile.add(i).write(value);
            thread::sync_threads();
            value = tile.add((i + 1) % threads).read();
            thread::sync_threads();
        }
        out.set(i, value);
    }
}

#[test]
fn blocks_of_any_size_synchronise() {
    for shape in [(1, 1, 1), (31, 1, 1), (33, 1, 1), (7, 5, 3), (1024, 1, 1)] {
        let shape = Dim3::from(shape);
        let threads = shape.count() as usize;
        under_all_schedules(|simulator| {
            let mut out = vec![0; threads];
            let config = LaunchConfig::new(1, (shape.x, shape.y, shape.z));
            launch(simulator, &ring, config, (10, slice_mut(&mut out))).unwrap();
            assert!((0..threads).all(|i| out[i] as usize == (i + 10) % threads));
        });
    }
}
