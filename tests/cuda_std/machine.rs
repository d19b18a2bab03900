//! Clocks, counters of profilers, breakpoints, the architecture, and functions of the GPU only.

use super::*;
use cuda_std_tests_kernels::machine;
use gridstride::device::DeviceKind;

#[test]
fn clocks_run() {
    for device in with_kernels() {
        let mut out = device.zeros::<[u64; 3]>(40).unwrap();
        let arguments = (2000, out.slice_mut());
        // SAFETY: an element per thread.
        unsafe {
            launch(
                &device,
                &machine::clocks,
                LaunchConfig::new(2, 20),
                arguments,
            )
        };
        let step = |state: u64, _| state.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ (state >> 7);
        let expected = (0..2000).fold(2000, step);
        for [before, after, state] in out.to_vec().unwrap() {
            assert_eq!(state, expected, "{device}");
            // A round takes some cycles, and far less than a second.
            let elapsed = after - before;
            assert!(
                0 < elapsed && elapsed < 4_000_000_000,
                "{device}: {elapsed}"
            );
        }
    }
}

#[test]
fn counters_end_at_seven() {
    let config = LaunchConfig::new(1, 1);
    // SAFETY: always.
    let launched = unsafe { simulator().launch(&MODULE, &machine::wrong_counter, config, (8,)) };
    fails(launched, &["`wrong_counter`", "counters 0 to 7"]);
}

/// On a GPU without a debugger a breakpoint is an error, so that it is only passed by there.
#[test]
fn breakpoints_stop_nothing_in_the_simulator() {
    for device in with_kernels() {
        let stop = u32::from(device.kind() == DeviceKind::Simulator);
        // SAFETY: always.
        unsafe {
            launch(
                &device,
                &machine::breakpoints,
                LaunchConfig::new(1, 32),
                (stop,),
            )
        };
        device.synchronize().unwrap();
    }
}

#[test]
fn kernels_know_what_they_are_compiled_for() {
    for device in with_kernels() {
        let mut out = device.zeros::<u32>(3).unwrap();
        let config = LaunchConfig::new(1, 1);
        // SAFETY: three elements.
        unsafe { launch(&device, &machine::capability, config, (out.slice_mut(),)) };
        let expected = match device.kind() {
            DeviceKind::Simulator => 70,
            _ => match device.info().compute_capability {
                Some((9, 0)) => 90,
                Some((8.., _)) => 80,
                _ => 70,
            },
        };
        assert_eq!(
            out.to_vec().unwrap(),
            [expected, 1, u32::from(expected == 70)],
            "{device}"
        );
    }
}

#[test]
fn functions_of_the_gpu_are_refused_elsewhere() {
    for device in with_kernels() {
        let mut out = device.zeros::<u32>(1).unwrap();
        let config = LaunchConfig::new(1, 1);
        let mut call = |call: u32| {
            let arguments = (call, out.slice_mut());
            // SAFETY: an element.
            unsafe { device.launch(&MODULE, &machine::gpu_only_functions, config, arguments) }?;
            out.to_vec()
        };
        assert_eq!(call(0).unwrap(), [0], "{device}");
        if device.kind() == DeviceKind::Simulator {
            fails(call(1), &["`timer` runs on a GPU only"]);
        } else {
            assert_eq!(call(1).unwrap()[0] & 1, 1, "{device}");
        }
    }
}

#[test]
fn visible_functions_are_in_the_ptx() {
    for image in MODULE.images() {
        let (arch, ptx) = (image.architecture(), image.ptx());
        assert!(ptx.contains(".visible .func"), "{arch}");
        assert!(ptx.contains("visible_in_the_ptx("), "{arch}");
        // Counters of profilers, and the breakpoint.
        for instruction in ["brkpt;", "pmevent \t7;", "%clock64"] {
            let found = ptx.contains(instruction) || ptx.contains(&instruction.replace('\t', ""));
            assert!(found, "{instruction} in {arch}");
        }
    }
}
