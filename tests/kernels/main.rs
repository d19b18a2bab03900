//! The kernels, called as a user calls them, on every available device.

mod box_overlap;
mod calls;
mod distances;
mod edit_distance;
mod exact;
mod matmul;
mod primitives;
mod tensor_sketch;
mod time_series;
mod traits;

use proptest::prelude::ProptestConfig;
use test_support as common;

/// Declares tests that call generic functions with each type.
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

/// Declares tests that each consist of one call.
macro_rules! tests {
    ($($test:ident => $call:expr;)*) => {
        $(#[test] fn $test() { $call })*
    };
}
use tests;

/// Configures properties with `usual` cases, or `small` cases in a short run.
fn cases(usual: u32, small: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if common::small() { small } else { usual },
        // Failures are printed with their input; files beside the tests would be litter.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
