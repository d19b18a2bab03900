//! Pipelines, on every available device.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride::device::{LaunchConfig, Module};
use gridstride::pipeline::{Chunk, Pipeline, add};
use gridstride::{Device, Error, Result};
use ndarray::{Array1, s};
use rayon::prelude::*;

use crate::common::{
    NO_DEVICE, assert_error, devices, fails, fails_with, module, several, small, with_kernels,
};

static MODULE: Module = module!("pipeline_test", "kernels-gpu/ptx/stream", "sm_70");

/// Numbers of all sizes.
fn numbers(count: usize, seed: u32) -> Array1<i32> {
    (0..count as u32)
        .map(|index| (index ^ seed).wrapping_mul(2_654_435_761) as i32)
        .collect()
}

fn sums(a: &Array1<i32>, b: &Array1<i32>) -> Array1<f64> {
    a.mapv(f64::from) + b.mapv(f64::from)
}

/// Bytes of memory for `elements` of two `i32` and an `f64` on each stream.
fn memory_for(elements: usize, streams: usize) -> usize {
    (16 * elements + 2 * 256) * streams
}

/// Adds `count` numbers, and checks the sums.
fn assert_adds(pipeline: &Pipeline, count: usize) {
    let (a, b) = (numbers(count, 1), numbers(count, 2));
    let mut found = Array1::from_elem(count, f64::NAN);
    add(pipeline, &a, &b, &mut found).unwrap();
    assert_eq!(found, sums(&a, &b), "{pipeline:?}, {count}");
}

/// A kernel that adds each number to itself.
fn doubled(chunk: &Chunk, from: DeviceSlice<i32>, to: DeviceSliceMut<f64>) -> Result<()> {
    let config = LaunchConfig::for_len(chunk.len(), 64);
    // SAFETY: equally long, and of this chunk alone.
    unsafe { chunk.launch(&MODULE, &stream_kernels::add, config, (from, from, to)) }
}

#[test]
fn several_devices_add_what_one_does() {
    for device in devices() {
        let mixed = vec![Device::cpu(), device.clone()];
        for devices in [several(&device, 2), several(&device, 5), mixed] {
            let pipeline = Pipeline::new(&devices).streams(2).memory(memory_for(70, 2));
            assert_adds(&pipeline, 1000);
        }
    }
    let none: [Device; 0] = [];
    let (a, mut to) = (numbers(1000, 1), Array1::zeros(1000));
    let added = add(&Pipeline::new(&none), &a, &a, &mut to);
    fails_with(added, format!("add: {NO_DEVICE}"));
}

#[test]
fn sums_of_every_length_and_budget() {
    for device in devices() {
        for streams in [1, 2, 3, 5] {
            let pipeline = Pipeline::new(&device)
                .streams(streams)
                .memory(memory_for(100, streams));
            for count in [0, 1, 99, 100, 101, 199, 200, 201, 500, 777] {
                assert_adds(&pipeline, count);
            }
        }
    }
}

#[test]
fn one_element_at_a_time() {
    for device in devices() {
        let pipeline = Pipeline::new(&device).streams(3).memory(memory_for(1, 3));
        assert_adds(&pipeline, 7);
    }
}

#[test]
fn any_strides_and_page_locked_memory() {
    for device in devices() {
        let (a, b) = (numbers(1000, 5), numbers(2000, 6));
        let mut found = Array1::from_elem(3000, f64::NAN);
        let every_other = b.slice(s![..;-2]);
        let pipeline = Pipeline::new(&device).streams(2).memory(memory_for(64, 2));
        add(&pipeline, a.view(), every_other, found.slice_mut(s![1..;3])).unwrap();
        let expected = sums(&a, &every_other.to_owned());
        assert_eq!(found.slice(s![1..;3]), expected, "{device}");
        assert!(found.slice(s![..;3]).iter().all(|number| number.is_nan()));

        let mut locked = device.pinned::<i32>(1000).unwrap();
        locked.copy_from_slice(a.as_slice().unwrap());
        let mut to = device.pinned::<f64>(1000).unwrap();
        add(&pipeline, &locked, every_other, &mut to).unwrap();
        assert_eq!(to[..], expected.as_slice().unwrap()[..], "{device}");
        let mut vector = vec![0.0; 1000];
        add(&pipeline, &locked[..], every_other, &mut vector).unwrap();
        assert_eq!(vector, to[..], "{device}");
    }
}

#[test]
fn large_arrays_with_the_usual_budget() {
    for device in devices() {
        let count = if small() { 100_000 } else { 6_000_000 };
        assert_adds(&Pipeline::new(&device), count);
    }
}

#[test]
fn the_kernel_is_right_for_any_launch() {
    for device in with_kernels() {
        let (a, b) = (numbers(1000, 9), numbers(1000, 10));
        let expected = sums(&a, &b);
        let [a, b] = [a, b].map(|vector| device.buffer_from(vector.as_slice().unwrap()).unwrap());
        for (grid, block) in [(1, 1), (1, 32), (3, 7), (2, 1024), (1000, 1), (64, 64)] {
            let mut found = device.zeros::<f64>(1000).unwrap();
            let arguments = (a.slice(), b.slice(), found.slice_mut());
            let config = LaunchConfig::new(grid, block);
            // SAFETY: equally long.
            unsafe { device.launch(&MODULE, &stream_kernels::add, config, arguments) }.unwrap();
            let found = Array1::from(found.to_vec().unwrap());
            assert_eq!(found, expected, "{device}, {grid} blocks of {block}");
        }
    }
}

#[test]
fn what_comes_bit_by_bit_leaves_in_order() {
    for device in with_kernels() {
        for streams in [1, 4] {
            let pipeline = Pipeline::new(&device)
                .streams(streams)
                .memory(2000 * streams);
            for count in [0, 1, 145, 146, 1000] {
                let mut found = Vec::new();
                let take = |results: &[f64]| {
                    found.extend_from_slice(results);
                    Ok(())
                };
                let numbers = numbers(count, 11);
                let expected = numbers.mapv(|number| 2.0 * f64::from(number));
                pipeline.map_iter(numbers, doubled, take).unwrap();
                assert_eq!(
                    Array1::from(found),
                    expected,
                    "{device}, {streams}, {count}"
                );
            }
        }
    }
}

/// Launches are slow on one of two devices.
#[test]
fn a_slow_device_changes_no_result() {
    for device in with_kernels() {
        let devices = several(&device, 2);
        let chunks = [Cell::new(0), Cell::new(0)];
        let slowed = |chunk: &Chunk| {
            let is_slow = chunk.stream().device().same_as(&devices[1]);
            if is_slow {
                std::thread::sleep(Duration::from_millis(2));
            }
            let count = &chunks[usize::from(is_slow)];
            count.set(count.get() + 1);
        };
        let pipeline = Pipeline::new(&devices).streams(2).memory(memory_for(10, 2));
        let (a, b) = (numbers(400, 14), numbers(400, 15));
        let mut found = Array1::zeros(400);
        let mapped = pipeline.map((&a, &b), (&mut found,), |chunk, (a, b), (to,)| {
            slowed(chunk);
            let config = LaunchConfig::new(1, 8);
            // SAFETY: equally long, and of this chunk alone.
            unsafe { chunk.launch(&MODULE, &stream_kernels::add, config, (a, b, to)) }
        });
        mapped.unwrap();
        assert_eq!(found, sums(&a, &b), "{device}");
        assert_eq!(chunks[0].get() + chunks[1].get(), 40, "{device}");

        let mut found = Vec::new();
        let expected = a.mapv(|number| 2.0 * f64::from(number));
        let launch = |chunk: &Chunk, from, to| {
            slowed(chunk);
            doubled(chunk, from, to)
        };
        let take = |results: &[f64]| {
            found.extend_from_slice(results);
            Ok(())
        };
        pipeline.map_iter(a, launch, take).unwrap();
        assert_eq!(Array1::from(found), expected, "{device}");
        // Each has had chunks, unless there is one GPU alone.
        assert!(devices[0].same_as(&devices[1]) || chunks.iter().all(|count| count.get() > 0));
    }
}

/// Chunks have any lengths, and at most one chunk a stream is in flight.
#[test]
fn nothing_is_read_ahead_of_its_turn() {
    for device in with_kernels() {
        let (mut given, taken, most) = (0, Cell::new(0), Cell::new(0));
        let fill = |places: &mut [i32]| -> Result<usize> {
            let count = (given * 7 % 11 + 1).min(places.len());
            if given == 50 {
                return Ok(0);
            }
            places[..count].fill(given as i32);
            given += 1;
            most.set(most.get().max(given - taken.get()));
            Ok(count)
        };
        let mut next = 0;
        let take = |results: &[f64]| {
            assert_eq!(results, vec![2.0 * next as f64; next * 7 % 11 + 1]);
            next += 1;
            taken.set(next);
            Ok(())
        };
        let pipeline = Pipeline::new(&device).streams(3).memory(3000);
        pipeline.map_chunks(fill, doubled, take).unwrap();
        assert_eq!((taken.get(), most.get()), (50, 3), "{device}");
    }
}

#[test]
fn elements_without_bytes_are_refused() {
    for device in with_kernels() {
        let pipeline = Pipeline::new(&device);
        let launch = |_: &Chunk, _: DeviceSlice<()>, _: DeviceSliceMut<u8>| Ok(());
        let error = pipeline.map_iter([(); 5], launch, |_: &[u8]| Ok(()));
        fails_with(error, "map_iter: elements of 0 bytes cannot be copied");
    }
}

#[test]
fn errors_and_panics_stop_it_and_leave_it_usable() {
    let failure = || Error::InvalidInput {
        index: None,
        of: "",
        operation: "test",
        message: "enough".into(),
    };
    for device in with_kernels() {
        let pipeline = Pipeline::new(&device).streams(2).memory(memory_for(10, 2));
        let (a, b) = (numbers(100, 12), numbers(100, 13));
        let mut found = Array1::zeros(100);
        let mut launches = 0;
        let error = pipeline.map((&a, &b), (&mut found,), |chunk, (a, b), (to,)| {
            launches += 1;
            if chunk.elements().contains(&55) {
                return Err(failure());
            }
            let config = LaunchConfig::new(1, 8);
            // SAFETY: equally long, and of this chunk alone.
            unsafe { chunk.launch(&MODULE, &stream_kernels::add, config, (a, b, to)) }
        });
        fails(error, &["enough"]);
        assert_eq!(launches, 6, "{device}");

        let endless = 0..;
        let mut count = 0;
        let take = |results: &[f64]| {
            count += results.len();
            if count < 1000 { Ok(()) } else { Err(failure()) }
        };
        fails(pipeline.map_iter(endless, doubled, take), &["enough"]);

        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pipeline.map_iter(0..1000, doubled, |_| panic!("in the middle"))
        }));
        assert!(panicked.is_err(), "{device}");

        add(&pipeline, &a, &b, &mut found).unwrap();
        assert_eq!(found, sums(&a, &b), "{device}");
    }
}

#[test]
fn mistakes_are_told() {
    for device in devices() {
        let pipeline = Pipeline::new(&device);
        let mut found = Array1::zeros(3);
        let added = add(&pipeline, &numbers(3, 0), &numbers(4, 0), &mut found);
        fails_with(added, "add: the arrays are not equally long: [3, 4, 3]");
        let (none, three) = (Pipeline::new(&device).streams(0), numbers(3, 0));
        let message = |name| {
            format!("{name}: the pipeline has 0 streams on each device: it needs at least 1")
        };
        fails_with(add(&none, &three, &three, &mut found), message("add"));
        let mapped = none.map((&three,), (&mut found,), |_, _, _| Ok(()));
        fails_with(mapped, message("map"));
        fails_with(none.map_iter([1], doubled, |_| Ok(())), message("map_iter"));
    }
    for device in with_kernels() {
        let too_little = memory_for(1, 5) - 5;
        let pipeline = Pipeline::new(&device).streams(5).memory(too_little);
        let mut found = Array1::zeros(3);
        fails_with(
            add(&pipeline, &numbers(3, 0), &numbers(3, 0), &mut found),
            format!(
                "add: {too_little} bytes of memory for 5 streams do not suffice: each needs 528 for an element of each array"
            ),
        );
        // As much as addresses count: the columns end where they do.
        let all = Pipeline::new(&device).streams(1).memory(usize::MAX);
        let nothing = |_: &Chunk, _: DeviceSlice<u8>, _: DeviceSliceMut<u8>| Ok(());
        let error = all.map_iter([1], nothing, |_| Ok(()));
        assert_error!(error, Error::Allocation { operation: of, .. } if *of == "map_iter");
        let claims = |places: &mut [i32]| Ok::<_, Error>(places.len() + 1);
        let pipeline = Pipeline::new(&device).memory(4000);
        let error = pipeline.map_chunks(claims, doubled, |_| Ok(()));
        fails(
            error,
            &["map_chunks: ", "elements were written to a slice of"],
        );
    }
}

#[test]
fn a_pipeline_keeps_to_the_limits_of_its_devices() {
    for device in with_kernels() {
        let limited = device.with_memory_limit(memory_for(50, 4) as u64);
        let pipeline = Pipeline::new(&limited);
        assert_adds(&pipeline, 1000);
        assert!(limited.memory_used() <= limited.memory_limit());
        // Again, with the memory that it has kept, and without what another buffer takes meanwhile.
        assert_adds(&pipeline, 1000);
        drop(pipeline);
        let _taken = limited.alloc::<u8>(memory_for(10, 4)).unwrap();
        assert_adds(&Pipeline::new(&limited), 1000);

        // Two handles that share a limit, and two that do not.
        let shared = [limited.clone(), limited.clone()];
        assert_adds(&Pipeline::new(&shared).streams(2), 1000);
        let separate = [limited, device.with_memory_limit(memory_for(10, 4) as u64)];
        assert_adds(&Pipeline::new(&separate), 1000);

        let limited = device.with_memory_limit(1000);
        let mut found = Array1::zeros(3);
        let (pipeline, three) = (Pipeline::new(&limited), numbers(3, 0));
        // Like every other call that a limit refuses.
        let refused = add(&pipeline, &three, &three, &mut found);
        assert_error!(&refused, Error::Allocation { .. });
        let message =
            format!("add: {device} cannot allocate 2112 bytes: 1000 of 1000 bytes are free");
        fails_with(refused, message);
        let shared = Pipeline::new(&[limited.clone(), limited.clone()]).streams(1);
        let refused = add(&shared, &three, &three, &mut found);
        assert_error!(
            refused,
            Error::Allocation {
                requested: 1056,
                free: Some(1000),
                ..
            }
        );
    }
}

#[test]
fn arrays_of_all_kinds_are_inputs_and_outputs() {
    for device in devices() {
        let pipeline = Pipeline::new(&device).streams(2).memory(memory_for(2, 2));
        let expected = [11.0, 22.0, 33.0];
        let (a, b) = ([1, 2, 3], numbers(0, 0).into_iter().chain([10, 20, 30]));
        let b: Array1<i32> = b.collect();

        let mut sums = [0.0; 3];
        add(&pipeline, &a, b.view(), &mut sums).unwrap();
        assert_eq!(sums, expected);

        let wide = ndarray::arr2(&[[1, 9], [2, 9], [3, 9]]);
        let (column, b) = (wide.column(0), b.to_shared());
        let mut sums = ndarray::Array2::zeros((3, 2));
        add(&pipeline, column, &b, sums.column_mut(1)).unwrap();
        assert_eq!(sums.column(1), ndarray::arr1(&expected));
    }
}

#[test]
fn threads_may_share_a_pipeline() {
    for device in devices() {
        let pipeline = Pipeline::new(&device).streams(2).memory(memory_for(100, 2));
        (0..8_u32).into_par_iter().for_each(|seed| {
            let (a, b) = (numbers(1000, seed), numbers(1000, seed + 100));
            let mut found = Array1::zeros(1000);
            add(&pipeline, &a, &b, &mut found).unwrap();
            assert_eq!(found, sums(&a, &b), "{device}, {seed}");
        });
    }
}
