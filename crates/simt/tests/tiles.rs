//! Copies of tiles: when they are made, and the mistakes around them and around their barriers.

mod common;

use common::{SEEDS, launch, slice_mut, under_all_schedules};
use cuda_std::host::{BarrierPhase, LaunchConfig, Misuse, TensorTiles};
use cuda_std::mbarrier::{self, Barrier};
use cuda_std::prelude::*;
use cuda_std::tensor::{self, TensorMap};
use cuda_std::{cluster, shared, tensor_map};
use simt::{SimError, Simulator, differing_seeds};

/// A row of 32 words, and tiles of as many.
fn map_of(row: &[u32; 32]) -> TensorMap {
    let tiles = TensorTiles {
        address: row.as_ptr() as u64,
        element_bytes: 4,
        lengths: [32, 1, 1],
        strides: [128; 2],
        tile: [32, 1, 1],
        is_swizzled: false,
    };
    tiles.check().unwrap();
    tiles.simulated()
}

/// Numbers at a multiple of 16 bytes.
#[repr(align(16))]
struct Row([u32; 32]);

fn row() -> Row {
    Row(std::array::from_fn(|i| i as u32))
}

const LAUNCH: LaunchConfig = LaunchConfig {
    grid: cuda_std::host::Dim3 { x: 2, y: 1, z: 1 },
    block: cuda_std::host::Dim3 { x: 32, y: 1, z: 1 },
    shared_bytes: 256 + 8,
};

/// Copies the row and reads it, after waiting if `WAITS`.
unsafe fn copy_row<const WAITS: bool>(
    map: tensor::MapAddress,
    out: DeviceSliceMut<u32>,
    distance: u32,
) {
    let memory = shared::dynamic_shared_mem::<u32>();
    let (tile, i) = (shared::address(memory), thread::thread_idx_x() as usize);
    let barrier = Barrier::at(tile.offset(256));
    // SAFETY: the memory has a row, and a barrier behind it; that nobody waits is a mistake of the
    // tests that want one.
    unsafe {
        if i == 0 {
            barrier.init(1);
            mbarrier::publish();
            barrier.arrive_and_expect(128);
            tensor::load(tile.offset(distance), map, [0; 3], barrier);
        }
        thread::sync_threads();
        if WAITS {
            barrier.wait(0);
        }
        let block = thread::block_idx_x() as usize;
        out.set(32 * block + i, memory.add(i).read());
    }
}

#[kernel]
unsafe fn waits(map: TensorMap, out: DeviceSliceMut<u32>) {
    // SAFETY: the memory has a row and a barrier behind it, as `copy_row` needs, unless the test
    // wants the simulator to find a mistake.
    unsafe { copy_row::<true>(tensor_map!(waits, 0, map), out, 0) };
}

#[kernel]
unsafe fn does_not_wait(map: TensorMap, out: DeviceSliceMut<u32>) {
    // SAFETY: the memory has a row and a barrier behind it, as `copy_row` needs, unless the test
    // wants the simulator to find a mistake.
    unsafe { copy_row::<false>(tensor_map!(does_not_wait, 0, map), out, 0) };
}

#[kernel]
unsafe fn elsewhere(map: TensorMap, out: DeviceSliceMut<u32>, distance: u32) {
    // SAFETY: the memory has a row and a barrier behind it, as `copy_row` needs, unless the test
    // wants the simulator to find a mistake.
    unsafe { copy_row::<true>(tensor_map!(elsewhere, 0, map), out, distance) };
}

#[test]
fn a_tile_is_there_after_the_wait() {
    let row = row();
    under_all_schedules(|simulator| {
        let mut out = [0; 64];
        let arguments = (map_of(&row.0), slice_mut(&mut out));
        launch(simulator, &waits, LAUNCH, arguments).unwrap();
        assert_eq!(out[..32], row.0);
        assert_eq!(out[32..], row.0);
    });
}

#[test]
fn a_missing_wait_shows() {
    let row = row();
    let run = |simulator: &Simulator| {
        let mut out = [0; 64];
        let arguments = (map_of(&row.0), slice_mut(&mut out));
        launch(simulator, &does_not_wait, LAUNCH, arguments)?;
        let is_known = |(i, &read): (usize, &u32)| read == row.0[i % 32] || read == u32::MAX;
        assert!(out.iter().enumerate().all(is_known), "{out:?}");
        Ok(out.to_vec())
    };
    assert!(differing_seeds(SEEDS, run).unwrap().is_some());
}

#[test]
fn targets_out_of_range_or_not_aligned_are_reported() {
    let row = row();
    for seed in SEEDS {
        let run = |distance| {
            let mut out = [0; 64];
            let arguments = (map_of(&row.0), slice_mut(&mut out), distance);
            match launch(&Simulator::with_seed(seed), &elsewhere, LAUNCH, arguments) {
                Ok(()) => None,
                Err(SimError::Misuse { misuse, .. }) => Some(misuse),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(run(128), None);
        let misaligned = run(64).unwrap();
        assert!(
            matches!(misaligned, Misuse::Misaligned { alignment: 128, .. }),
            "{misaligned}"
        );
        let outside = run(256).unwrap();
        assert!(matches!(outside, Misuse::OutOfRange { .. }), "{outside}");
    }
}

/// Two threads pass a number to and fro, `rounds` times.
#[kernel]
unsafe fn relay(rounds: u32, out: DeviceSliceMut<u32>) {
    let memory = shared::dynamic_shared_mem::<u32>();
    let barriers = shared::address(memory).offset(64);
    let (there, back) = (Barrier::at(barriers), Barrier::at(barriers.offset(8)));
    let thread = thread::thread_idx_x();
    // SAFETY: each waits for the other before it touches the number.
    unsafe {
        if thread == 0 {
            there.init(1);
            back.init(1);
            memory.write(0);
            mbarrier::publish();
        }
        thread::sync_threads();
        for round in 0..rounds {
            match thread {
                0 => {
                    back.wait((round + 1) % 2);
                    memory.write(memory.read().wrapping_mul(3).wrapping_add(1));
                    there.arrive();
                }
                1 => {
                    there.wait(round % 2);
                    memory.write(memory.read() ^ round);
                    back.arrive();
                }
                _ => {}
            }
        }
        thread::sync_threads();
        if thread == 0 {
            out.set(0, memory.read());
        }
    }
}

#[test]
fn phases_order_what_threads_do() {
    let expected = (0..20).fold(0u32, |number, round| {
        number.wrapping_mul(3).wrapping_add(1) ^ round
    });
    under_all_schedules(|simulator| {
        let mut out = [0];
        let config = LaunchConfig::new(1, 33).with_shared_bytes(80);
        launch(simulator, &relay, config, (20, slice_mut(&mut out))).unwrap();
        assert_eq!(out, [expected]);
    });
}

/// Each block of a cluster writes the number of its threads' arrivals that it has seen.
#[kernel(block = 32, cluster = 4)]
unsafe fn meet(out: DeviceSliceMut<u32>) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    let rank = cluster::rank();
    // SAFETY: all have initialised their barriers before the first arrival, and none ends before the
    // last.
    unsafe {
        if thread::thread_idx_x() == 0 {
            barrier.init(4 * 32);
            mbarrier::publish();
        }
        cluster::sync();
        for other in 0..4 {
            barrier.arrive_at((rank + other) % 4);
        }
        barrier.wait(0);
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            out.set(thread::block_idx_x() as usize, rank + 10);
        }
    }
}

#[test]
fn blocks_of_a_cluster_meet() {
    under_all_schedules(|simulator| {
        let mut out = [0; 12];
        let config = LaunchConfig::new(12, 32).with_shared_bytes(16);
        launch(simulator, &meet, config, (slice_mut(&mut out),)).unwrap();
        assert_eq!(out, [10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13]);
    });
}

/// Arrives at a block that the cluster does not have.
#[kernel(block = 1, cluster = 2)]
unsafe fn arrive_beyond() {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    // SAFETY: the simulator refuses it.
    unsafe {
        barrier.init(1);
        barrier.arrive_at(2);
    }
}

#[test]
fn blocks_beyond_the_cluster_are_reported() {
    let config = LaunchConfig::new(2, 1).with_shared_bytes(16);
    let error = launch(&Simulator::default(), &arrive_beyond, config, ()).unwrap_err();
    assert!(error.to_string().contains("no block of rank 2"), "{error}");
}

/// All threads of a cluster arrive at the barrier of its first block.
#[kernel(block = 1024, cluster = 8)]
unsafe fn all_arrive(out: DeviceSliceMut<u32>) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    let is_first = cluster::rank() == 0;
    // SAFETY: the barrier is initialised before the first arrival, the first block does not end before
    // the last, and `out` has an element, written by one thread.
    unsafe {
        if is_first && thread::thread_idx_x() == 0 {
            barrier.init(8 * 1024);
            mbarrier::publish();
        }
        cluster::sync();
        barrier.arrive_at(0);
        if is_first {
            barrier.wait_cluster(0);
        }
        cluster::sync();
        if is_first && thread::thread_idx_x() == 0 {
            barrier.invalidate();
            barrier.init(1);
            barrier.arrive();
            barrier.wait(0);
            out.set(0, 7);
        }
    }
}

#[test]
fn all_threads_of_a_large_cluster_arrive() {
    let mut out = [0];
    let config = LaunchConfig::new(8, 1024).with_shared_bytes(16);
    let simulator = Simulator::default();
    launch(&simulator, &all_arrive, config, (slice_mut(&mut out),)).unwrap();
    assert_eq!(out, [7]);
}

struct WaitsAtTheEnd(Barrier);

impl Drop for WaitsAtTheEnd {
    fn drop(&mut self) {
        // SAFETY: the barrier is initialised. While the thread unwinds, it must not wait.
        unsafe { self.0.wait(0) };
    }
}

/// Fails with a destructor that waits for what never comes, or at what is no barrier.
#[kernel]
unsafe fn fails_before_a_wait(is_initialised: bool) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    if is_initialised {
        // SAFETY: the launch has these bytes, which nothing else uses.
        unsafe { barrier.init(1) };
    }
    let _waits = WaitsAtTheEnd(barrier);
    panic!("too early");
}

#[test]
fn destructors_of_failed_threads_do_not_wait() {
    let config = LaunchConfig::new(1, 1).with_shared_bytes(16);
    for is_initialised in [true, false] {
        let simulator = Simulator::default();
        let failed = launch(&simulator, &fails_before_a_wait, config, (is_initialised,));
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("too early"), "{error}");
    }
}

/// Initialises a barrier a second time, after invalidating it if `is_freed`.
#[kernel]
unsafe fn initialises_again(is_freed: bool) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()).offset(8));
    // SAFETY: not given unless the barrier is invalidated, which the simulator finds.
    unsafe {
        barrier.init(1);
        barrier.arrive();
        barrier.wait(0);
        if is_freed {
            barrier.invalidate();
        }
        barrier.init(2);
    }
}

#[test]
fn barriers_are_initialised_once() {
    let config = LaunchConfig::new(2, 1).with_shared_bytes(16);
    under_all_schedules(|simulator| {
        let error = launch(simulator, &initialises_again, config, (false,)).unwrap_err();
        let SimError::Misuse { misuse, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(misuse, Misuse::InitialisedAgain { address: 8 });
        launch(simulator, &initialises_again, config, (true,)).unwrap();
    });
}

/// Arrives at a barrier that nobody initialised, or that is over.
#[kernel]
unsafe fn arrives_at_none(has_been: bool) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    // SAFETY: not given, which the simulator finds.
    unsafe {
        if has_been {
            barrier.init(1);
            barrier.invalidate();
        }
        barrier.arrive();
    }
}

#[test]
fn memory_without_a_barrier_is_found_whatever_its_bytes() {
    // A barrier is marked by a byte, which random memory has under about four of these seeds.
    let config = LaunchConfig::new(1, 1).with_shared_bytes(8);
    for seed in 1..1000 {
        for has_been in [false, true] {
            let simulator = Simulator::with_seed(seed);
            let failed = launch(&simulator, &arrives_at_none, config, (has_been,));
            let error = failed.expect_err(&format!("seed {seed}"));
            let is_found = matches!(
                error,
                SimError::Misuse {
                    misuse: Misuse::NotABarrier { address: 0 },
                    ..
                }
            );
            assert!(is_found, "seed {seed}: {error}");
        }
    }
}

/// The second phase needs two arrivals and 64 bytes, and gets one arrival.
#[kernel]
unsafe fn waits_in_vain() {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()).offset(8));
    // SAFETY: no copy is started.
    unsafe {
        barrier.init(2);
        barrier.arrive();
        barrier.arrive();
        barrier.wait(0);
        barrier.arrive_and_expect(64);
        barrier.wait(1);
    }
}

#[test]
fn what_a_phase_lacks_is_reported() {
    let config = LaunchConfig::new(2, 1).with_shared_bytes(16);
    let error = launch(&Simulator::default(), &waits_in_vain, config, ()).unwrap_err();
    let SimError::PhaseNotOver { phases, .. } = &error else {
        panic!("{error}");
    };
    let [phase] = phases[..] else {
        panic!("{error}");
    };
    let missing = (phase.address, phase.number, phase.missing, phase.bytes);
    assert_eq!(missing, (8, 1, 1, 64), "{error}");
    let said = error.to_string();
    for part in [
        "but nothing ends what it waits for: phase 1 (parity 1) of the barrier at 8, initialised at ",
        ", lacks 1 of 2 arrivals and 64 bytes",
    ] {
        assert!(said.contains(part), "{error}");
    }
    for (missing, bytes, said) in [
        (2, 0, "lacks 2 of 2 arrivals"),
        (0, 16, "lacks 16 bytes"),
        (0, -16, "has 16 bytes more than were expected"),
        (
            1,
            -1,
            "lacks 1 of 2 arrivals and has 1 bytes more than were expected",
        ),
    ] {
        let phase = BarrierPhase {
            missing,
            bytes,
            ..phase
        };
        assert!(phase.to_string().ends_with(&format!(", {said}")), "{phase}");
    }
}

/// Thread 0 copies the row once a round into the only tile, which thread 1 sums up and releases.
#[kernel]
unsafe fn one_stage(map: TensorMap, rounds: u32, out: DeviceSliceMut<u32>) {
    let memory = shared::dynamic_shared_mem::<u32>();
    let tile = shared::address(memory);
    let (full, empty) = (
        Barrier::at(tile.offset(256)),
        Barrier::at(tile.offset(256 + 8)),
    );
    let map = tensor_map!(one_stage, 0, map);
    // SAFETY: the memory has a row, and two barriers behind it; the tile is read between its copy and its
    // release, and `out` has an element.
    unsafe {
        if thread::thread_idx_x() == 0 {
            full.init(1);
            empty.init(1);
            mbarrier::publish();
        }
        thread::sync_threads();
        for round in 0..rounds {
            if thread::thread_idx_x() == 0 {
                full.arrive_and_expect(128);
                tensor::load(tile, map, [0; 3], full);
                empty.wait(round % 2);
            } else {
                full.wait(round % 2);
                let sum: u32 = (0..32).map(|i| memory.add(i).read()).sum();
                out.set(0, sum);
                empty.arrive();
            }
        }
    }
}

#[test]
fn a_thread_that_waits_after_a_copy_is_no_hang() {
    let row = row();
    let config = LaunchConfig::new(1, 2).with_shared_bytes(256 + 16);
    for seed in 0..200 {
        let mut out = [0];
        let arguments = (map_of(&row.0), 40, slice_mut(&mut out));
        let simulator = Simulator::with_seed(seed);
        launch(&simulator, &one_stage, config, arguments)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(out, [31 * 16]);
    }
}

/// Of two barriers, one has all arrivals of its phase but one.
#[kernel]
unsafe fn two_barriers() {
    let first = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    let second = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()).offset(8));
    let index = thread::thread_idx_x();
    // SAFETY: thread 0 initialises both before the others use them.
    unsafe {
        if index == 0 {
            first.init(3);
            second.init(3);
            mbarrier::publish();
        }
        thread::sync_threads();
        if index < 2 {
            second.arrive();
            first.wait(0);
        } else {
            second.wait(0);
        }
    }
}

#[test]
fn the_phase_that_has_begun_comes_first() {
    let config = LaunchConfig::new(1, 3).with_shared_bytes(16);
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        let error = launch(&simulator, &two_barriers, config, ()).unwrap_err();
        let SimError::PhaseNotOver { place, phases, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(place.thread.x, 2, "{error}");
        let missing: Vec<_> = phases
            .iter()
            .map(|phase| (phase.address, phase.missing))
            .collect();
        assert_eq!(missing, [(8, 1), (0, 3)], "{error}");
    }
}

/// Thread 0 releases its place before it has read it, and thread 1 writes it anew.
#[kernel]
unsafe fn released_too_early(out: DeviceSliceMut<u32>) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    let place = shared_array![u32; 1];
    // SAFETY: there is a barrier and an element, but the read is not ordered before the second write.
    unsafe {
        if thread::thread_idx_x() == 0 {
            barrier.init(1);
            place.write(1);
            mbarrier::publish();
        }
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            barrier.arrive();
            out.set(0, place.read());
        } else {
            barrier.wait(0);
            place.write(2);
        }
    }
}

#[test]
fn a_place_that_is_released_too_early_shows() {
    let config = LaunchConfig::new(1, 2).with_shared_bytes(8);
    let read = |seed| {
        let mut out = [0];
        let arguments = (slice_mut(&mut out),);
        launch(
            &Simulator::with_seed(seed),
            &released_too_early,
            config,
            arguments,
        )
        .unwrap();
        out[0]
    };
    assert_eq!(read(0), 1);
    assert!((1..20).any(|seed| read(seed) == 2));
}

/// Waits for a round, not for its parity.
#[kernel]
unsafe fn waits_for_round(round: u32) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    // SAFETY: the barrier is initialised.
    unsafe {
        barrier.init(1);
        barrier.wait(round);
    }
}

#[test]
fn a_parity_is_0_or_1() {
    let config = LaunchConfig::new(1, 1).with_shared_bytes(8);
    let run = |round| launch(&Simulator::default(), &waits_for_round, config, (round,));
    run(1).unwrap();
    let error = run(2).unwrap_err().to_string();
    assert!(
        error.contains("a wait for the phase of parity 2, not of 0 or 1"),
        "{error}"
    );
}

/// Has a barrier in memory without such addresses.
#[kernel]
unsafe fn static_barrier() {
    let barrier = Barrier::at(shared::address(shared_array![u64; 1]));
    // SAFETY: not given: there is no dynamic shared memory.
    unsafe { barrier.init(1) };
}

#[test]
fn barriers_outside_of_dynamic_memory_are_reported() {
    let config = LaunchConfig::new(1, 1).with_shared_bytes(8);
    let error = launch(&Simulator::default(), &static_barrier, config, ()).unwrap_err();
    let said = "a barrier that counts arrivals of 8 bytes outside of the dynamic shared memory, which has 8 bytes";
    assert!(error.to_string().contains(said), "{error}");
}

/// Thread 0 waits for what nobody writes, thread 1 for an arrival that does not come.
#[kernel]
unsafe fn polls_and_waits(flag: DeviceSliceMut<u32>) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    // SAFETY: the flag is there, and all accesses are atomic; thread 1 alone uses the barrier.
    unsafe {
        if thread::thread_idx_x() == 0 {
            while atomic::load(flag.address(0)) == 0 {
                thread::nanosleep(100);
            }
        } else {
            barrier.init(1);
            barrier.wait(0);
        }
    }
}

#[test]
fn a_thread_at_a_barrier_is_reported_before_others() {
    let config = LaunchConfig::new(1, 2).with_shared_bytes(8);
    let run = |seed| {
        let simulator = Simulator::with_seed(seed);
        let mut flag = [0];
        let arguments = (slice_mut(&mut flag),);
        let error = launch(&simulator, &polls_and_waits, config, arguments).unwrap_err();
        let is_phase = matches!(error, SimError::PhaseNotOver { place, .. } if place.thread.x == 1);
        assert!(is_phase, "{error}");
    };
    // In parallel: each run waits until the simulator's patience ends.
    std::thread::scope(|scope| {
        for seed in [1, 2] {
            scope.spawn(move || run(seed));
        }
    });
}

/// Expects bytes that no copy brings.
#[kernel]
unsafe fn expects(bytes: u32, more: u32) {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    // SAFETY: no copy is started, and nobody waits.
    unsafe {
        barrier.init(3);
        barrier.arrive_and_expect(bytes);
        barrier.arrive_and_expect(more);
    }
}

#[test]
fn bytes_that_no_barrier_can_count_are_reported() {
    let config = LaunchConfig::new(1, 1).with_shared_bytes(8);
    let run = |bytes, more| launch(&Simulator::default(), &expects, config, (bytes, more));
    run(0xf_ffff, 0).unwrap();
    run(0xf_fffe, 1).unwrap();
    for (first, more) in [(1 << 20, 0), (0xf_ffff, 1), (1, 1 << 25), (0, u32::MAX)] {
        let error = run(first, more).unwrap_err();
        assert!(
            error.to_string().contains("more than 1048575 in a phase"),
            "{error}"
        );
    }
}

struct ArrivesAtTheEnd(Barrier);

impl Drop for ArrivesAtTheEnd {
    fn drop(&mut self) {
        // SAFETY: the barrier is initialised, and the arrival expected, unless the thread unwinds.
        unsafe { self.0.arrive() };
    }
}

/// Fails with a destructor that arrives once too often.
#[kernel]
unsafe fn fails_before_an_arrival() {
    let barrier = Barrier::at(shared::address(shared::dynamic_shared_mem::<u32>()));
    // SAFETY: the launch has these bytes, which nothing else uses.
    unsafe { barrier.init(1) };
    let _arrives = ArrivesAtTheEnd(barrier);
    // SAFETY: the barrier is initialised. The bytes do not come.
    unsafe { barrier.arrive_and_expect(16) };
    panic!("too early");
}

#[test]
fn destructors_of_failed_threads_make_no_second_mistake() {
    let config = LaunchConfig::new(1, 1).with_shared_bytes(16);
    let failed = launch(&Simulator::default(), &fails_before_an_arrival, config, ());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("too early"), "{error}");
}
