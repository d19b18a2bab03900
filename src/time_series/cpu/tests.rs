//! Sorting by counting, which is not seen from outside.

use super::percentiles::{FEW, key, number, sort_few};

#[test]
fn few_keys_are_sorted() {
    let mut state = 1u64;
    for length in 0..=FEW {
        for bound in [2, 5, 1 << 20] {
            let mut keys: Vec<i64> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                    ((state >> 33) % bound) as i64 - bound as i64 / 2
                })
                .collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort_few(&mut keys);
            assert_eq!(keys, expected);
        }
    }
}

#[test]
fn keys_are_in_the_order_of_their_numbers() {
    let numbers = [
        f64::NEG_INFINITY,
        -1.5,
        -f64::MIN_POSITIVE,
        -0.0,
        0.0,
        1e-300,
        2.0,
        f64::INFINITY,
    ];
    assert!(numbers.map(key).is_sorted());
    let back = numbers.map(|of| number(key(of)));
    assert_eq!(back.map(f64::to_bits), numbers.map(f64::to_bits));
}
