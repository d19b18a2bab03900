//! The n-th allocation of every call fails.

use std::collections::BTreeSet;

use gridstride::device::DeviceKind;
use gridstride::{Device, Error};

use crate::common::calls::{CALLS, Call, Data};
use crate::common::{devices, several};

/// What uploads the arguments of calls on device arrays.
const UPLOADS: [&str; 3] = [
    "upload of an array",
    "Sequences::upload",
    "allocation of a buffer",
];

/// Calls that allocate nothing themselves for these arguments.
const WITHOUT_BUFFERS: [&str; 2] = ["gemm_device", "matmul_device_into"];

/// Runs a call on devices of which the first fails. The call succeeds with the right result, or fails
/// with an error that names it and the bytes. Either way no buffer is left. Returns whether the call
/// succeeded, and adds the operation of the error to `named`.
fn succeeds(
    call: &Call,
    data: &Data,
    devices: &[Device],
    expected: &[f64],
    named: &mut BTreeSet<&'static str>,
) -> bool {
    let failing = &devices[0];
    let name = call.name;
    let result = (call.run)(data, devices);
    assert_eq!(failing.memory_used(), Some(0), "{name} on {failing}");
    match result {
        Ok(found) => {
            assert_eq!(found, expected, "{name} on {failing}");
            true
        }
        Err(error) => {
            let text = error.to_string();
            let Error::Allocation {
                operation,
                requested,
                ..
            } = error
            else {
                panic!("{name} on {failing}: {text}");
            };
            let sentence = format!("{operation}: {failing} cannot allocate {requested} bytes");
            assert!(text.starts_with(&sentence), "{name} on {failing}: {text}");
            let is_named = call.function() == operation;
            assert!(is_named || UPLOADS.contains(&operation), "{name}: {text}");
            named.insert(operation);
            false
        }
    }
}

/// Fails each allocation of a call in turn, alone and with all later ones.
fn check(call: &Call, data: &Data, device: &Device) {
    let name = call.name;
    let expected = (call.run)(data, std::slice::from_ref(device)).unwrap();
    let mut named = BTreeSet::new();
    for number in 0.. {
        let from_here = [device.with_failing_allocations(number..u64::MAX)];
        if succeeds(call, data, &from_here, &expected, &mut named) {
            let takes_memory = named.contains(call.function());
            let needs_none = device.kind() == DeviceKind::Cpu || WITHOUT_BUFFERS.contains(&name);
            assert!(takes_memory || needs_none, "{name} on {device}: {named:?}");
            return;
        }
        // The call splits its work and goes on, or a later call has the memory.
        let once = [device.with_failing_allocations(number..number + 1)];
        succeeds(call, data, &once, &expected, &mut named);
        let later = succeeds(call, data, &once, &expected, &mut named);
        assert!(later, "{name} on {device} after allocation {number} failed");
    }
}

#[test]
fn every_allocation_of_every_call_may_fail() {
    for device in devices() {
        let data = Data::new(24);
        for call in CALLS {
            check(call, &data, &device);
        }
    }
}

/// A device of several fails for good: the call fails, or the other device does its work.
#[test]
fn one_device_of_several_may_have_no_memory() {
    for device in devices() {
        let data = Data::new(40);
        let [first, second] = several(&device, 2).try_into().unwrap();
        for call in CALLS {
            let expected = (call.run)(&data, std::slice::from_ref(&device)).unwrap();
            for number in 0..3 {
                let failing = first.with_failing_allocations(number..u64::MAX);
                let set = [failing, second.clone()];
                succeeds(call, &data, &set, &expected, &mut BTreeSet::new());
            }
            let whole = [second.clone(), first.clone()];
            assert_eq!(
                (call.run)(&data, &whole).unwrap(),
                expected,
                "{}",
                call.name
            );
        }
    }
}
