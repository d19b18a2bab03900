//! Races are reported with both threads and both lines, and what is ordered is not.

mod common;

use common::{SEEDS, launch, slice, slice_mut};
use cuda_std::atomic::{self, mid};
use cuda_std::host::{AccessKind, KernelArgs, LaunchConfig};
use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::shared::{address, dynamic_shared_mem};
use cuda_std::thread::{device_fence, sync_threads};
use cuda_std::wgmma::{self, Operand};
use cuda_std::{async_copy, cluster};
use simt::{Race, SimError, Simulator};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs under every seed; all must report a race, of which the first is returned.
fn race_of(run: impl Fn(&Simulator) -> Result<(), SimError>) -> Race {
    let mut races = SEEDS.map(|seed| match run(&Simulator::default().seed(seed)) {
        Err(SimError::Race(race)) => *race,
        other => panic!("seed {seed}: {other:?}"),
    });
    let first = races.next().unwrap();
    assert_eq!(races.count() as u64, SEEDS.end - 1);
    first
}

fn is_silent(run: impl Fn(&Simulator) -> Result<(), SimError>) {
    for seed in SEEDS {
        run(&Simulator::default().seed(seed)).unwrap();
    }
}

/// The line of this file whose comment is `mark`.
fn site(mark: &str) -> String {
    let mark = format!("// {mark}");
    let mut lines = include_str!("race.rs").lines();
    let line = lines.position(|line| line.ends_with(&mark)).unwrap() + 1;
    format!("tests/race.rs:{line}")
}

#[track_caller]
fn accesses(race: &Race, marks: [(AccessKind, &str); 2]) {
    for (access, (kind, mark)) in [&race.first, &race.second].into_iter().zip(marks) {
        assert_eq!(access.kind, kind, "{race}");
        assert!(access.site.contains(&site(mark)), "{race}");
    }
}

/// Runs a kernel of 64 threads in each of `blocks` blocks on 64 numbers each.
fn run<A: KernelArgs>(
    kernel: &cuda_std::host::Kernel<A>,
    blocks: u32,
    args: impl Fn(&mut [u32]) -> A,
) -> impl Fn(&Simulator) -> Result<(), SimError> {
    move |simulator| {
        let mut data = vec![0; 64 * blocks as usize];
        let config = LaunchConfig::new(blocks, 64).with_shared_bytes(512);
        launch(simulator, kernel, config, args(&mut data))
    }
}

#[kernel(block = 64)]
unsafe fn neighbour(out: DeviceSliceMut<u32>, with_barrier: bool) {
    let tile = shared_array![u32; 64];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: all indices are below 64.
    unsafe {
        tile.add(i).write(i as u32); // write the tile
        if with_barrier {
            sync_threads();
        }
        out.set(thread::index() as usize, tile.add((i + 1) % 64).read()); // read the tile
    }
}

#[test]
fn a_missing_barrier_in_a_tile() {
    let race = race_of(run(&neighbour, 1, |data| (slice_mut(data), false)));
    assert!(race.is_shared);
    assert_eq!((race.kernel, race.bytes), ("neighbour", 4));
    // Thread 0 reads before thread 1 writes.
    accesses(
        &race,
        [
            (AccessKind::Read, "read the tile"),
            (AccessKind::Write, "write the tile"),
        ],
    );
    assert_eq!(
        (race.first.thread, race.second.thread),
        ((0, 0, 0).into(), (1, 0, 0).into())
    );
    let message = SimError::Race(Box::new(race)).to_string();
    let starts = "kernel `neighbour`: race on 4 bytes of shared memory: block (0, 0, 0), thread (0, 0, 0) \
                  reads at ";
    assert!(message.starts_with(starts), "{message}");
    let ends = "in no order; put a barrier between them (sync_threads, or sync_warp within a warp)";
    assert!(message.ends_with(ends), "{message}");
    is_silent(run(&neighbour, 4, |data| (slice_mut(data), true)));
}

#[kernel(block = 64)]
unsafe fn loop_of_tiles(out: DeviceSliceMut<u32>, with_second_barrier: bool) {
    let tile = shared_array![u32; 64];
    let i = thread::thread_idx_x() as usize;
    for round in 0..3 {
        // SAFETY: all indices are below 64.
        unsafe {
            tile.add(i).write(round); // write the next tile
            sync_threads();
            out.set(i, out.at(i) + tile.add((i + 1) % 64).read()); // read the last tile
            if with_second_barrier {
                sync_threads();
            }
        }
    }
}

#[test]
fn a_tile_that_is_overwritten_before_all_have_read() {
    let race = race_of(run(&loop_of_tiles, 1, |data| (slice_mut(data), false)));
    let marks = [
        (AccessKind::Read, "read the last tile"),
        (AccessKind::Write, "write the next tile"),
    ];
    accesses(&race, marks);
    is_silent(run(&loop_of_tiles, 1, |data| (slice_mut(data), true)));
}

#[kernel(block = 64)]
unsafe fn in_warps(out: DeviceSliceMut<u32>, with_sync: bool) {
    let tile = shared_array![u32; 64];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: all indices are below 64.
    unsafe {
        tile.add(i).write(i as u32); // write for the warp
        if with_sync {
            warp::sync_warp(warp::FULL_MASK);
        } else {
            // A vote makes the lanes wait for each other, but orders no accesses.
            warp::ballot(warp::FULL_MASK, true);
        }
        out.set(thread::index() as usize, tile.add(i ^ 1).read()); // read of the warp
    }
}

#[test]
fn a_missing_sync_warp() {
    let race = race_of(run(&in_warps, 1, |data| (slice_mut(data), false)));
    let marks = [
        (AccessKind::Write, "write for the warp"),
        (AccessKind::Read, "read of the warp"),
    ];
    accesses(&race, marks);
    is_silent(run(&in_warps, 2, |data| (slice_mut(data), true)));
}

#[kernel(block = 64)]
unsafe fn across_warps(out: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 64];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: all indices are below 64.
    unsafe {
        tile.add(i).write(i as u32); // write for the other warp
        warp::sync_warp(warp::FULL_MASK);
        out.set(i, tile.add((i + 32) % 64).read()); // read of the other warp
    }
}

#[test]
fn sync_warp_orders_no_other_warps() {
    let race = race_of(run(&across_warps, 1, |data| (slice_mut(data),)));
    assert_ne!(race.first.thread.x / 32, race.second.thread.x / 32);
}

#[kernel(block = 64)]
unsafe fn counted(counter: DeviceSliceMut<u32>, is_atomic: bool) {
    if thread::thread_idx_x() == 0 {
        // SAFETY: the slice has an element.
        unsafe {
            if is_atomic {
                atomic::add(counter.as_mut_ptr(), 1);
            } else {
                counter.set(0, counter.at(0) + 1); // count
            }
        }
    }
}

#[test]
fn a_counter_that_blocks_change_without_atomics() {
    let race = race_of(run(&counted, 2, |data| (slice_mut(data), false)));
    assert!(!race.is_shared);
    assert_ne!(race.first.block, race.second.block);
    assert!(race.first.site.contains(&site("count")), "{race}");
    assert!(race.second.site.contains(&site("count")), "{race}");
    assert!(
        race.to_string().contains("use an atomic function"),
        "{race}"
    );
    is_silent(run(&counted, 20, |data| (slice_mut(data), true)));
}

#[kernel(block = 64)]
unsafe fn same_element(out: DeviceSliceMut<u32>, stride: usize) {
    let i = thread::thread_idx_x() as usize;
    // SAFETY: below 64.
    unsafe { out.set(i / stride, i as u32) }; // write the same
}

#[test]
fn two_writes_of_an_element() {
    let race = race_of(run(&same_element, 1, |data| (slice_mut(data), 2)));
    accesses(
        &race,
        [
            (AccessKind::Write, "write the same"),
            (AccessKind::Write, "write the same"),
        ],
    );
    assert_eq!(race.first.thread.x / 2, race.second.thread.x / 2);
    is_silent(run(&same_element, 1, |data| (slice_mut(data), 1)));
}

#[kernel(block = 64)]
unsafe fn each_byte(out: DeviceSliceMut<u8>) {
    let i = thread::thread_idx_x() as usize;
    // SAFETY: below 64.
    unsafe { out.set(i, i as u8) };
}

#[test]
fn neighbouring_bytes_are_apart() {
    is_silent(|simulator| {
        let mut data = [0; 64];
        launch(
            simulator,
            &each_byte,
            LaunchConfig::new(1, 64),
            (slice_mut(&mut data),),
        )
    });
}

#[kernel(block = 64)]
unsafe fn all_read(from: DeviceSlice<u32>, out: DeviceSliceMut<u32>) {
    let i = thread::index() as usize;
    // SAFETY: both have an element for each thread.
    unsafe { out.set(i, from.at(0) + from.at(i)) };
}

#[test]
fn many_readers_do_not_race() {
    let from = vec![1; 256];
    is_silent(run(&all_read, 4, |data| (slice(&from), slice_mut(data))));
}

/// The fences of a flag.
const NEITHER: u32 = 0;
const BOTH: u32 = 1;
const ONLY_BEFORE: u32 = 2;
const PLAIN_READ: u32 = 3;

/// Block 1 waits for what block 0 writes.
#[kernel(block = 64)]
unsafe fn raised_flag(data: DeviceSliceMut<u32>, fences: u32) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: the slice has 128 elements.
    unsafe {
        let flag = data.as_mut_ptr().add(1);
        // The first block to run writes.
        if atomic::add(data.as_mut_ptr().add(2), 1) == 0 {
            data.set(0, 7); // write before the flag
            if fences != NEITHER {
                device_fence();
            }
            atomic::store(flag, 1); // set the flag
            return;
        }
        if fences == PLAIN_READ {
            let is_set = || flag.read_volatile() == 1; // plain read of the flag
            while !is_set() {
                thread::nanosleep(10);
            }
            return;
        }
        while atomic::load(flag) == 0 {
            thread::nanosleep(10);
        }
        if fences == BOTH {
            device_fence();
        }
        data.set(3, data.at(0)); // read after the flag
    }
}

#[test]
fn flags_need_fences_and_atomic_reads() {
    for fences in [NEITHER, ONLY_BEFORE] {
        let race = race_of(run(&raised_flag, 2, |data| (slice_mut(data), fences)));
        let marks = [
            (AccessKind::Write, "write before the flag"),
            (AccessKind::Read, "read after the flag"),
        ];
        accesses(&race, marks);
    }
    let race = race_of(run(&raised_flag, 2, |data| (slice_mut(data), PLAIN_READ)));
    let marks = [
        (AccessKind::AtomicWrite, "set the flag"),
        (AccessKind::Read, "plain read of the flag"),
    ];
    accesses(&race, marks);
    assert!(
        race.to_string().contains("make both accesses atomic"),
        "{race}"
    );
    is_silent(run(&raised_flag, 2, |data| (slice_mut(data), BOTH)));
}

#[kernel(block = 64)]
unsafe fn ordered_flag(data: DeviceSliceMut<u32>) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: the array has the data, the flag and a counter.
    unsafe {
        let flag = data.as_mut_ptr().add(1);
        if mid::atomic_fetch_add_u32_device(data.as_mut_ptr().add(2), Ordering::Relaxed, 1) == 0 {
            data.set(0, 7);
            mid::atomic_store_32_device(flag, Ordering::Release, 1);
            return;
        }
        while mid::atomic_load_32_device(flag, Ordering::Acquire) == 0 {
            thread::nanosleep(10);
        }
        data.set(3, data.at(0));
    }
}

#[test]
fn release_and_acquire_need_no_fences() {
    is_silent(run(&ordered_flag, 2, |data| (slice_mut(data),)));
}

/// The last block to finish adds up what all have written.
#[kernel(block = 64)]
unsafe fn last_block(data: DeviceSliceMut<u32>, with_fence: bool) {
    let is_last = shared_array![u32; 1];
    let blocks = thread::grid_dim_x() as usize;
    let i = thread::index() as usize;
    // SAFETY: the slice has 64 elements for each block, of which the first is the counter.
    unsafe {
        if !i.is_multiple_of(64) {
            data.set(i, 1); // write a part
        }
        if with_fence {
            device_fence();
        }
        sync_threads();
        if i.is_multiple_of(64) {
            let before = atomic::add(data.as_mut_ptr(), 1) as usize;
            is_last.write(u32::from(before + 1 == blocks));
        }
        sync_threads();
        if is_last.read() == 1 && i % 64 == 1 {
            let sum = (0..blocks).map(|block| data.at(64 * block + 2)).sum(); // read the parts
            data.set(i, sum);
        }
    }
}

#[test]
fn the_last_block_needs_a_fence() {
    let race = race_of(run(&last_block, 3, |data| (slice_mut(data), false)));
    accesses(
        &race,
        [
            (AccessKind::Write, "write a part"),
            (AccessKind::Read, "read the parts"),
        ],
    );
    is_silent(run(&last_block, 3, |data| (slice_mut(data), true)));
}

#[kernel(block = 64)]
unsafe fn phases(out: DeviceSliceMut<u32>, waits: bool) {
    let tile = dynamic_shared_mem::<u32>();
    let barrier = Barrier::at(address(tile).offset(256));
    let i = thread::thread_idx_x() as usize;
    // SAFETY: the launch gives 512 bytes.
    unsafe {
        if i == 0 {
            barrier.init(64);
            mbarrier::publish();
        }
        sync_threads();
        tile.add(i).write(1); // write and arrive
        barrier.arrive();
        if waits {
            barrier.wait(0);
        }
        out.set(i, tile.add((i + 1) % 64).read()); // read after the phase
    }
}

#[test]
fn barriers_that_count_order() {
    race_of(run(&phases, 1, |data| (slice_mut(data), false)));
    is_silent(run(&phases, 1, |data| (slice_mut(data), true)));
}

/// A block of each cluster writes the same number between two meetings of its cluster.
#[kernel(block = 64, cluster = 2)]
unsafe fn clusters_write(out: DeviceSliceMut<u32>) {
    cluster::sync();
    if cluster::rank() == 0 && thread::thread_idx_x() == 0 {
        // SAFETY: there is an element, but there is a race.
        unsafe { out.set(0, thread::block_idx_x()) }; // write for the cluster
    }
    cluster::sync();
}

#[test]
fn clusters_meet_no_other_clusters() {
    let race = race_of(run(&clusters_write, 4, |data| (slice_mut(data),)));
    let mark = (AccessKind::Write, "write for the cluster");
    accesses(&race, [mark, mark]);
    is_silent(run(&clusters_write, 2, |data| (slice_mut(data),)));
}

#[kernel(block = 64)]
unsafe fn copied(from: DeviceSlice<u32>, out: DeviceSliceMut<u32>, with_barrier: bool) {
    let tile = dynamic_shared_mem::<u32>();
    let i = thread::thread_idx_x() as usize;
    // SAFETY: 64 elements everywhere.
    unsafe {
        let to = address(tile).offset(4 * i as u32);
        async_copy::copy::<4>(to, from.address(i).cast(), true); // copy
        async_copy::commit();
        async_copy::wait::<0>();
        if with_barrier {
            sync_threads();
        }
        out.set(i, tile.add((i + 1) % 64).read()); // read the copy
    }
}

#[test]
fn copies_are_writes() {
    let from = vec![1; 64];
    let race = race_of(run(&copied, 1, |data| {
        (slice(&from), slice_mut(data), false)
    }));
    assert!(race.to_string().contains(&site("copy")), "{race}");
    is_silent(run(&copied, 1, |data| {
        (slice(&from), slice_mut(data), true)
    }));
}

#[kernel(block = 64)]
unsafe fn allocates(out: DeviceSliceMut<u32>) {
    let i = thread::thread_idx_x();
    let numbers = std::hint::black_box(vec![i; 100]);
    // SAFETY: below 64.
    unsafe { out.set(i as usize, numbers.iter().sum()) };
}

#[test]
fn memory_that_threads_get_one_after_the_other_is_not_shared() {
    is_silent(run(&allocates, 1, |data| (slice_mut(data),)));
}

#[kernel(block = 64)]
unsafe fn asks_for_too_much(out: DeviceSliceMut<u32>) {
    let refused = Vec::<u8>::new().try_reserve(isize::MAX as usize).is_err();
    // SAFETY: below 64.
    unsafe { out.set(thread::thread_idx_x() as usize, refused.into()) };
}

#[test]
fn memory_that_threads_do_not_get_has_no_accesses() {
    is_silent(run(&asks_for_too_much, 1, |data| (slice_mut(data),)));
}

/// Two threads write the same element, and between count references in memory of the heap, which the
/// second gets when the first has freed it.
#[kernel(block = 64)]
unsafe fn counts_references(out: DeviceSliceMut<u32>) {
    let i = thread::thread_idx_x();
    drop(std::hint::black_box(Arc::new(i)));
    if i < 2 {
        // SAFETY: there is an element, but there is a race.
        unsafe { out.set(0, i) }; // write between two counts
    }
    drop(std::hint::black_box(Arc::new(i)));
}

#[test]
fn counts_in_memory_that_was_freed_order_nothing() {
    let race = race_of(run(&counts_references, 1, |data| (slice_mut(data),)));
    let mark = (AccessKind::Write, "write between two counts");
    accesses(&race, [mark, mark]);
}

/// A fifth warp overwrites the operands of a warp group's product when each warp has said that it
/// has read them.
#[kernel(block = 160)]
unsafe fn overwrites_operands(waits: bool) {
    let memory = dynamic_shared_mem::<u32>();
    let start = address(memory);
    let barrier = Barrier::at(start.offset(24 << 10));
    let i = thread::thread_idx_x() as usize;
    // SAFETY: the launch gives 24 KiB, which A and B fill with 64 + 128 rows of 128 bytes, and 8
    // bytes for the barrier.
    unsafe {
        if i == 0 {
            barrier.init(4);
            mbarrier::publish();
        }
        if i < 128 {
            (0..48).for_each(|row| memory.add(128 * row + i).write(0));
        }
        wgmma::publish();
        sync_threads();
        if i < 128 {
            wgmma::fence();
            let [a, b] = [0, 8192].map(|from| Operand::along_k(start.offset(from), 1024));
            wgmma::m64n128k8_tf32(&mut [1.0; 64], a, b); // read operands
            wgmma::commit();
            wgmma::wait::<0>();
            if i.is_multiple_of(32) {
                barrier.arrive();
            }
        } else if i == 128 {
            if waits {
                barrier.wait(0);
            } else {
                // Late enough that the simulator sees no other mistake.
                (0..10).for_each(|_| thread::nanosleep(10));
            }
            // Bytes that count as read by lane 1, which does not arrive.
            memory.add(4).write(1); // overwrite an operand
        }
    }
}

#[test]
fn a_warp_has_read_its_operands_after_its_wait() {
    let run = |waits| {
        move |simulator: &Simulator| {
            let config = LaunchConfig::new(1, 160).with_shared_bytes((24 << 10) + 8);
            launch(simulator, &overwrites_operands, config, (waits,))
        }
    };
    let race = race_of(run(false));
    let marks = [
        (AccessKind::Read, "read operands"),
        (AccessKind::Write, "overwrite an operand"),
    ];
    accesses(&race, marks);
    is_silent(run(true));
}

/// Reads or writes at a byte of dynamic shared memory, or of global memory.
#[kernel(block = 4)]
unsafe fn at_byte(data: DeviceSliceMut<u32>, byte: usize, is_shared: bool, writes: bool) {
    if thread::thread_idx_x() == 2 {
        let memory = match is_shared {
            true => dynamic_shared_mem::<u8>(),
            false => data.as_mut_ptr().cast(),
        };
        let element = memory.wrapping_add(byte).cast::<u32>();
        // SAFETY: not given, which the test is about.
        unsafe {
            match writes {
                true => element.write(1),             // write a word
                false => data.set(0, element.read()), // read a word
            }
        }
    }
}

/// Every access is checked exactly, also in the zones that alignment leaves.
#[test]
fn accesses_outside_of_memory_and_misaligned_ones() {
    let memory = simt::GlobalMemory::new();
    let buffer = memory.allocate::<u32>(10).unwrap();
    let run = |byte, is_shared, writes| {
        let config = LaunchConfig::new(1, 4).with_shared_bytes(40);
        // SAFETY: the buffer has 10 elements. The mistakes are those that the detector finds.
        unsafe {
            let data = DeviceSliceMut::from_raw_parts(buffer.as_mut_ptr().cast(), 10);
            let arguments = (data, byte, is_shared, writes);
            Simulator::with_seed(1).launch_in(&memory, &at_byte, config, arguments)
        }
    };
    for (is_shared, writes) in [(false, false), (false, true), (true, false), (true, true)] {
        let (word, mark) = match writes {
            true => ("write", "write a word"),
            false => ("read", "read a word"),
        };
        let place = "kernel `at_byte`, block (0, 0, 0), thread (2, 0, 0): ";
        let site = site(mark);
        run(36, is_shared, writes).unwrap();
        for byte in [40, 44, 200, usize::MAX - 3] {
            let message = run(byte, is_shared, writes).unwrap_err().to_string();
            let what = match is_shared {
                true => "dynamic shared memory of 40 bytes",
                false => "a buffer of 10 u32",
            };
            let end = format!("{site}, at byte {} of {what}", byte as isize);
            assert!(
                message.starts_with(&format!("{place}{word} at ")),
                "{message}"
            );
            assert!(message.ends_with(&end), "{message}");
        }
        for byte in [1, 2, 33] {
            let message = run(byte, is_shared, writes).unwrap_err().to_string();
            let start = format!("{place}misaligned {word} of 4 bytes at ");
            assert!(
                message.starts_with(&start) && message.contains(&site),
                "{message}"
            );
            assert!(message.ends_with("is no multiple of 4"), "{message}");
        }
    }
}
