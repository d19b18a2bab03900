//! The kernels, called as a user does, on every device that is here.

mod box_overlap;
mod calls;
#[path = "../common/mod.rs"]
mod common;
mod distances;
mod matmul;
mod primitives;
mod tensor_sketch;
mod time_series;

use proptest::prelude::ProptestConfig;

/// Tests of generic functions with each type.
macro_rules! in_every_type {
    (@ $module:ident $type:ty {$($test:ident)*}) => {
        mod $module {
            $(#[test] fn $test() { super::$test::<$type>() })*
        }
    };
    ($($module:ident $type:ty),*: $tests:tt) => {
        $(crate::in_every_type! { @ $module $type $tests })*
    };
}
use in_every_type;

/// Tests that each are a call.
macro_rules! tests {
    ($($test:ident => $call:expr;)*) => {
        $(#[test] fn $test() { $call })*
    };
}
use tests;

/// Settings of properties with `usual` cases, or `small` in a short run.
fn cases(usual: u32, small: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if common::small() { small } else { usual },
        // Failures are printed with their input; files beside the tests would be litter.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
