//! Copies of tiles of arrays, and barriers that count arrivals and bytes.

use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::shared::{address, dynamic_shared_mem};
use cuda_std::tensor::{self, TensorMap};
use cuda_std::{cluster, registers, tensor_map};

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
    // SAFETY: a stage is copied to when all that read it have arrived, and read when it has come. All
    // threads of a warp group give away or take registers, once.
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

/// In a cluster of two, each block copies one half of each tile to both blocks, which then add the
/// tiles as [`summed_tiles`] does, one warp of each block.
///
/// # Safety
/// The map has tiles of 32 columns and 8 rows, `2 * rounds` below each other; `out` has the words of
/// two halves for each block; dynamic shared memory has room for a tile and two barriers.
#[kernel(block = 128, cluster = 2)]
pub unsafe fn shared_tiles(map: TensorMap, rounds: u32, out: DeviceSliceMut<u32>) {
    let memory = address(dynamic_shared_mem::<u32>());
    let full = Barrier::at(memory.offset(TILE));
    let empty = Barrier::at(memory.offset(TILE + mbarrier::BYTES));
    let (thread, rank) = (thread::thread_idx_x(), cluster::rank());
    // SAFETY: both blocks have begun and initialised their barriers before the first copy, and none
    // ends before the last arrival; the tile is copied to when both have read it.
    unsafe {
        if thread == 0 {
            full.init(1);
            empty.init(2 * 128);
            mbarrier::publish();
        }
        cluster::sync();
        let mut sums = [0u32; 4];
        for round in 0..rounds {
            if thread == 0 {
                empty.wait_cluster((round + 1) % 2);
                full.arrive_and_expect(TILE);
                let (to, at) = (memory.offset(rank * TILE / 2), 16 * round + 8 * rank);
                let map = tensor_map!(shared_tiles, 0, map);
                tensor::load_to(0b11, to, map, [0, at as i32, 0], full);
            }
            full.wait(round % 2);
            let tile = dynamic_shared_mem::<u32>();
            unrolled! { word in [0 1 2 3] {
                let value = tile.add(thread as usize + 128 * word).read();
                sums[word] = sums[word].wrapping_add(value);
            }}
            empty.arrive_at(0);
            empty.arrive_at(1);
        }
        cluster::sync();
        if thread == 0 {
            full.invalidate();
            empty.invalidate();
        }
        let first = thread::block_idx_x() as usize * TILE as usize / 4 + thread as usize;
        unrolled! { word in [0 1 2 3] {
            out.set(first + 128 * word, sums[word]);
        }}
    }
}
