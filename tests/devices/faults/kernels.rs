//! Kernels that stop a device: the error says so, other devices go on, and nothing panics.
//!
//! On a GPU such an error ends the context of the process, so each test runs in a process of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_std::prelude::*;
use fake_driver::in_own_process;
use gridstride::device::{DeviceKind, Image, LaunchConfig, Module};
use gridstride::{Device, Error};

use crate::common::calls::{CALLS, Data};
use crate::common::{open_cuda, simulator, small};

/// Stops its thread.
#[kernel]
fn stop() {
    panic!("stopped on purpose");
}

/// Writes where there is no memory.
#[kernel]
unsafe fn write_astray(values: DeviceSliceMut<u32>) {
    // SAFETY: never right, which the simulator says.
    unsafe { values.set(values.len() + (1 << 40), 0) };
}

/// The kernels as a GPU runs them: parameters that a kernel does not read need not be declared.
static MODULE: Module = Module::new(
    "faults_test",
    &[Image::new(
        "sm_70",
        "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry stop()
{
    trap;
    ret;
}
.visible .entry write_astray()
{
    .reg .b64 %address;
    mov.b64 %address, 16;
    st.global.u32 [%address], 1;
    ret;
}
",
    )],
);

/// The simulator, and the first GPU, which nothing else holds open. Sanitizers, which take smaller
/// inputs, would report the kernels.
fn simulated_and_gpu() -> impl Iterator<Item = Device> {
    let gpu = if small() { None } else { open_cuda() };
    [simulator()].into_iter().chain(gpu)
}

/// Whether the device is a GPU, whose context such an error ends.
fn is_gpu(device: &Device) -> bool {
    matches!(device.kind(), DeviceKind::Cuda { .. })
}

/// Checks the error of a kernel, and what the device and the others do then.
fn check(device: Device, error: Error, kernel: &str) {
    let text = error.to_string();
    assert!(text.contains(kernel), "{text}");
    let (data, cpu) = (Data::new(12), Device::cpu());
    let again = |device: &Device| {
        for call in CALLS {
            let expected = (call.run)(&data, std::slice::from_ref(&cpu)).unwrap();
            let run = || (call.run)(&data, std::slice::from_ref(device));
            let name = call.name;
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(found)) => assert_eq!(found, expected, "{name} on {device}"),
                Ok(Err(error)) => {
                    let text = error.to_string();
                    assert!(is_gpu(device), "{name} on {device}: {text}");
                    assert!(text.contains("has to be restarted"), "{name}: {text}");
                }
                Err(_) => panic!("{name} panics on {device} after {kernel}"),
            }
        }
    };
    if is_gpu(&device) {
        assert!(matches!(error, Error::Driver { .. }), "{text}");
        assert!(text.contains("has to be restarted"), "{text}");
    } else {
        assert!(matches!(error, Error::Simulation(_)), "{text}");
    }
    again(&device);
    let others = Device::gpus()
        .into_iter()
        .filter(|gpu| !gpu.same_as(&device));
    for other in others.chain([simulator(), cpu.clone()]) {
        let call = &CALLS[0];
        let found = (call.run)(&data, std::slice::from_ref(&other)).unwrap();
        let expected = (call.run)(&data, std::slice::from_ref(&cpu)).unwrap();
        assert_eq!(found, expected, "{other}");
    }
    // Dropping what exists does not abort. Opened again, a GPU works or says what to do.
    let DeviceKind::Cuda { ordinal } = device.kind() else {
        return;
    };
    drop(device);
    match Device::cuda(ordinal) {
        Ok(device) => {
            eprintln!("{device} opens again after {kernel}");
            again(&device);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("has to be restarted"), "{text}");
        }
    }
}

#[test]
fn a_kernel_that_stops() {
    in_own_process(
        a_kernel_that_stops,
        |_| {},
        || {
            for device in simulated_and_gpu() {
                let config = LaunchConfig::new(2, 32);
                // SAFETY: the kernel accesses no memory.
                let launched = unsafe { device.launch(&MODULE, &stop, config, ()) };
                let error = launched.and_then(|()| device.synchronize()).unwrap_err();
                check(device, error, "stop");
            }
        },
    );
}

#[test]
fn a_kernel_that_writes_astray() {
    in_own_process(
        a_kernel_that_writes_astray,
        |_| {},
        || {
            for device in simulated_and_gpu() {
                let mut values = device.zeros::<u32>(8).unwrap();
                let (config, arguments) = (LaunchConfig::new(1, 1), (values.slice_mut(),));
                // SAFETY: the write faults. Nothing else uses the process's memory on the GPU.
                let launched = unsafe { device.launch(&MODULE, &write_astray, config, arguments) };
                let error = launched.and_then(|()| device.synchronize()).unwrap_err();
                drop(values);
                check(device, error, "write_astray");
            }
        },
    );
}
