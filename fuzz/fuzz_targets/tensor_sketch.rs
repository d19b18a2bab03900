//! Tensor sketches on the CPU, against the reference.

#![no_main]

use arbitrary::Unstructured;
use gridstride_fuzz::{calls, cpu};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Behind the end of the data, numbers are 0.
    calls::tensor_sketch(cpu(), &mut Unstructured::new(data)).expect("no choice among nothing");
});
