//! Measures how many times a second the simulator switches from thread to thread:
//! `cargo run --release --package gridstride_simt --example switch_rate`.

use cuda_std::host::{Kernel, LaunchConfig};
use cuda_std::prelude::*;
use simt::Simulator;
use std::time::Instant;

const ROUNDS: u32 = 100_000;

/// One barrier a round, as in a kernel that goes through a sequence character by character.
#[kernel]
pub unsafe fn barriers(rounds: u32, sums: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 1024];
    let i = thread::index_in_block() as usize;
    let threads = thread::block_dim_x() as usize;
    let mut sum = 0_u32;
    // SAFETY: `i` is below the size of the block, which is at most 1024; the barrier separates
    // writes from reads, and the two halves of the tile each round from the next.
    unsafe {
        for round in 0..rounds {
            let half = (round as usize % 2) * 512;
            tile.add(half + i).write(round);
            thread::sync_threads();
            sum = sum.wrapping_add(tile.add(half + (i + 1) % threads).read());
        }
        sums.set(thread::global_index(), sum);
    }
}

/// One shuffle a round.
#[kernel]
pub unsafe fn shuffles(rounds: u32, sums: DeviceSliceMut<u32>) {
    let mut sum = thread::thread_idx_x();
    for _ in 0..rounds {
        sum = sum.wrapping_add(warp::shuffle_xor(warp::FULL_MASK, sum, 1));
    }
    // SAFETY: there is an element for each thread.
    unsafe { sums.set(thread::global_index(), sum) };
}

/// Nothing but the start and the end of each thread.
#[kernel]
pub unsafe fn starts(rounds: u32, sums: DeviceSliceMut<u32>) {
    // SAFETY: there is an element for each thread.
    unsafe { sums.set(thread::global_index(), rounds) };
}

fn measure(
    kernel: &Kernel<(u32, DeviceSliceMut<u32>)>,
    rounds: u32,
    config: LaunchConfig,
    seed: u64,
) -> Result<(), simt::SimError> {
    let threads = config.grid.count() * config.block.count();
    let mut sums = vec![0; threads as usize];
    let simulator = Simulator::with_seed(seed);
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        // SAFETY: `sums` has an element for each thread, and nothing else uses it now.
        unsafe {
            let sums = DeviceSliceMut::from_raw_parts(sums.as_mut_ptr(), sums.len());
            simulator.launch(kernel, config, (rounds, sums))?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{:<9} {:>5} blocks of {:>4} threads, seed {seed}: {:>6.1} M switches/s",
        kernel.name(),
        config.grid.x,
        config.block.x,
        (threads * u64::from(rounds)) as f64 / best / 1e6,
    );
    Ok(())
}

fn main() -> Result<(), simt::SimError> {
    for seed in [0, 1] {
        for block in [32, 128, 512] {
            measure(&barriers, ROUNDS, LaunchConfig::new(1, block), seed)?;
        }
        measure(&shuffles, ROUNDS, LaunchConfig::new(1, 128), seed)?;
        measure(&starts, 1, LaunchConfig::new(10_000, 128), seed)?;
    }
    Ok(())
}
