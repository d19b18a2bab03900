//! The messages on a machine whose driver or GPU cannot be used: the reason, and what to do.

use fake_driver::over_fake_driver;
use gridstride::Device;
use gridstride::device::DriverState;

use crate::common::calls::{CALLS, Data};
use crate::common::fails;

/// The function of the driver that fails, and its code.
const FAILS: &str = "FAKE_DRIVER_FAILS";

/// Runs `work` once for each function and code, in a process whose driver fails so. `work` takes what
/// the message has to contain.
fn with_failing<T: Copy>(
    test: T,
    cases: &[(&str, &'static [&'static str])],
    work: impl Fn(&[&str]),
) {
    if let Ok(case) = std::env::var(FAILS) {
        let (_, parts) = cases.iter().find(|(fails, _)| *fails == case).unwrap();
        return over_fake_driver(test, |_| {}, || work(parts));
    }
    for (case, _) in cases {
        over_fake_driver(
            test,
            |command| {
                command.env(FAILS, case);
            },
            || unreachable!("the process of a case has the variable"),
        );
    }
}

/// Without a GPU in CUDA_VISIBLE_DEVICES, and with names of none, the driver finds no device.
#[test]
fn a_driver_that_does_not_start_says_what_to_do() {
    let cases: &[(&str, &'static [&'static str])] = &[
        ("cuInit:3", &["(3)", "restart the process"]),
        (
            "cuInit:100",
            &["(100)", "CUDA_VISIBLE_DEVICES", "/dev/nvidia*"],
        ),
        ("cuInit:304", &["(304)", "permissions of /dev/nvidia*"]),
        (
            "cuInit:800",
            &["(800)", "permissions of /dev/nvidia*", "container"],
        ),
        ("cuInit:802", &["(802)", "fabric manager"]),
        ("cuInit:803", &["(803)", "restart the machine"]),
        ("cuInit:804", &["(804)", "LD_LIBRARY_PATH"]),
        ("cuInit:999", &["CUDA_ERROR_UNKNOWN (999)"]),
        ("cuDeviceGetCount:801", &["(801)", "install a newer driver"]),
    ];
    with_failing(
        a_driver_that_does_not_start_says_what_to_do,
        cases,
        |parts| {
            for part in parts {
                let DriverState::Failed { reason, .. } = Device::driver().state else {
                    panic!("{:?}", Device::driver());
                };
                assert!(reason.contains(part), "{reason}");
            }
            fails(Device::cuda(0), &["device cuda:0 cannot be used: "]);
            fails(Device::cuda(0), parts);
            assert!(Device::gpus().is_empty());
            // The CPU does the work.
            let device = Device::auto();
            assert!((CALLS[0].run)(&Data::new(9), &[device]).is_ok());
        },
    );
}

#[test]
fn a_gpu_that_cannot_be_opened_says_what_to_do() {
    let cases: &[(&str, &'static [&'static str])] = &[
        ("cuDeviceGet:101", &["(101)", "CUDA_VISIBLE_DEVICES"]),
        ("cuDevicePrimaryCtxRetain:2", &["(2)", "context"]),
        (
            "cuDevicePrimaryCtxRetain:46",
            &["CUDA error 46", "compute mode"],
        ),
        ("cuDevicePrimaryCtxRetain:800", &["(800)", "permissions"]),
        (
            "cuStreamCreateWithPriority:801",
            &["(801)", "install a newer driver"],
        ),
    ];
    with_failing(
        a_gpu_that_cannot_be_opened_says_what_to_do,
        cases,
        |parts| {
            fails(Device::cuda(0), &["cuda:0"]);
            fails(Device::cuda(0), parts);
            assert!(Device::gpus().is_empty());
            assert!((CALLS[0].run)(&Data::new(9), &[Device::auto()]).is_ok());
        },
    );
}

/// An old driver has no pools, which the library does without, or refuses the kernels' PTX. A driver
/// that disappears refuses what is asked next.
#[test]
fn a_driver_that_fails_later_says_what_to_do() {
    let cases: &[(&str, &'static [&'static str])] = &[
        ("cuMemPoolCreate:801", &[]),
        (
            "cuModuleLoadDataEx:222",
            &["(222)", "driver for CUDA 13.1", "install a newer driver"],
        ),
        (
            "cuLaunchKernel:719",
            &["launching", "cuda:0", "(719)", "has to be restarted"],
        ),
        (
            "cuStreamSynchronize:700",
            &["last kernel was", "(700)", "has to be restarted"],
        ),
        ("cuStreamSynchronize:4", &["(4)", "restart the process"]),
        (
            "cuMemcpyHtoDAsync_v2:709",
            &["copying to the GPU", "(709)", "has to be restarted"],
        ),
    ];
    with_failing(a_driver_that_fails_later_says_what_to_do, cases, |parts| {
        // SAFETY: this process runs this test alone, and no other thread reads the environment.
        unsafe { std::env::set_var("FAKE_DRIVER_FILL", "0") };
        let data = Data::new(9);
        for _ in 0..2 {
            let device = Device::cuda(0).unwrap();
            let found = (CALLS[0].run)(&data, &[device]);
            match parts {
                [] => assert!(found.is_ok()),
                parts => fails(found, parts),
            }
            // Other devices go on.
            assert!((CALLS[0].run)(&data, &[Device::cpu()]).is_ok());
            let simulator = Device::simulator().unwrap();
            assert!((CALLS[0].run)(&data, &[simulator]).is_ok());
        }
    });
}
