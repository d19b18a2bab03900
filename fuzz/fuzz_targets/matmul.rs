//! Products of matrices on the CPU, against the reference.

#![no_main]

use arbitrary::Unstructured;
use gridstride_fuzz::{calls, cpu};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // An error is the end of the data.
    let _ = calls::matmul(cpu(), &mut Unstructured::new(data));
});
