//! The rows that are found, whatever the sizes and numbers.

use gridstride::distances::Metric::{L2, SquaredL2};
use gridstride::distances::{nearest, reference};
use ndarray::{Array2, array, s};

use super::{Number, check, rows, sorted, uneven, with};
use test_support::in_every_type;
use test_support::{Random, devices, gamma, small};

fn sizes_around_tiles<T: Number>() {
    for device in devices() {
        let sizes = [
            (1, 1),
            (1, 63),
            (2, 64),
            (1, 65),
            (3, 127),
            (2, 128),
            (3, 129),
            (127, 3),
            (128, 65),
            (129, 129),
        ];
        for (n, m) in sizes {
            for k in [1, m] {
                let (queries, database) = (rows::<T>(n, 3, 1), rows::<T>(m, 3, 2));
                check(&device, SquaredL2, queries.view(), database.view(), k);
            }
        }
    }
}

fn lists_are_shortened<T: Number>() {
    for device in devices() {
        let database = uneven::<T>(if small() { 700 } else { 3000 }, 5, 3);
        let queries = uneven::<T>(3, 5, 4);
        for k in [1, 10, 300] {
            for metric in [L2, SquaredL2] {
                check(&device, metric, queries.view(), database.view(), k);
            }
        }
        // The nearest come last, so that all candidates pass.
        let order: Vec<f32> = (0..2000).rev().map(|i| i as f32).collect();
        let farther = Array2::from_shape_fn((2000, 1), |(i, _)| T::from(order[i]));
        let zero = Array2::from_elem((2, 1), T::from(0.0));
        check(&device, L2, zero.view(), farther.view(), 7);
    }
}

/// A list of the most rows has little room beyond them, and is sorted again and again.
fn the_most_rows<T: Number>() {
    let count = if small() { 2500 } else { 6000 };
    let farthest_first: Vec<usize> = (0..count).rev().collect();
    let (mut shuffled, mut random) = (farthest_first.clone(), Random(18));
    for i in (1..count).rev() {
        shuffled.swap(i, random.within(0, i as i64 + 1) as usize);
    }
    let zero = Array2::from_elem((1, 1), T::from(0.0));
    for device in devices() {
        for order in [&farthest_first, &shuffled] {
            let database = Array2::from_shape_fn((count, 1), |(i, _)| T::from(order[i] as f32));
            check(&device, L2, zero.view(), database.view(), 1024);
        }
    }
}

fn equal_rows_come_by_index<T: Number>() {
    for device in devices() {
        let database = Array2::from_elem((1300, 2), T::from(1.5));
        let queries = Array2::from_elem((2, 2), T::from(1.0));
        // The sum of squares is exact, and the root is rounded once, to `f32` or `f64`.
        let (expected, bound) = (0.5f64.sqrt(), gamma(1, 2f64.powi(-24)) * 0.5f64.sqrt());
        let found = nearest(&device, queries.view(), database.view(), 5).unwrap();
        for query in 0..2 {
            assert_eq!(found.indices.row(query), array![0, 1, 2, 3, 4]);
            let distances = found.distances.row(query);
            assert!(
                distances
                    .iter()
                    .all(|&distance| (distance - expected).abs() <= bound)
            );
        }
        check(&device, L2, queries.view(), database.view(), 600);
        // Rows that are queries too, each of them twice.
        let some = rows::<T>(40, 3, 5);
        let twice = ndarray::concatenate![ndarray::Axis(0), some, some];
        check(&device, L2, some.view(), twice.view(), 9);
        let found = nearest(&device, some.view(), twice.view(), 1).unwrap();
        assert!(found.distances.iter().all(|&distance| distance == 0.0));
    }
}

/// Roots of different sums may be equal.
fn ties_of_roots<T: Number>() {
    let step = |i: usize| T::from((1 << 23) as f32 + i as f32);
    let database = Array2::from_shape_fn((900, 2), |(i, j)| {
        step(if j == 0 { i * 7 % 900 } else { 3 })
    });
    let queries = Array2::from_elem((1, 2), T::from(0.0));
    for device in devices() {
        for k in [1, 50, 900] {
            check(&device, L2, queries.view(), database.view(), k);
        }
    }
}

fn lengths_of_rows<T: Number>() {
    for device in devices() {
        for dim in [0, 1, 4, 7, 8, 9, 17] {
            let (queries, database) = (uneven::<T>(4, dim, 6), uneven::<T>(300, dim, 7));
            check(&device, L2, queries.view(), database.view(), 20);
        }
    }
}

fn nothing_to_find<T: Number>() {
    let (some, none) = (rows::<T>(3, 2, 8), rows::<T>(0, 2, 9));
    for device in devices() {
        for (queries, database, k) in [
            (&none, &some, 2),
            (&some, &none, 0),
            (&some, &some, 0),
            (&none, &none, 0),
        ] {
            check(&device, L2, queries.view(), database.view(), k);
        }
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    sizes_around_tiles
    lists_are_shortened
    the_most_rows
    equal_rows_come_by_index
    ties_of_roots
    lengths_of_rows
    nothing_to_find
} }

#[test]
fn as_the_reference_finds() {
    // Whole numbers, whose squared distances are exact everywhere.
    let (queries, database) = (rows::<f32>(9, 6, 13), rows::<f32>(500, 6, 14));
    let matrix = reference::distances(queries.view(), database.view(), SquaredL2);
    for device in devices() {
        let found = with(SquaredL2).nearest(&device, queries.view(), database.view(), 30);
        assert_eq!(found.unwrap(), sorted(&matrix, 30));
    }
}

#[test]
fn the_whole_range_of_numbers() {
    let mut database = Array2::from_shape_fn((400, 1), |(i, _)| f64::from_bits(i as u64 % 97));
    database[[7, 0]] = f64::MAX / 4.0;
    database[[8, 0]] = f64::MIN / 4.0;
    let queries = array![[0.0], [f64::from_bits(5)], [f64::MAX / 4.0]];
    let singles = array![[f32::MAX], [f32::MIN], [f32::from_bits(1)], [0.0], [1e-30]];
    for device in devices() {
        for metric in [L2, SquaredL2] {
            for k in [1, 5, 400] {
                check(&device, metric, queries.view(), database.view(), k);
                // Without the largest: subnormal distances.
                check(
                    &device,
                    metric,
                    queries.slice(s![..2, ..]),
                    database.slice(s![9.., ..]),
                    k.min(391),
                );
            }
            check(&device, metric, singles.view(), singles.view(), 5);
        }
    }
}

/// Any sizes and values, against the sorted matrix.
#[test]
fn properties() {
    let mut random = Random(17);
    for _ in 0..if small() { 5 } else { 40 } {
        let size = |random: &mut Random, most| random.within(1, most) as usize;
        let (n, m, dim) = (
            size(&mut random, 12),
            size(&mut random, 900),
            size(&mut random, 12),
        );
        let k = random.within(0, m as i64 + 1) as usize;
        let seed = random.bits();
        let (queries, database) = match random.within(0, 2) {
            0 => (rows::<f32>(n, dim, seed), rows::<f32>(m, dim, seed + 1)),
            _ => (uneven::<f32>(n, dim, seed), uneven::<f32>(m, dim, seed + 1)),
        };
        for device in devices() {
            check(&device, L2, queries.view(), database.view(), k);
        }
    }
}
