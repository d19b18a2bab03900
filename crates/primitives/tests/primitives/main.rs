//! Prefix sums and radix sort, on every device, against the standard library's.

mod properties;

use std::ops::Range;

use gridstride::primitives::{exclusive_sums, exclusive_sums_into, sort_keys, sort_pairs};
use gridstride::{Device, Error};

use test_support::{Random, assert_error, cuda, devices, fails_with};

/// Sizes around warps, blocks, and the kernels' tiles of 1024, 2048 and 3072 elements.
const SIZES: [usize; 18] = [
    0, 1, 31, 32, 33, 255, 256, 257, 1023, 1025, 2047, 2048, 2049, 3071, 3072, 3073, 6145, 10_000,
];

/// More elements than blocks of prefix sums take at a time, and more tiles of a sort than a GPU
/// runs together.
const MANY: usize = 2 * 1024 * 2048 + 4321;

fn random(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut random = Random(seed);
    let bits = move || {
        // The higher bits twice.
        let state = random.state();
        state >> 32 | state & !0xffff_ffff
    };
    std::iter::repeat_with(bits).take(count)
}

fn check_sums(device: &Device, values: &[u32]) {
    let buffer = device.buffer_from(values).unwrap();
    let sums = exclusive_sums(&buffer).unwrap().to_vec().unwrap();
    let mut expected = 0;
    assert_eq!(sums.len(), values.len() + 1);
    let mut into = device.buffer_from(&vec![u64::MAX; sums.len()]).unwrap();
    exclusive_sums_into(&buffer, &mut into).unwrap();
    assert_eq!(into.to_vec().unwrap(), sums);
    for (i, &sum) in sums.iter().enumerate() {
        assert_eq!(sum, expected, "{device}, {i} of {}", values.len());
        expected += u64::from(values.get(i).copied().unwrap_or(0));
    }
}

#[test]
fn sums_are_those_of_all_below() {
    for device in devices() {
        for size in SIZES {
            let values: Vec<u32> = random(size, 1).map(|value| value as u32).collect();
            check_sums(&device, &values);
            check_sums(&device, &vec![u32::MAX; size]);
        }
    }
}

#[test]
fn sums_of_many() {
    let values: Vec<u32> = random(MANY, 2).map(|value| value as u32).collect();
    for device in cuda().into_iter().chain([Device::cpu()]) {
        check_sums(&device, &values);
    }
}

fn check_sort(device: &Device, keys: &[u64], bits: std::ops::Range<u32>) {
    let mask = bits.clone().fold(0u64, |mask, bit| mask | 1 << bit);
    let values: Vec<u32> = (0..keys.len() as u32).collect();
    let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort_by_key(|(key, _)| key & mask);

    let buffer = device.buffer_from(keys).unwrap();
    let sorted = sort_keys(buffer, bits.clone()).unwrap().to_vec().unwrap();
    let context = || format!("{device}, {} keys, {bits:?}", keys.len());
    let is_sorted = sorted.iter().eq(expected.iter().map(|(key, _)| key));
    assert!(is_sorted, "{}", context());

    let keys = device.buffer_from(keys).unwrap();
    let values = device.buffer_from(&values).unwrap();
    let (keys, values) = sort_pairs(keys, values, bits.clone()).unwrap();
    let keys = keys.to_vec().unwrap().into_iter();
    let sorted = keys.zip(values.to_vec().unwrap());
    assert!(sorted.eq(expected.iter().copied()), "{}", context());
}

#[test]
fn keys_are_sorted_and_equal_ones_keep_their_order() {
    for device in devices() {
        for size in SIZES {
            let keys: Vec<u64> = random(size, 3).collect();
            check_sort(&device, &keys, 0..16);
            let few: Vec<u64> = keys.iter().map(|key| key % 3).collect();
            check_sort(&device, &few, 0..8);
        }
        let keys: Vec<u64> = random(5000, 4).collect();
        for bits in [0..64, 0..0, 3..3, 5..6, 60..64, 13..34] {
            check_sort(&device, &keys, bits);
        }
        check_sort(&device, &[u64::MAX; 10_000], 0..64);
        check_sort(&device, &[0; 3000], 0..8);
    }
}

#[test]
fn ordered_keys_are_sorted() {
    let ascending: Vec<u64> = (0..10_000).map(|i| i * i).collect();
    let descending: Vec<u64> = ascending.iter().rev().copied().collect();
    // Runs of equal keys, across tiles.
    let runs: Vec<u64> = (0..10_000).map(|i| i / 1500 % 4).collect();
    for device in devices() {
        for keys in [&ascending, &descending, &runs] {
            check_sort(&device, keys, 0..27);
            check_sort(&device, keys, 1..9);
        }
    }
}

#[test]
fn any_keys_are_sorted_by_any_bits() {
    for seed in 0..8 {
        let mut random = random(4, 100 + seed);
        let mut below = |bound: u64| (random.next().unwrap() >> 20) % bound;
        let (count, start, width) = (below(12_000) as usize, below(60) as u32, below(16) as u32);
        let spread = below(64);
        let keys: Vec<u64> = self::random(count, seed).map(|key| key >> spread).collect();
        for device in devices() {
            check_sort(&device, &keys, start..(start + width).min(64));
        }
    }
}

#[test]
fn many_keys() {
    let keys: Vec<u64> = random(MANY, 5).collect();
    for device in cuda().into_iter().chain([Device::cpu()]) {
        check_sort(&device, &keys, 0..64);
        check_sort(&device, &keys, 20..31);
    }
}

#[test]
fn sums_need_a_buffer_of_their_length_and_device() {
    for device in devices() {
        let values = device.buffer_from(&[1u32, 2]).unwrap();
        let mut short = device.zeros::<u64>(2).unwrap();
        fails_with(
            exclusive_sums_into(&values, &mut short),
            "exclusive_sums_into: the sums of 2 values are 3, but sums has 2",
        );
        let mut elsewhere = Device::simulator().unwrap().zeros::<u64>(3).unwrap();
        let result = exclusive_sums_into(&values, &mut elsewhere);
        assert_error!(result, Error::DifferentDevices { .. });
    }
}

#[test]
fn what_cannot_be_sorted_is_refused() {
    for device in devices() {
        let keys = || device.buffer_from(&[1u64, 2]).unwrap();
        for (bits, message) in [
            (0..65, "0..65 ends beyond the 64 bits of a key"),
            (65..65, "65..65 ends beyond the 64 bits of a key"),
            (
                Range { start: 5, end: 3 },
                "5..3 is reversed: it must not end below its start",
            ),
        ] {
            let result = sort_keys(keys(), bits);
            assert_error!(&result, Error::InvalidInput { .. });
            fails_with(result, format!("sort_keys: the range of bits {message}"));
        }
        let values = device.buffer_from(&[1u32]).unwrap();
        fails_with(
            sort_pairs(keys(), values, 0..8),
            "sort_pairs: the number of keys is 2, the number of values 1: they must be equal",
        );
        let elsewhere = Device::simulator().unwrap();
        let values = elsewhere.buffer_from(&[1u32, 2]).unwrap();
        let result = sort_pairs(keys(), values, 0..8);
        assert_error!(result, Error::DifferentDevices { .. });
    }
}
