//! Allocations in kernels, and the sizes of shared memory.

use super::children::in_children;
use super::*;
use cuda_std_tests_kernels::heap;
use gridstride::device::DeviceKind;

#[test]
fn collections_work_in_kernels() {
    let values: Vec<u32> = (0..100).collect();
    let expected: Vec<[u64; 6]> = (0..100_u64)
        .map(|value| {
            let n = value % 50;
            let digits = |number: u64| if number < 10 { 1 } else { 2 };
            let sum = n * n.saturating_sub(1) / 2;
            let squares = (0..n).map(|i| 3 * i * i).sum();
            let text = (0..n).map(|i| digits(i) + 1).sum();
            [sum, squares, text, n + 1, n + 2, 4 + digits(n)]
        })
        .collect();
    for device in with_kernels() {
        let input = device.buffer_from(&values).unwrap();
        let mut out = device.zeros::<[u64; 6]>(100).unwrap();
        let arguments = (input.slice(), out.slice_mut());
        // SAFETY: as long as each other.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &heap::collections,
                LaunchConfig::new(2, 32),
                arguments,
            )
        };
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn what_is_freed_is_there_again() {
    for device in with_kernels() {
        let mut out = device.zeros::<u64>(64).unwrap();
        // 64 · 100 · 16 KiB are 100 MiB, of a heap of 8 MiB.
        let arguments = (100, 16 << 10, out.slice_mut());
        // SAFETY: an element per thread.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &heap::many_allocations,
                LaunchConfig::new(2, 32),
                arguments,
            )
        };
        assert_eq!(out.to_vec().unwrap(), [99 * 100 / 2; 64], "{device}");
    }
}

#[test]
fn one_thread_frees_what_another_allocated() {
    for device in with_kernels() {
        let mut out = device.zeros::<u64>(64).unwrap();
        // SAFETY: an element per thread.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &heap::mallocs,
                LaunchConfig::new(1, 64),
                (40, out.slice_mut()),
            )
        };
        let expected: Vec<u64> = (0..64).map(|i| 100 + (i + 1) % 64).collect();
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

/// On a GPU the launch fails. In the simulator kernels allocate with the host's allocator, and the
/// process ends, as that of every program on the host.
#[test]
fn a_launch_without_room_fails() {
    // The largest size that a `Vec` asks for: Linux might promise less.
    const BYTES: usize = isize::MAX as usize;
    let work = |device: &Device| {
        // SAFETY: always.
        let launched = unsafe {
            device.launch(
                &COMMON,
                &heap::out_of_heap,
                LaunchConfig::new(1, 1),
                (BYTES,),
            )
        };
        assert!(
            launched.and_then(|()| device.synchronize()).is_err(),
            "{device}"
        );
    };
    let check = |device: &Device, output: &std::process::Output| {
        let text = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        match device.kind() {
            DeviceKind::Simulator => {
                let message = format!("memory allocation of {BYTES} bytes failed");
                assert!(!output.status.success(), "{device}");
                assert!(text.contains(&message), "{device}: {text}");
            }
            _ => {
                let message =
                    format!("block (0, 0, 0), thread (0, 0, 0): no room for {BYTES} bytes");
                assert!(output.status.success(), "{device}: {text}");
                assert!(printed.contains(&message), "{device}: {printed}");
            }
        }
    };
    in_children("heap::a_launch_without_room_fails", work, check);
}

#[test]
fn sizes_of_shared_memory_are_those_of_the_launch() {
    for device in with_kernels() {
        for bytes in [0, 400, 4096] {
            let mut out = device.zeros::<u32>(2).unwrap();
            let config = LaunchConfig::new(1, 1).with_shared_bytes(bytes);
            // SAFETY: two elements.
            unsafe {
                launch_of(
                    &COMMON,
                    &device,
                    &heap::shared_sizes,
                    config,
                    (out.slice_mut(),),
                )
            };
            let [dynamic, total] = out.to_vec().unwrap()[..] else {
                panic!("two elements");
            };
            assert_eq!(dynamic, bytes, "{device}");
            match device.kind() {
                DeviceKind::Simulator => assert_eq!(total, bytes),
                // 1 KiB of static memory, and what the driver keeps and rounds up.
                _ => assert!(
                    (bytes + 1024..bytes + 4096).contains(&total),
                    "{device}: {total}"
                ),
            }
        }
    }
}
