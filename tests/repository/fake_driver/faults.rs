//! Every call of the driver fails in turn, once or from then on.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fake_driver::{clear, fail, failed, forget, left, over_fake_driver};
use gridstride::{Device, Error, Result};

use crate::common::calls::{CALLS, Call, Data};

/// Runs `run` again and again, with each call of the driver failing in turn with `code`: it alone,
/// or with all later ones. Expects no panic, and words for each failure.
fn fail_each<R>(what: &str, code: c_int, alone: bool, run: impl Fn() -> Result<R>) {
    for number in 0.. {
        clear();
        fail(number, if alone { number + 1 } else { u64::MAX }, code);
        let result = catch_unwind(AssertUnwindSafe(&run));
        let Some(name) = failed() else {
            assert!(number > 0, "{what} calls no driver");
            break;
        };
        let what = format!("{what}, code {code} of call {number}, {name}");
        // A failure to free, or of what only makes later calls faster, is no error.
        if let Err(error) = result.unwrap_or_else(|_| panic!("{what}")) {
            check(&error, code, &what);
        }
    }
    fail(0, 0, 0);
    clear();
    run().unwrap_or_else(|error| panic!("{what} afterwards: {error}"));
}

/// Fails if something was not freed, unless calls failed that would have freed it.
fn assert_all_freed(what: &str, alone: bool) {
    if alone {
        assert_eq!(left(), None, "{what}");
    }
    forget();
}

/// Codes of the driver, and whether a call fails alone: the last two end the context.
const CODES: [(c_int, bool); 4] = [
    (OUT_OF_MEMORY, true),
    (UNKNOWN, true),
    (ILLEGAL_ADDRESS, false),
    (DEINITIALIZED, false),
];
const OUT_OF_MEMORY: c_int = 2;
const UNKNOWN: c_int = 999;
const ILLEGAL_ADDRESS: c_int = 700;
const DEINITIALIZED: c_int = 4;

/// The error has the driver's code and names the device, or what could not be allocated.
fn check(error: &Error, code: c_int, what: &str) {
    let text = error.to_string();
    let is_right = match error {
        Error::Allocation { .. } => code == OUT_OF_MEMORY && text.contains("bytes"),
        Error::Driver { .. } | Error::Unavailable { .. } | Error::Load(_) => {
            text.contains("cuda:0") && text.contains(&format!("({code})"))
        }
        _ => false,
    };
    assert!(is_right, "{what}: {text}");
}

/// Calls that learn from their kernels which row is no box. Kernels do nothing here, so that it seems
/// to be row 0.
const NOT_PLAYED: [&str; 3] = [
    "overlaps (brute force)",
    "overlaps (indexed)",
    "overlaps_device (indexed)",
];

#[test]
fn every_call_of_the_driver_may_fail() {
    over_fake_driver(
        every_call_of_the_driver_may_fail,
        |_| {},
        || {
            // Kernels that only write results leave what was there: no errors and no pairs.
            // SAFETY: this process runs this test alone, and no other thread reads the environment.
            unsafe { std::env::set_var("FAKE_DRIVER_FILL", "0") };
            drop(Device::cuda(0).unwrap());
            let data = Data::new(40);
            let played = |call: &&Call| !NOT_PLAYED.contains(&call.name);
            for call in CALLS.iter().filter(played) {
                let name = call.name;
                for (code, alone) in CODES {
                    let device = Device::cuda(0).unwrap();
                    let run = || (call.run)(&data, std::slice::from_ref(&device));
                    run().unwrap();
                    fail_each(name, code, alone, run);
                    drop(device);
                    assert_all_freed(name, alone);
                }
            }
        },
    );
}

/// Also while kernels are loaded, and while the GPU is closed.
#[test]
fn every_call_of_the_driver_may_fail_while_a_gpu_is_opened() {
    let test = every_call_of_the_driver_may_fail_while_a_gpu_is_opened;
    over_fake_driver(
        test,
        |_| {},
        || {
            // SAFETY: this process runs this test alone, and no other thread reads the environment.
            unsafe { std::env::set_var("FAKE_DRIVER_FILL", "0") };
            drop(Device::cuda(0).unwrap());
            let data = Data::new(40);
            for name in ["add", "exclusive_sums", "distances"] {
                let call = CALLS.iter().find(|call| call.name == name).unwrap();
                for (code, alone) in CODES {
                    fail_each(name, code, alone, || {
                        let result = (call.run)(&data, &[Device::cuda(0)?]);
                        // Closed by now.
                        assert_all_freed(name, alone);
                        result
                    });
                }
            }
        },
    );
}
