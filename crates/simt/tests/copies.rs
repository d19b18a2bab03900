//! Asynchronous copies: when they are made, and the mistakes around them.

mod common;

use common::{SEEDS, launch, slice, slice_mut, under_all_schedules};
use cuda_std::host::{Dim3, LaunchConfig, Misuse};
use cuda_std::prelude::*;
use cuda_std::{async_copy, shared};
use simt::{SimError, Simulator, differing_seeds};

/// Copies an element, and another one in a second group; waits for all but `PENDING` groups and
/// gives what is there then.
unsafe fn copy_two<const PENDING: u32>(input: DeviceSlice<u32>, out: DeviceSliceMut<[u32; 2]>) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let i = thread::thread_idx_x() as usize;
    // SAFETY: two elements a thread everywhere; it reads its own.
    unsafe {
        let to = shared::address(tile).offset(8 * i as u32);
        async_copy::copy::<4>(to, input.address(2 * i).cast(), true);
        async_copy::commit();
        async_copy::copy::<4>(to.offset(4), input.address(2 * i + 1).cast(), true);
        async_copy::commit();
        async_copy::wait::<PENDING>();
        out.set(i, [tile.add(2 * i).read(), tile.add(2 * i + 1).read()]);
    }
}

#[kernel]
unsafe fn wait_for_all(input: DeviceSlice<u32>, out: DeviceSliceMut<[u32; 2]>) {
    // SAFETY: the launch has two elements of shared memory and of the input for each thread, as
    // `copy_two` needs.
    unsafe { copy_two::<0>(input, out) };
}

#[kernel]
unsafe fn wait_for_one(input: DeviceSlice<u32>, out: DeviceSliceMut<[u32; 2]>) {
    // SAFETY: the launch has two elements of shared memory and of the input for each thread, as
    // `copy_two` needs.
    unsafe { copy_two::<1>(input, out) };
}

#[kernel]
unsafe fn wait_for_none(input: DeviceSlice<u32>, out: DeviceSliceMut<[u32; 2]>) {
    // SAFETY: the launch has two elements of shared memory and of the input for each thread, as
    // `copy_two` needs.
    unsafe { copy_two::<2>(input, out) };
}

#[test]
fn copies_are_there_after_the_wait_and_perhaps_before() {
    let input: Vec<u32> = (0..128).collect();
    for (kernel, there) in [(&wait_for_all, 2), (&wait_for_one, 1), (&wait_for_none, 0)] {
        let run = |simulator: &Simulator| {
            let mut out = vec![[0; 2]; 64];
            let config = LaunchConfig::new(1, 64).with_shared_bytes(512);
            launch(
                simulator,
                kernel,
                config,
                (slice(&input), slice_mut(&mut out)),
            )?;
            for (i, pair) in out.iter().enumerate() {
                for (j, &read) in pair.iter().enumerate() {
                    let value = input[2 * i + j];
                    assert!(read == value || j >= there && read == u32::MAX, "{read}");
                }
            }
            Ok(out)
        };
        let difference = differing_seeds(SEEDS, run).unwrap();
        assert_eq!(difference.is_some(), there < 2);
    }
}

/// Overwrites what it copies before it waits.
#[kernel]
unsafe fn overwrite_the_source(data: DeviceSliceMut<u32>) {
    let tile = shared::dynamic_shared_mem::<u32>();
    // SAFETY: a single thread; that the source changes is the mistake.
    unsafe {
        async_copy::copy::<4>(shared::address(tile), data.address(0).cast(), true);
        async_copy::commit();
        data.set(0, 7);
        async_copy::wait::<0>();
        data.set(0, tile.read());
    }
}

#[test]
fn a_source_that_changes_early_shows() {
    let run = |simulator: &Simulator| {
        let mut data = [3];
        let config = LaunchConfig::new(1, 1).with_shared_bytes(4);
        launch(
            simulator,
            &overwrite_the_source,
            config,
            (slice_mut(&mut data),),
        )?;
        Ok(data)
    };
    let difference = differing_seeds(SEEDS, run).unwrap().unwrap();
    assert_eq!(difference.results, ([7], [3]));
}

/// Ends with copies that nobody waits for, some in no group.
#[kernel]
unsafe fn never_wait(input: DeviceSlice<u32>) {
    let to = shared::address(shared::dynamic_shared_mem::<u32>());
    // SAFETY: two elements of a single thread.
    unsafe {
        async_copy::copy::<4>(to, input.address(0).cast(), true);
        async_copy::commit();
        async_copy::copy::<4>(to.offset(4), input.address(1).cast(), true);
        async_copy::wait::<5>();
    }
}

#[test]
fn a_thread_may_end_before_its_copies() {
    under_all_schedules(|simulator| {
        let config = LaunchConfig::new(3, 1).with_shared_bytes(8);
        launch(simulator, &never_wait, config, (slice(&[1, 2]),)).unwrap();
    });
}

/// Copies 8 bytes from `start` bytes behind the input's start to `to`.
#[kernel]
unsafe fn copy_to(input: DeviceSlice<u64>, start: u32, to: u32) {
    if thread::thread_idx_x() == 2 {
        let target = shared::address(shared::dynamic_shared_mem::<u8>()).offset(to);
        // SAFETY: the input is long enough, and the simulator checks the rest.
        unsafe {
            let from = input.address(0).cast::<u8>().add(start as usize);
            async_copy::copy::<8>(target, from, true);
        }
    }
}

#[test]
fn addresses_out_of_range_or_not_aligned_are_reported() {
    let input = [1, 2, 3];
    for seed in SEEDS {
        let run =
            |start, to| {
                let config = LaunchConfig::new(1, 4).with_shared_bytes(64);
                let args = (slice(&input), start, to);
                match launch(&Simulator::with_seed(seed), &copy_to, config, args) {
                    Ok(()) => None,
                    Err(error) => {
                        let text = error.to_string();
                        let SimError::Misuse {
                            place,
                            misuse,
                            site,
                        } = error
                        else {
                            panic!("{text}");
                        };
                        assert_eq!(place.thread, Dim3::from((2, 0, 0)));
                        assert!(site.file().ends_with("copies.rs"));
                        assert!(text.starts_with(
                            "kernel `copy_to`, block (0, 0, 0), thread (2, 0, 0), at "
                        ));
                        Some((misuse, text))
                    }
                }
            };
        assert_eq!(run(0, 56), None);
        assert_eq!(run(8, 0), None);
        for to in [57, 60, 64, 1 << 20, u32::MAX] {
            let (misuse, text) = run(0, to).unwrap();
            let expected = Misuse::OutOfRange {
                access: "an asynchronous copy",
                address: to as usize,
                bytes: 8,
                length: 64,
            };
            assert_eq!(misuse, expected);
            assert!(text.contains("which has 64 bytes"), "{text}");
        }
        for (start, to) in [(0, 4), (4, 0), (1, 8)] {
            let (misuse, _) = run(start, to).unwrap();
            assert!(
                matches!(misuse, Misuse::Misaligned { alignment: 8, .. }),
                "{misuse}"
            );
        }
    }
}

/// Copies to a static array, which has no address of the dynamic memory.
#[kernel]
unsafe fn copy_to_static(input: DeviceSlice<u32>, offset: u32) {
    let tile = shared_array![u32; 4];
    let to = shared::address(tile).offset(offset);
    // SAFETY: the simulator refuses the copy.
    unsafe { async_copy::copy::<4>(to, input.address(0).cast(), true) };
}

#[test]
fn a_static_array_is_out_of_range() {
    let config = LaunchConfig::new(1, 1).with_shared_bytes(64);
    for offset in [0, 4, 12] {
        let arguments = (slice(&[1]), offset);
        let failed = launch(&Simulator::default(), &copy_to_static, config, arguments);
        let error = failed.unwrap_err();
        let is_out_of_range = matches!(
            error,
            SimError::Misuse {
                misuse: Misuse::OutOfRange { .. },
                ..
            }
        );
        assert!(is_out_of_range, "{error}");
    }
}
