//! Handles whose work is ordered on a stream, on every available device.
//!
//! On the CPU and in the simulator streams are only names, so these tests check results and errors
//! there. On a GPU a missing order makes them fail with some probability, since work is put on
//! streams behind slow kernels.

use cuda_std_tests_kernels::launches::add_to_all;
use gridstride::device::{Buffer, LaunchConfig, Module};
use gridstride::matmul::{MatMul, matmul};
use gridstride::primitives::{exclusive_sums, sort_pairs};
use gridstride::{Device, Error};
use ndarray::{Array2, array};

#[cfg(feature = "cuda")]
use crate::common::cuda;
use crate::common::{assert_error, devices, fails_with, module, simulator, small, with_kernels};

static MODULE: Module = module!(
    "device_on_stream_test",
    "kernels-gpu/ptx/cuda_std_tests",
    "sm_70"
);

/// Adds on the handle's stream.
fn add(device: &Device, values: &mut Buffer<u32>, amount: u32) {
    let config = LaunchConfig::for_len(values.len(), 256);
    // SAFETY: the slice is the buffer's, which is freed in the order of this stream.
    unsafe { device.launch(&MODULE, &add_to_all, config, (values.slice_mut(), amount)) }.unwrap();
}

/// Returns a number of elements that keeps a GPU busy for a while, or few for the simulator.
fn many(device: &Device) -> usize {
    match device.kind() {
        gridstride::device::DeviceKind::Cuda { .. } if !small() => 1 << 24,
        _ => 1 << 10,
    }
}

#[track_caller]
fn assert_all(values: &Buffer<u32>, expected: u32) {
    let values = values.to_vec().unwrap();
    assert!(values.iter().all(|&value| value == expected));
}

/// Keeps the handle's stream busy: the result is 1 in each element, from the last launch.
fn busy(device: &Device, rounds: u32) -> Buffer<u32> {
    let mut values = device.zeros::<u32>(many(device)).unwrap();
    for _ in 0..rounds {
        add(device, &mut values, 1);
    }
    values
}

fn two(device: &Device) -> (Device, Device) {
    let on_stream = || device.on(&device.stream().unwrap()).unwrap();
    (on_stream(), on_stream())
}

fn matrix(size: usize, seed: u64) -> Array2<f64> {
    Array2::from_shape_fn((size, size), |(row, column)| {
        ((row as u64 * 7 + column as u64 * 3 + seed) % 5) as f64 - 2.0
    })
}

#[test]
fn results_through_a_handle_on_a_stream_are_the_same() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let on = device.on(&stream).unwrap();
        let (a, b) = (matrix(33, 1), matrix(33, 2));
        let expected = matmul(&device, a.view(), b.view()).unwrap();
        assert_eq!(matmul(&on, a.view(), b.view()).unwrap(), expected);
        let (a, b) = (on.upload(&a.t()).unwrap(), on.upload(&b.t()).unwrap());
        let product = MatMul::new().matmul_device(b.view(), a.view()).unwrap();
        assert!(product.device().same_as(&device));
        assert_eq!(product.view().t().download().unwrap(), expected);

        let values = [5, 0, u32::MAX, 7];
        let sums = exclusive_sums(&on.buffer_from(&values).unwrap()).unwrap();
        let expected = exclusive_sums(&device.buffer_from(&values).unwrap()).unwrap();
        assert_eq!(sums.to_vec().unwrap(), expected.to_vec().unwrap());
        let mut zeros = on.zeros::<u64>(1000).unwrap();
        assert_eq!(zeros.to_vec().unwrap(), [0; 1000]);
        zeros.copy_from(&[3; 1000]).unwrap();
        assert_eq!(zeros.to_vec().unwrap(), [3; 1000]);
        on.synchronize().unwrap();
        stream.synchronize().unwrap();
    }
}

#[test]
fn a_handle_on_a_stream_is_the_same_device() {
    for device in devices() {
        let limited = device.with_memory_limit(1000);
        let stream = device.stream().unwrap();
        let on = limited.on(&stream).unwrap();
        assert!(on.same_as(&device) && stream.device().same_as(&device));
        assert_eq!((on.id(), on.to_string()), (device.id(), device.to_string()));
        // The limit is that of the handle, not the stream's.
        assert_eq!(on.memory_limit(), Some(1000));
        assert_eq!(device.on(&stream).unwrap().memory_limit(), None);
        let stream = limited.stream().unwrap();
        assert_eq!(stream.device().memory_limit(), Some(1000));
        let array = on.upload(&array![1u8, 2, 3]).unwrap();
        assert_eq!(limited.memory_used(), Some(3));
        // Moving leaves the memory counted where it was allocated.
        let array = array.on(&device).unwrap();
        assert_eq!(limited.memory_used(), Some(3));
        drop(array);
        assert_eq!(limited.memory_used(), Some(0));
    }
}

#[test]
fn streams_and_handles_of_another_device_are_refused() {
    let (one, other) = (simulator(), simulator());
    let stream = other.stream().unwrap();
    let text = format!("handle on a stream: one argument is on {one}, another on {other}");
    fails_with(one.on(&stream), text);
    let moved = one.upload(&array![1]).unwrap().on(&other);
    assert_error!(moved, Error::DifferentDevices { .. });
    let moved = one.buffer_from(&[1]).unwrap().on(&other);
    assert_error!(moved, Error::DifferentDevices { .. });
}

/// On a GPU: the sort on the first stream must wait for the values of the second stream, whose
/// memory must not be reused before the sort has read it.
#[test]
fn a_call_with_owned_buffers_of_two_streams_is_ordered() {
    for device in with_kernels() {
        let (first, second) = two(&device);
        for _ in 0..5 {
            let values = busy(&second, 20);
            let keys: Vec<u64> = (0..values.len() as u64).rev().collect();
            let keys = first.buffer_from(&keys).unwrap();
            let (keys, values) = sort_pairs(keys, values, 0..24).unwrap();
            // Takes the memory that the sort has freed, if it is free already.
            let other = busy(&second, 1);
            assert_all(&values, 20);
            assert!(keys.to_vec().unwrap().is_sorted());
            assert_all(&other, 1);
        }
    }
}

/// On a GPU: the third product must wait for the factors of both streams and keep the memory of the
/// second factor.
#[test]
fn a_call_with_arrays_of_two_streams_is_ordered() {
    for device in devices() {
        let (first, second) = two(&device);
        let size = if many(&device) > 1024 { 1000 } else { 40 };
        let (a, b) = (matrix(size, 1), matrix(size, 4));
        let expected = matmul(&Device::cpu(), a.view(), b.view()).unwrap();
        let (a_there, b_there) = (first.upload(&a).unwrap(), second.upload(&b).unwrap());
        let one = device.upload(&Array2::<f64>::eye(size)).unwrap();
        let multiply = |a: &gridstride::device::DeviceArray<f64, _>, b: &_| {
            MatMul::new().matmul_device(a, b).unwrap()
        };
        for _ in 0..5 {
            // The same matrix, but on its way.
            let (a, b) = (multiply(&a_there, &one), multiply(&b_there, &one));
            let product = multiply(&a, &b);
            drop(b);
            let other = second.zeros::<f64>(size * size).unwrap();
            assert_eq!(product.download().unwrap(), expected);
            drop(other);
        }
    }
}

#[test]
fn a_moved_array_is_ordered_on_its_new_stream() {
    for device in with_kernels() {
        let (first, second) = two(&device);
        for _ in 0..5 {
            let values = busy(&first, 20);
            let mut values = values.on(&second).unwrap();
            add(&second, &mut values, 2);
            let mut values = values.on(&device).unwrap();
            add(&device, &mut values, 3);
            assert_all(&values, 25);
        }
    }
}

/// On a GPU: a scope's copies wait for the buffer's stream, which waits for them.
#[test]
fn a_scope_is_ordered_with_the_streams_of_its_buffers() {
    for device in with_kernels() {
        let (stream, (on, _)) = (device.stream().unwrap(), two(&device));
        let mut pinned = device.pinned::<u32>(many(&device)).unwrap();
        pinned.fill(7);
        let mut back = device.pinned::<u32>(many(&device)).unwrap();
        let mut buffer = busy(&on, 20);
        let sum = stream.scope(|scope| {
            scope.download(&buffer, &mut back)?;
            scope.upload(&pinned, &mut buffer)?;
            add(&on, &mut buffer, 1);
            let first = buffer.to_vec()?;
            // Freed while the scope is open.
            drop(buffer);
            Ok(first)
        });
        assert!(sum.unwrap().iter().all(|&value| value == 8));
        assert!(back.iter().all(|&value| value == 20));
    }
}

#[test]
fn two_streams_are_in_flight_side_by_side() {
    for device in with_kernels() {
        let (first, second) = two(&device);
        std::thread::scope(|scope| {
            for (device, amount) in [(&first, 3), (&second, 5)] {
                scope.spawn(move || {
                    for _ in 0..10 {
                        // Freed memory goes from one stream to the other.
                        let mut values = busy(device, 3);
                        add(device, &mut values, amount);
                        drop(busy(device, 1));
                        assert_all(&values, 3 + amount);
                    }
                });
            }
        });
        let mut values = [busy(&first, 10), busy(&second, 10)];
        add(&first, &mut values[0], 1);
        add(&second, &mut values[1], 2);
        assert_all(&values[0], 11);
        assert_all(&values[1], 12);
    }
}

#[test]
fn things_on_a_stream_are_dropped_in_any_order() {
    for device in with_kernels() {
        for rotation in 0..4 {
            let stream = device.stream().unwrap();
            let on = device.on(&stream).unwrap();
            let event = on.event().unwrap();
            let values = busy(&on, 5);
            let kept = busy(&on, 5);
            on.record(&event).unwrap();
            let mut drops: [Box<dyn FnOnce()>; 4] = [
                Box::new(|| drop(on)),
                Box::new(|| std::thread::spawn(|| drop(stream)).join().unwrap()),
                Box::new(|| drop(values)),
                Box::new(|| drop(event)),
            ];
            drops.rotate_left(rotation);
            drops.into_iter().for_each(|drop| drop());
            // The buffer keeps its stream.
            assert_all(&kept, 5);
        }
    }
}

/// On a GPU: a launch on a `Stream` may use buffers of other streams. It waits for their
/// allocation, and they are freed after it.
#[test]
fn launches_on_a_stream_may_use_buffers_of_others() {
    for device in with_kernels() {
        let (stream, (on, other)) = (device.stream().unwrap(), two(&device));
        for _ in 0..5 {
            let mut values = on.zeros::<u32>(many(&device)).unwrap();
            let config = LaunchConfig::for_len(values.len(), 256);
            for _ in 0..10 {
                let arguments = (values.slice_mut(), 1);
                // SAFETY: the slice is the buffer's, which is freed after the stream's work.
                unsafe { stream.launch(&MODULE, &add_to_all, config, arguments) }.unwrap();
            }
            drop(values);
            // Takes the memory that was freed.
            let values = busy(&on, 2);
            assert_all(&values, 2);
            let values = busy(&other, 2);
            assert_all(&values, 2);
        }
        drop(stream);
        assert_all(&busy(&on, 1), 1);
    }
}

#[test]
fn events_of_handles_order_their_streams() {
    for device in with_kernels() {
        let (first, second) = two(&device);
        let done = first.event().unwrap();
        let mut values = busy(&first, 20);
        first.record(&done).unwrap();
        second.wait(&done).unwrap();
        add(&second, &mut values, 1);
        second.record(&done).unwrap();
        first.wait(&done).unwrap();
        assert_all(&values, 21);
    }
}

#[cfg(feature = "cuda")]
#[test]
fn streams_of_other_libraries_are_wrapped() {
    use gridstride::device::Stream;
    // SAFETY: the CPU has no streams, and refuses.
    let refused = unsafe { Stream::from_raw(&Device::cpu(), std::ptr::null_mut()) };
    fails_with(refused, "device cpu cannot be used: it has no CUDA streams");
    let Some(device) = cuda() else { return };
    // SAFETY: the legacy default stream, which is never destroyed.
    let stream = unsafe { Stream::from_raw(&device, std::ptr::null_mut()) }.unwrap();
    let on = device.on(&stream).unwrap();
    drop(stream);
    for _ in 0..3 {
        let values = busy(&on, 10);
        let mut values = values.on(&device).unwrap();
        add(&device, &mut values, 1);
        assert_all(&values, 11);
    }
    let a = matrix(50, 3);
    let product = matmul(&on, a.view(), a.view()).unwrap();
    assert_eq!(product, matmul(&device, a.view(), a.view()).unwrap());
}
