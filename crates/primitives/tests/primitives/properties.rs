//! Properties of prefix sums and sorts, of any values and any bits, on every device.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{check_sort, check_sums};
use test_support::cases;
use test_support::devices;

/// Keys of all bits, or few different ones.
fn keys() -> impl Strategy<Value = Vec<u64>> {
    let few = prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 63), 0..10u64];
    prop_oneof![vec(any::<u64>(), 0..5000), vec(few, 0..5000)]
}

proptest! {
    #![proptest_config(cases(24, 4))]

    #[test]
    fn sums_are_exact(values in vec(prop_oneof![any::<u32>(), Just(u32::MAX), Just(0)], 0..5000)) {
        for device in devices() {
            check_sums(&device, &values);
        }
    }

    #[test]
    fn sorts_are_stable(keys in keys(), start in 0..64u32, width in 0..64u32) {
        for device in devices() {
            check_sort(&device, &keys, start..(start + width).min(64));
        }
    }
}
