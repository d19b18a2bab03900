//! Box overlap: the same pairs as the reference, on every device.

mod calls;
mod device;
mod devices;
mod page_locked;
mod properties;

use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, Coordinate, Overlaps, reference};
use ndarray::{Array2, ArrayView2};

use test_support::boxes::*;
use test_support::{Random, is_slow};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Auto, Algorithm::BruteForce, Algorithm::Indexed];

/// The algorithms to try on a device: where that is slow, for more boxes than one block of threads
/// searches among, the two that `Auto` chooses from.
fn algorithms(device: &Device, boxes: usize) -> &'static [Algorithm] {
    let leaves_out_auto = is_slow(device) && boxes > 1024;
    &ALGORITHMS[usize::from(leaves_out_auto)..]
}

/// Coordinates to test.
trait Number: Coordinate {
    /// The same number, which is exact: whole ones below 2²⁴ in magnitude are in all types.
    fn from_whole(whole: i64) -> Self;

    /// Numbers that are hard to distinguish or to convert, in ascending order. Neighbours may be
    /// equal.
    fn hard() -> Vec<Self>;
}

macro_rules! float {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn from_whole(whole: i64) -> $type {
                whole as $type
            }

            fn hard() -> Vec<$type> {
                let (max, tiny, normal) = ($type::MAX, $type::from_bits(1), $type::MIN_POSITIVE);
                let positive = [
                    0.0, tiny, 2.0 * tiny, 3.0 * tiny, normal - tiny, normal, normal + tiny,
                    1.0, 1.0 + $type::EPSILON, 1.0 + 2.0 * $type::EPSILON,
                    // Those between which i32 ends.
                    2147483520.0, 2147483648.0,
                    max / 2.0, max * (1.0 - $type::EPSILON), max, $type::INFINITY,
                ];
                let negative = positive.iter().rev().map(|number| -number);
                negative.chain(positive).collect()
            }
        }
    )*};
}
float! { f32 f64 }

impl Number for i32 {
    fn from_whole(whole: i64) -> i32 {
        whole.try_into().unwrap()
    }

    fn hard() -> Vec<i32> {
        // Neighbours beyond 2²⁴ are one number in f32.
        let places = [
            i32::MIN,
            -(1 << 30),
            -(1 << 24),
            0,
            1 << 24,
            1 << 30,
            i32::MAX,
        ];
        let around = |place: i32| (-2..=2).filter_map(move |step| place.checked_add(step));
        places.into_iter().flat_map(around).collect()
    }
}

fn numbers<T: Number>(whole: &Array2<i64>) -> Array2<T> {
    whole.mapv(T::from_whole)
}

/// The pair of sets of the example: welds, and the segments of pipes between them.
fn pipes(count: usize, seed: u64) -> [Array2<i64>; 2] {
    let mut random = Random(seed);
    let (mut starts, mut segments) = (Vec::new(), Vec::new());
    let mut start = [0; 3];
    for i in 0..count {
        if i % 20 == 0 {
            let extents = [40_000, 40_000, 10_000];
            start = extents.map(|extent| random.within(0, extent));
        }
        let axis = random.within(0, 3) as usize;
        let mut end = start;
        end[axis] += random.within(1000, 9001);
        let (mut min, mut max) = (start.map(|x| x - 75), end.map(|x| x + 75));
        (min[axis], max[axis]) = (start[axis], end[axis]);
        starts.push(start);
        segments.push((min, max));
        start = end;
    }
    let weld = |i: usize| (starts[i].map(|x| x - 80), starts[i].map(|x| x + 80));
    [set(count, weld), set(count, |i| segments[i])]
}

/// Compares the pairs of all [`algorithms`] with `expected`.
#[track_caller]
fn check<T: Number>(
    device: &Device,
    set1: ArrayView2<T>,
    set2: ArrayView2<T>,
    expected: &Overlaps,
    what: &str,
) {
    for &algorithm in algorithms(device, set1.nrows().max(set2.nrows())) {
        let search = BoxOverlap::new().algorithm(algorithm);
        let found = search.overlaps(device, set1, set2).unwrap();
        let what = format!("{what}, {algorithm:?} on {device}");
        assert_same::<T>(&found, expected, &what);
    }
}

/// Compares with the reference on one device, and returns the number of pairs.
#[track_caller]
fn check_on<T: Number>(device: &Device, set1: &Array2<T>, set2: &Array2<T>, what: &str) -> usize {
    let expected = reference::overlaps(set1.view(), set2.view()).unwrap();
    check(device, set1.view(), set2.view(), &expected, what);
    expected.pair_count()
}

/// As [`check_on`], for the pairs of one set.
#[track_caller]
fn check_self<T: Number>(device: &Device, set: &Array2<T>, what: &str) {
    let expected = reference::self_overlaps(set.view()).unwrap();
    for &algorithm in algorithms(device, set.nrows()) {
        let search = BoxOverlap::new().algorithm(algorithm);
        let found = search.self_overlaps(device, set.view()).unwrap();
        let what = format!("{what} with itself, {algorithm:?} on {device}");
        assert_same::<T>(&found, &expected, &what);
    }
}

/// Compares row by row, so that a failure names the row.
#[track_caller]
fn assert_same<T: Number>(found: &Overlaps, expected: &Overlaps, what: &str) {
    let (name, rows) = (T::NAME, expected.len());
    assert_eq!(found.len(), rows, "{what}, {name}");
    for i in 0..rows {
        let (found, expected) = (found.row(i), expected.row(i));
        assert_eq!(found, expected, "row {i} of {rows}, {what}, {name}");
    }
    assert_eq!(found, expected, "{what}, {name}");
}
