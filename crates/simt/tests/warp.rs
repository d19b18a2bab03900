//! Warp operations: their results, and the mistakes around them.

mod common;

use common::{SEEDS, launch, slice, slice_mut, under_all_schedules};
use cuda_std::host::{Dim3, LaunchConfig, WarpOperation};
use cuda_std::prelude::*;
use simt::{Activity, SimError, Simulator};

/// One warp of a block of two does all four shuffles with `argument`.
macro_rules! shuffle_test {
    ($($name:ident, $kernel:ident, $type:ty, $make:expr;)*) => {$(
        #[kernel]
        unsafe fn $kernel(input: DeviceSlice<$type>, argument: u32, out: DeviceSliceMut<$type>) {
            let i = thread::global_index();
            // SAFETY: `input` has an element for each thread, and `out` four.
            unsafe {
                let value = input.at(i);
                out.set(4 * i, warp::shuffle_idx(warp::FULL_MASK, value, argument));
                out.set(4 * i + 1, warp::shuffle_up(warp::FULL_MASK, value, argument));
                out.set(4 * i + 2, warp::shuffle_down(warp::FULL_MASK, value, argument));
                out.set(4 * i + 3, warp::shuffle_xor(warp::FULL_MASK, value, argument));
            }
        }

        #[test]
        fn $name() {
            let make: fn(i64) -> $type = $make;
            let input: Vec<$type> = (0..64).map(make).collect();
            for argument in 0..=33 {
                let mut expected = Vec::new();
                let by = argument as usize % 32;
                for i in 0..64_usize {
                    let (warp, lane) = (i / 32 * 32, i % 32);
                    let up = if lane >= by { lane - by } else { lane };
                    let down = if lane + by < 32 { lane + by } else { lane };
                    let sources = [by, up, down, lane ^ by];
                    expected.extend(sources.map(|source| input[warp + source]));
                }
                for seed in [0, 1] {
                    let mut out = vec![<$type>::default(); 4 * 64];
                    let args = (slice(&input), argument, slice_mut(&mut out));
                    let simulator = Simulator::with_seed(seed);
                    launch(&simulator, &$kernel, LaunchConfig::new(1, 64), args).unwrap();
                    assert_eq!(out, expected, "argument {argument}");
                }
            }
        }
    )*};
}

shuffle_test! {
    shuffles_move_u32, shuffle_u32, u32, |i| (i as u32).wrapping_mul(0x9e37_79b9);
    shuffles_move_i32, shuffle_i32, i32, |i| -(i as i32) - 1;
    shuffles_move_u64, shuffle_u64, u64, |i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    shuffles_move_i64, shuffle_i64, i64, |i| -(i << 33) - i;
    shuffles_move_f32, shuffle_f32, f32, |i| i as f32 * -0.37;
    shuffles_move_f64, shuffle_f64, f64, |i| i as f64 / 3.0;
}

/// Each lane gives the lane that it reads from.
#[kernel]
unsafe fn gather(sources: DeviceSlice<u32>, out: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    // SAFETY: both have an element for each thread.
    unsafe {
        let value = warp::lane_id() * 10;
        out.set(i, warp::shuffle_idx(warp::FULL_MASK, value, sources.at(i)));
    }
}

#[test]
fn every_lane_may_read_from_another_one() {
    let sources: Vec<u32> = (0..32).map(|lane| (lane * 7 + 3) % 32).collect();
    under_all_schedules(|simulator| {
        let mut out = [0; 32];
        let args = (slice(&sources), slice_mut(&mut out));
        launch(simulator, &gather, LaunchConfig::new(1, 32), args).unwrap();
        assert!((0..32).all(|i| out[i] == sources[i] * 10));
    });
}

/// Votes of the lanes in `mask`; the others do nothing.
#[kernel]
unsafe fn votes(mask: u32, yes: u32, values: DeviceSlice<u32>, out: DeviceSliceMut<u32>) {
    let lane = warp::lane_id();
    if mask >> lane & 1 == 0 {
        return;
    }
    let predicate = yes >> lane & 1 == 1;
    // SAFETY: `values` has 32 elements, `out` 4 · 32.
    unsafe {
        let out = out.as_mut_ptr().add(4 * lane as usize);
        out.write(warp::ballot(mask, predicate));
        out.add(1).write(warp::all(mask, predicate).into());
        out.add(2).write(warp::any(mask, predicate).into());
        out.add(3)
            .write(warp::match_any(mask, values.at(lane as usize)));
    }
}

#[test]
fn votes_count_the_lanes_of_the_mask() {
    let values: Vec<u32> = (0..32).map(|lane| lane % 3).collect();
    let masks = [
        u32::MAX,
        0xffff,
        0xffff_0000,
        0x5555_5555,
        1,
        1 << 31,
        0x00f0_0f01,
    ];
    for mask in masks {
        for yes in [0, u32::MAX, mask, !mask, 0x1234_5678] {
            under_all_schedules(|simulator| {
                let mut out = vec![9; 4 * 32];
                let args = (mask, yes, slice(&values), slice_mut(&mut out));
                launch(simulator, &votes, LaunchConfig::new(1, 32), args).unwrap();
                for lane in (0..32_usize).filter(|lane| mask >> lane & 1 == 1) {
                    let same = (0..32).filter(|&other| values[other] == values[lane]);
                    let same = same.fold(0, |found, other| found | 1 << other);
                    let expected = [
                        yes & mask,
                        u32::from(yes & mask == mask),
                        u32::from(yes & mask != 0),
                        same & mask,
                    ];
                    assert_eq!(out[4 * lane..4 * lane + 4], expected);
                }
            });
        }
    }
}

/// The two halves of each warp shuffle on their own, in different branches.
#[kernel]
unsafe fn halves(out: DeviceSliceMut<u32>) {
    let lane = warp::lane_id();
    let value = if lane < 16 {
        let mut value = lane;
        for distance in [8, 4, 2, 1] {
            value += warp::shuffle_xor(0x0000_ffff, value, distance);
        }
        value
    } else {
        warp::shuffle_idx(0xffff_0000, lane, 31)
    };
    // SAFETY: there is an element for each thread.
    unsafe { out.set(thread::global_index(), value) };
}

#[test]
fn halves_of_a_warp_go_their_own_ways() {
    under_all_schedules(|simulator| {
        let mut out = [0; 96];
        let config = LaunchConfig::new(1, 96);
        launch(simulator, &halves, config, (slice_mut(&mut out),)).unwrap();
        for warp in out.chunks(32) {
            assert!(warp[..16].iter().all(|&value| value == 120));
            assert!(warp[16..].iter().all(|&value| value == 31));
        }
    });
}

macro_rules! reduce_test {
    ($($name:ident, $kernel:ident, $type:ty, $make:expr, $sum:expr, $min:expr, $max:expr;)*) => {$(
        #[kernel]
        unsafe fn $kernel(input: DeviceSlice<$type>, out: DeviceSliceMut<$type>) {
            let i = thread::global_index();
            // SAFETY: `input` has an element for each thread, and `out` three.
            unsafe {
                let value = input.at(i);
                out.set(3 * i, warp::reduce_sum(value));
                out.set(3 * i + 1, warp::reduce_min(value));
                out.set(3 * i + 2, warp::reduce_max(value));
            }
        }

        #[test]
        fn $name() {
            let make: fn(i64) -> $type = $make;
            // The order of values is not that of lanes.
            let input: Vec<$type> = (0..128).map(|i| make(i * 37 % 128 - 40)).collect();
            under_all_schedules(|simulator| {
                let mut out = vec![<$type>::default(); 3 * 128];
                let args = (slice(&input), slice_mut(&mut out));
                launch(simulator, &$kernel, LaunchConfig::new(2, 64), args).unwrap();
                for (values, results) in input.chunks(32).zip(out.chunks(96)) {
                    let all = |f: fn($type, $type) -> $type| values.iter().copied().reduce(f);
                    let expected = [all($sum), all($min), all($max)].map(Option::unwrap);
                    assert!(results.chunks(3).all(|lane| lane == expected));
                }
            });
        }
    )*};
}

// The floats are small integers, so that their sums are exact in any order.
reduce_test! {
    reductions_of_u32, reduce_u32, u32, |i| (i as u32).wrapping_mul(0x0123_4567),
        u32::wrapping_add, u32::min, u32::max;
    reductions_of_i32, reduce_i32, i32, |i| (i as i32).wrapping_mul(30_000_000),
        i32::wrapping_add, i32::min, i32::max;
    reductions_of_u64, reduce_u64, u64, |i| (i as u64).wrapping_mul(0x0123_4567_89ab_cdef),
        u64::wrapping_add, u64::min, u64::max;
    reductions_of_i64, reduce_i64, i64, |i| i << 40, i64::wrapping_add, i64::min, i64::max;
    reductions_of_f32, reduce_f32, f32, |i| i as f32, |a, b| a + b, f32::min, f32::max;
    reductions_of_f64, reduce_f64, f64, |i| i as f64 * 0.5, |a, b| a + b, f64::min, f64::max;
}

#[test]
fn minimum_and_maximum_pass_over_nan() {
    let mut input = [2.5_f32; 32];
    input[3] = f32::NAN;
    input[20] = -1.0;
    input[21] = 7.0;
    let mut out = [0.0; 96];
    let args = (slice(&input), slice_mut(&mut out));
    launch(
        &Simulator::default(),
        &reduce_f32,
        LaunchConfig::new(1, 32),
        args,
    )
    .unwrap();
    for lane in out.chunks(3) {
        assert!(lane[0].is_nan());
        assert_eq!(lane[1..], [-1.0, 7.0]);
    }
}

/// Lanes exchange values through shared memory, warp by warp.
#[kernel]
unsafe fn exchange(out: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 128];
    let i = thread::index_in_block() as usize;
    // SAFETY: indices are below 128, each warp stays within its own part of the tile, and the
    // warp's barrier separates writes from reads.
    unsafe {
        tile.add(i).write(i as u32);
        warp::sync_warp(warp::FULL_MASK);
        out.set(thread::global_index(), tile.add(i ^ 31).read());
    }
}

#[test]
fn sync_warp_orders_a_warp() {
    under_all_schedules(|simulator| {
        let mut out = vec![0; 256];
        let config = LaunchConfig::new(2, 128);
        launch(simulator, &exchange, config, (slice_mut(&mut out),)).unwrap();
        assert!((0..256).all(|i| out[i] == (i as u32 % 128) ^ 31));
    });
}

#[kernel]
unsafe fn shuffle_of_some(lanes: u32) {
    if warp::lane_id() < lanes {
        warp::shuffle_xor(warp::FULL_MASK, 0_u32, 1);
    }
}

#[test]
fn a_shuffle_without_all_its_lanes_is_an_error() {
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        let config = LaunchConfig::new(1, 64);
        let error = launch(&simulator, &shuffle_of_some, config, (30,)).unwrap_err();
        let SimError::LanesMissing {
            place,
            operation,
            mask,
            missing,
            ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(place.thread, Dim3::from((0, 0, 0)));
        assert_eq!((*operation, *mask), (WarpOperation::ShuffleXor, u32::MAX));
        assert_eq!(
            *missing,
            [(30, Activity::Finished), (31, Activity::Finished)]
        );
        let text = error.to_string();
        assert!(text.contains("shuffle_xor with mask 0xffffffff"), "{text}");
        assert!(text.contains("lane 31 has finished"), "{text}");
    }
}

#[kernel]
unsafe fn shuffle_or_barrier() {
    if warp::lane_id() == 7 {
        thread::sync_threads();
    } else {
        warp::ballot(warp::FULL_MASK, true);
    }
}

#[kernel]
unsafe fn shuffle_or_ballot() {
    if warp::lane_id() == 7 {
        warp::shuffle_idx(warp::FULL_MASK, 1_u32, 0);
    } else {
        warp::any(warp::FULL_MASK, true);
    }
}

#[kernel]
unsafe fn different_masks() {
    let mask = if warp::lane_id() == 7 { 0xff } else { 0xffff };
    if warp::lane_id() < 16 {
        warp::sync_warp(mask);
    }
}

#[test]
fn lanes_that_do_something_else_are_named() {
    let find = |kernel| {
        let config = LaunchConfig::new(1, 32);
        match launch(&Simulator::default(), kernel, config, ()) {
            Err(SimError::LanesMissing { missing, .. }) => missing,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(
        find(&shuffle_or_barrier)[..],
        [(7, Activity::AtBarrier(_))]
    ));
    let missing = find(&shuffle_or_ballot);
    let [(7, Activity::InWarpOperation { operation, .. })] = missing[..] else {
        panic!("{missing:?}");
    };
    assert_eq!(operation, WarpOperation::ShuffleIdx);
    let missing = find(&different_masks);
    let [(7, Activity::InWarpOperation { mask: 0xff, .. })] = missing[..] else {
        panic!("{missing:?}");
    };
}

#[kernel]
unsafe fn sync_with_mask(mask: u32) {
    warp::sync_warp(mask);
}

#[test]
fn a_mask_must_contain_its_caller_and_only_lanes_that_exist() {
    let run = |threads, mask| {
        let config = LaunchConfig::new(1, threads);
        launch(&Simulator::default(), &sync_with_mask, config, (mask,))
    };
    for mask in [0, 0xfffe] {
        let error = run(16, mask).unwrap_err();
        assert!(
            matches!(error, SimError::MaskWithoutCaller { lane: 0, .. }),
            "{error}"
        );
    }
    let error = run(33, u32::MAX).unwrap_err();
    let SimError::MaskBeyondBlock {
        place, lanes: 1, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(place.thread, Dim3::from((32, 0, 0)));
    let error = run(31, u32::MAX).unwrap_err();
    assert!(
        matches!(error, SimError::MaskBeyondBlock { lanes: 31, .. }),
        "{error}"
    );
    run(31, u32::MAX >> 1).unwrap();
    run(1, 1).unwrap();
    run(1024, u32::MAX).unwrap();
}

#[kernel]
unsafe fn shuffle_from(lane: u32) {
    if warp::lane_id() < 16 {
        warp::shuffle_idx(0xffff, 0_u32, lane);
    }
}

#[test]
fn a_shuffle_from_outside_its_mask_is_an_error() {
    let config = LaunchConfig::new(1, 32);
    launch(&Simulator::default(), &shuffle_from, config, (15,)).unwrap();
    let error = launch(&Simulator::default(), &shuffle_from, config, (16,)).unwrap_err();
    assert!(
        matches!(error, SimError::ShuffleFromOutside { lane: 16, .. }),
        "{error}"
    );
}
