//! Percentiles of buckets of every length class, of values that make the search hard.

use gridstride::time_series::{Nan, TimeBuckets};
use ndarray::Array1;

use super::{Number, check_one, percentiles, timestamps_of};
use test_support::{Random, devices, is_slow};

/// The granularity of all buckets here.
const GRANULARITY: i64 = 1 << 40;

/// Lengths around the bounds of the kernels' classes: of sorting networks, of registers of a warp,
/// of a block, of tiles, and of several blocks.
const LENGTHS: [usize; 27] = [
    1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2047, 2048,
    2049, 5000, 32_767, 32_768, 32_769,
];

fn check<T: Number>(lengths: &[usize], mut value: impl FnMut(&mut Random, usize) -> f64) {
    let timestamps = timestamps_of(lengths, GRANULARITY);
    let mut random = Random(1);
    let values: Array1<T> = (0..timestamps.len())
        .map(|index| T::of(value(&mut random, index)))
        .collect();
    let aggregation = TimeBuckets::every(GRANULARITY).methods(&percentiles());
    for device in devices() {
        for nan in [Nan::Skip, Nan::Propagate] {
            check_one(&device, &aggregation.clone().nan(nan), &timestamps, &values);
        }
    }
}

fn uniform(random: &mut Random) -> f64 {
    random.within(-(1 << 30), 1 << 30) as f64 / 7.0
}

fn lengths_around_every_bound<T: Number>() {
    check::<T>(&LENGTHS, |random, _| uniform(random));
}

/// Warps whose lanes have buckets of different lengths.
fn mixed_lengths<T: Number>() {
    let mut random = Random(3);
    let lengths: Vec<usize> = (0..300)
        .map(|index| match index % 5 {
            0 => random.within(33, 300) as usize,
            _ => random.within(1, 33) as usize,
        })
        .collect();
    check::<T>(&lengths, |random, _| uniform(random));
}

/// Ranges with many equal keys, which no histogram splits.
fn few_different_values<T: Number>() {
    check::<T>(&LENGTHS, |random, _| random.within(0, 3) as f64);
    check::<T>(&LENGTHS, |_, _| -0.5);
    // Two neighbouring numbers, and the signs of zero.
    check::<T>(&LENGTHS, |random, _| {
        1.0 + f64::EPSILON * random.within(0, 2) as f64
    });
    check::<T>(&LENGTHS, |random, _| {
        [0.0, -0.0][random.within(0, 2) as usize]
    });
}

/// Numbers that share their highest bits with one other number at a time: each step of the search
/// leaves nearly all of them.
fn nested_ranges<T: Number>() {
    check::<T>(&[40, 200, 900, 2000, 40_000], |_, index| {
        f64::from_bits((1 << 62) | (1 << (index % 50)))
    });
    check::<T>(&[40, 200, 900, 2000, 40_000], |random, index| {
        let magnitude = f64::powi(2.0, (index % 250) as i32 - 125);
        magnitude * random.within(-1, 2) as f64
    });
}

fn missing_and_infinite_values<T: Number>() {
    check::<T>(&LENGTHS, |random, _| match random.within(0, 4) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        _ => uniform(random),
    });
    check::<T>(&LENGTHS, |_, _| f64::NAN);
    // One number in each bucket.
    check::<T>(&[2, 33, 100, 3000, 33_000], |_, index| {
        let is_first = [0, 2, 35, 135, 3135].contains(&index);
        if is_first { 3.0 } else { f64::NAN }
    });
}

/// Several buckets of several blocks, short ones among them, so that tiles begin at any point.
fn huge_buckets<T: Number>() {
    let lengths = [3, 70_001, 50, 40_000, 1, 2500, 33_333];
    if devices().iter().any(is_slow) {
        return check::<T>(&lengths[2..], |random, _| uniform(random));
    }
    check::<T>(&lengths, |random, _| uniform(random));
}

test_support::in_every_type! { of_f32 f32, of_f64 f64: {
    lengths_around_every_bound
    mixed_lengths
    few_different_values
    nested_ranges
    missing_and_infinite_values
    huge_buckets
} }
