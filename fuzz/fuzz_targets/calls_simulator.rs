//! All calls in the simulator, against their references.

#![no_main]

use arbitrary::Unstructured;
use gridstride_fuzz::{calls, simulator};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&chosen, data)) = data.split_first() else {
        return;
    };
    let check = calls::ALL[usize::from(chosen) % calls::ALL.len()];
    // Behind the end of the data, numbers are 0.
    check(simulator(), &mut Unstructured::new(data)).expect("no choice among nothing");
});
