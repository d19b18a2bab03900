//! Properties of distances of whole numbers, on every device. Squared distances are exact.

use gridstride::distances::{Component, Distances, Metric, Windows};
use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::*;

use test_support::cases;
use test_support::{devices, several};

/// Rows of whole numbers from -7 to 7.
fn rows(count: usize, dim: usize) -> impl Strategy<Value = Array2<i64>> {
    vec(-7i64..8, count * dim)
        .prop_map(move |numbers| Array2::from_shape_vec((count, dim), numbers).unwrap())
}

prop_compose! {
    fn case()(queries in 0..40usize, database in 1..150usize, dim in 0..40usize)(
        a in rows(queries, dim),
        b in rows(database, dim),
        k in 1..=database.min(20),
        cuts in vec(any::<prop::sample::Index>(), 0..5),
    ) -> (Array2<i64>, Array2<i64>, usize, Vec<usize>) {
        // Sequences of windows, some of them empty.
        let count = b.nrows();
        let mut offsets: Vec<usize> = cuts.iter().map(|cut| cut.index(count + 1)).collect();
        offsets.extend([0, count]);
        offsets.sort_unstable();
        (a, b, k, offsets)
    }
}

fn squared(a: ndarray::ArrayView1<i64>, b: ndarray::ArrayView1<i64>) -> i64 {
    a.iter().zip(b).map(|(a, b)| (a - b).pow(2)).sum()
}

fn agrees<T: Component>(
    (a, b, k, offsets): &(Array2<i64>, Array2<i64>, usize, Vec<usize>),
    count: usize,
) {
    let [rows_a, rows_b] = [a, b].map(|rows| rows.mapv(|number| T::from_f64(number as f64)));
    let with = Distances::new().metric(Metric::SquaredL2);
    let all = Array2::from_shape_fn((a.nrows(), b.nrows()), |(i, j)| squared(a.row(i), b.row(j)));
    for device in devices() {
        let set = several(&device, count);
        let found = with.distances(&set, rows_a.view(), rows_b.view()).unwrap();
        assert_eq!(found.mapv(|distance| distance as i64), all, "{set:?}");
        let found = with
            .nearest(&set, rows_a.view(), rows_b.view(), *k)
            .unwrap();
        for query in 0..a.nrows() {
            let distances = all.row(query).into_iter().copied().zip(0u64..);
            let mut nearest: Vec<(i64, u64)> = distances.collect();
            nearest.sort_unstable();
            let indices = found.indices.row(query).into_iter().copied();
            let found = found
                .distances
                .row(query)
                .into_iter()
                .map(|&distance| distance as i64);
            let found: Vec<(i64, u64)> = found.zip(indices).collect();
            assert_eq!(found, nearest[..*k], "{set:?}");
        }
        let windows = Windows::new(rows_b.view(), offsets).unwrap();
        let found = with.slide_distances(&set, windows, windows).unwrap();
        for ((i, j), &found) in found.indexed_iter() {
            let ranges = [i, j].map(|index| offsets[index]..offsets[index + 1]);
            let [first, second] = ranges.clone();
            let pairs = first.zip(second).map(|(v, w)| squared(b.row(v), b.row(w)));
            match ranges.iter().any(|range| range.is_empty()) {
                true => assert!(found.is_nan(), "{set:?}"),
                false => assert_eq!(found as i64, pairs.sum::<i64>(), "{set:?}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(24, 4))]

    #[test]
    fn distances_of_whole_numbers_are_exact(case in case(), count in 1..4usize) {
        agrees::<f32>(&case, count);
        agrees::<f64>(&case, count);
    }
}
