//! Launches in the simulator, of any shape: what a device refuses is an error, and what runs gives
//! the sums of the definition under every schedule.

#![no_main]

use arbitrary::Unstructured;
use cuda_std::host::{LaunchConfig, MAX_THREADS};
use cuda_std::prelude::*;
use libfuzzer_sys::fuzz_target;
use simt::{Limits, SimError, Simulator};

/// Threads of a launch that is run, not only checked.
const MOST_THREADS: u64 = 2048;

/// Adds the numbers of each block in dynamic shared memory, in a tree.
#[kernel]
unsafe fn sums(numbers: DeviceSlice<u32>, out: DeviceSliceMut<u32>) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let rank = thread::index_in_block() as usize;
    let index = thread::index() as usize;
    let size = (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize;
    assert!(index < numbers.len(), "no number for thread {index}");
    // SAFETY: the index is below the length. Behind the shared memory of a launch is memory that the
    // simulator watches, and barriers separate the accesses of different threads.
    unsafe {
        tile.add(rank).write(numbers.at(index));
        thread::sync_threads();
        let mut step = size.next_power_of_two() / 2;
        while step > 0 {
            if rank < step && rank + step < size {
                let sum = tile
                    .add(rank)
                    .read()
                    .wrapping_add(tile.add(rank + step).read());
                tile.add(rank).write(sum);
            }
            thread::sync_threads();
            step /= 2;
        }
        if rank == 0 {
            out.set(index / size, tile.read());
        }
    }
}

/// The threads from `threshold` on leave before the barrier.
#[kernel]
unsafe fn leaves(threshold: u32) {
    if thread::index_in_block() < threshold {
        thread::sync_threads();
    }
}

/// Votes of warps, of which the last may be shorter.
#[kernel(max_block = 96)]
unsafe fn votes(out: DeviceSliceMut<u32>) {
    let rank = thread::index_in_block();
    let size = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let lanes = (size - rank / 32 * 32).min(32);
    let mask = u32::MAX >> (32 - lanes);
    let odd = warp::ballot(mask, thread::index() % 3 == 1);
    // SAFETY: there is an element for each thread.
    unsafe { out.set(thread::index() as usize, odd) };
}

/// A size along an axis, mostly small.
fn size(u: &mut Unstructured) -> arbitrary::Result<u32> {
    Ok(match u.int_in_range(0..=9)? {
        0 => 0,
        1..=6 => u.int_in_range(1..=40)?,
        7 => u.int_in_range(1..=1100)?,
        8 => u.int_in_range(65_530..=65_540)?,
        _ => u.arbitrary()?,
    })
}

fn run(u: &mut Unstructured) -> arbitrary::Result<()> {
    let grid = [size(u)?, size(u)?, size(u)?];
    let block = [size(u)?, size(u)?, size(u)?];
    let mut limits = Limits::default();
    if u.ratio(1, 8)? {
        limits.block_threads = u.int_in_range(0..=2048)?;
        limits.shared_bytes = u.int_in_range(0..=1 << 18)?;
    }
    let count = |shape: [u32; 3]| shape.iter().map(|&size| u128::from(size)).product::<u128>();
    let (blocks, threads) = (count(grid), count(block));
    let most = [u128::from(i32::MAX as u32), 65_535, 65_535];
    let fits = blocks > 0
        && threads > 0
        && grid
            .iter()
            .zip(most)
            .all(|(&size, most)| u128::from(size) <= most)
        && threads <= u128::from(limits.block_threads.min(MAX_THREADS))
        && block[0] <= 1024
        && block[1] <= 1024
        && block[2] <= 64;
    if fits && blocks * threads > u128::from(MOST_THREADS) {
        return Ok(());
    }
    let simulator = Simulator::default()
        .seed(u.arbitrary()?)
        .parallel(u.ratio(1, 4)?)
        .limits(limits);
    let needed = 4 * threads.min(1 << 20) as u32;
    let shared_bytes = match u.int_in_range(0..=7)? {
        0 => needed.max(u.arbitrary()?),
        1 => needed.saturating_sub(u.int_in_range(1..=64)?),
        _ => needed,
    };
    let config = LaunchConfig::new((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]))
        .with_shared_bytes(shared_bytes);
    let fits_shared = fits && shared_bytes <= limits.shared_bytes;
    match u.int_in_range(0..=5)? {
        0 => {
            let threshold = u.int_in_range(0..=1100)?;
            // SAFETY: the kernel accesses no memory.
            let found = unsafe { simulator.launch(&leaves, config, (threshold,)) };
            let leave = threshold > 0 && u128::from(threshold) < threads;
            assert_eq!(found.is_ok(), fits_shared && !leave, "{found:?}");
        }
        1 => {
            let mut out = vec![0; if fits { (blocks * threads) as usize } else { 0 }];
            // SAFETY: the slice has an element for each thread, and covers `out`, which nothing else
            // uses during the launch.
            let found = unsafe {
                let slice = DeviceSliceMut::from_raw_parts(out.as_mut_ptr(), out.len());
                simulator.launch(&votes, config, (slice,))
            };
            if !fits_shared || threads > 96 {
                assert!(found.is_err());
                return Ok(());
            }
            found.unwrap();
            for block in 0..blocks as usize {
                let first = block * threads as usize;
                for warp in (0..threads as usize).step_by(32) {
                    let lanes = warp..(warp + 32).min(threads as usize);
                    let vote = |lane: usize| u32::from((first + lane) % 3 == 1) << (lane - warp);
                    let expected: u32 = lanes.clone().map(vote).sum();
                    assert!(lanes.clone().all(|lane| out[first + lane] == expected));
                }
            }
        }
        _ => {
            let total = if fits { (blocks * threads) as usize } else { 0 };
            let missing = if u.ratio(1, 8)? {
                u.int_in_range(0..=8)?
            } else {
                0
            };
            let numbers: Vec<u32> = (0..total.saturating_sub(missing))
                .map(|index| (index as u32).wrapping_mul(2_654_435_761))
                .collect();
            let mut out = vec![0u32; if fits { blocks as usize } else { 0 }];
            // SAFETY: the slices cover `numbers` and `out`, which nothing else uses during the
            // launch. The kernel checks its indices, and there is an element for each block.
            let found = unsafe {
                let slices = (
                    DeviceSlice::from_raw_parts(numbers.as_ptr(), numbers.len()),
                    DeviceSliceMut::from_raw_parts(out.as_mut_ptr(), out.len()),
                );
                simulator.launch(&sums, config, slices)
            };
            if !fits_shared {
                assert!(found.is_err());
                return Ok(());
            }
            if numbers.len() < total {
                assert!(
                    matches!(
                        found,
                        Err(SimError::Panic { .. }
                            | SimError::SharedOverrun { .. }
                            | SimError::NoMemory { .. })
                    ),
                    "{found:?}"
                );
                return Ok(());
            }
            // The simulator looks at the bytes right behind shared memory.
            if let Err(error) = &found {
                assert!(shared_bytes < needed, "{error}");
                return Ok(());
            }
            if shared_bytes >= needed {
                for (block, &sum) in numbers.chunks(threads as usize).zip(&out) {
                    let expected = block
                        .iter()
                        .fold(0, |sum: u32, &number| sum.wrapping_add(number));
                    assert_eq!(sum, expected);
                }
            }
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Behind the end of the data, numbers are 0.
    run(&mut Unstructured::new(data)).expect("no choice among nothing");
});
