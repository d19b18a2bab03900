//! Copies of tiles of arrays, and barriers that count arrivals and bytes.

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::shared::{address, dynamic_shared_mem};
use cuda_std::tensor::{self, TensorMap};
use cuda_std::{registers, tensor_map};

/// Bytes of a tile.
pub const TILE: u32 = 2048;

/// Copies a tile of [`TILE`] bytes, from `at` on, and writes its words as they stand in shared
/// memory.
///
/// # Safety
/// The map has such tiles; `out` has a tile's words; dynamic shared memory has 8 bytes more.
#[kernel(block = 128)]
pub unsafe fn copied_tile(map: TensorMap, at: [i32; 3], out: DeviceSliceMut<u32>) {
    let tile = dynamic_shared_mem::<u32>();
    let barrier = Barrier::at(address(tile).offset(TILE));
    let i = thread::thread_idx_x() as usize;
    // SAFETY: the caller vouches for the memory; the tile is read after the wait.
    unsafe {
        if i == 0 {
            barrier.init(1);
            mbarrier::publish();
            let map = tensor_map!(copied_tile, 0, map);
            map.prefetch();
            barrier.arrive_and_expect(TILE);
            tensor::load(address(tile), map, at, barrier);
        }
        thread::sync_threads();
        barrier.wait(0);
        for word in (i..TILE as usize / 4).step_by(128) {
            out.set(word, tile.add(word).read());
        }
    }
}

/// Stages of [`summed_tiles`].
pub const STAGES: u32 = 3;

/// Adds, word by word, the tiles of 32 columns and 16 rows that lie below each other in a matrix of
/// words: one warp group copies them, and two add half of the words each.
///
/// # Safety
/// The block has 384 threads. The map has such tiles, `rounds` of them; `out` has a tile's words; dynamic shared memory has
/// room for [`STAGES`] tiles and twice as many barriers.
#[kernel(max_block = 384, min_blocks = 1)]
pub unsafe fn summed_tiles(map: TensorMap, rounds: u32, out: DeviceSliceMut<u32>) {
    let memory = address(dynamic_shared_mem::<u32>());
    let barriers = memory.offset(STAGES * TILE);
    let full = |stage: u32| Barrier::at(barriers.offset(stage * mbarrier::BYTES));
    let empty = |stage: u32| Barrier::at(barriers.offset((STAGES + stage) * mbarrier::BYTES));
    let thread = thread::thread_idx_x();
    // SAFETY: a stage is copied to when all that read it have arrived, and read when it has come.
    unsafe {
        if thread == 0 {
            for stage in 0..STAGES {
                full(stage).init(1);
                empty(stage).init(2 * 128);
            }
            mbarrier::publish();
        }
        thread::sync_threads();
        if thread < 128 {
            registers::keep::<24>();
            if thread == 0 {
                let map = tensor_map!(summed_tiles, 0, map);
                for round in 0..rounds {
                    let stage = round % STAGES;
                    empty(stage).wait((round / STAGES + 1) % 2);
                    full(stage).arrive_and_expect(TILE);
                    let at = [0, 16 * round as i32, 0];
                    tensor::load(memory.offset(stage * TILE), map, at, full(stage));
                }
            }
            return;
        }
        registers::take::<240>();
        let me = (thread - 128) as usize;
        let mut sums = [0u32; 2];
        for round in 0..rounds {
            let stage = round % STAGES;
            full(stage).wait(round / STAGES % 2);
            let tile = dynamic_shared_mem::<u32>().add((stage * TILE / 4) as usize);
            unrolled! { half in [0 1] {
                sums[half] = sums[half].wrapping_add(tile.add(me + 256 * half).read());
            }}
            empty(stage).arrive();
        }
        out.set(me, sums[0]);
        out.set(me + 256, sums[1]);
    }
}
