//! What is read from PTX: any text is read without a panic.

#![no_main]

use cuda_builder::{PtxSummary, check_memory};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|ptx: &str| {
    let summary = PtxSummary::of(ptx);
    for entry in &summary.entries {
        assert!(summary.barriers.contains_key(entry));
        assert!(ptx.contains(entry));
    }
    // Line ends do not matter.
    assert_eq!(PtxSummary::of(&ptx.replace('\n', "\r\n")), summary);
    let _ = check_memory("package", ptx).map_err(|error| error.to_string());
});
