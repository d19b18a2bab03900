//! Properties of box overlap, on random boxes that often touch, on every device with both
//! algorithms.

use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, reference};
use ndarray::{Array2, Axis, concatenate, s};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Number, numbers};
use test_support::cases;
use test_support::devices;

/// Up to `most` boxes with `axes` axes: corners of a small grid, including points and thin boxes.
fn boxes(axes: usize, most: usize) -> impl Strategy<Value = Array2<i64>> {
    let interval = (
        -6..=6i64,
        prop_oneof![2 => Just(0), 3 => 1..=2i64, 1 => 0..=12i64],
    );
    let row = vec(interval, axes).prop_map(|intervals| {
        let minima = intervals.iter().map(|(min, _)| *min);
        let maxima = intervals.iter().map(|(min, length)| min + length);
        minima.chain(maxima).collect::<Vec<_>>()
    });
    vec(row, 0..=most).prop_map(move |rows| {
        let shape = (rows.len(), 2 * axes);
        Array2::from_shape_vec(shape, rows.concat()).unwrap()
    })
}

/// Two sets with the same number of axes.
fn two_sets() -> impl Strategy<Value = [Array2<i64>; 2]> {
    (2..=3usize).prop_flat_map(|axes| [boxes(axes, 70), boxes(axes, 70)])
}

fn one_set() -> impl Strategy<Value = Array2<i64>> {
    (2..=3usize).prop_flat_map(|axes| boxes(axes, 70))
}

/// A set with its rows in another order, and which row each was.
fn shuffled(set: &Array2<i64>) -> impl Strategy<Value = (Array2<i64>, Vec<u32>)> + use<> {
    let set = set.clone();
    let order: Vec<_> = (0..set.nrows() as u32).collect();
    Just(order).prop_shuffle().prop_map(move |order| {
        let rows: Vec<_> = order.iter().map(|&row| row as usize).collect();
        (set.select(Axis(0), &rows), order)
    })
}

type Pairs = Vec<[u32; 2]>;

fn searches() -> impl Iterator<Item = (Device, BoxOverlap)> {
    let with = |device: Device| {
        let algorithms = [Algorithm::BruteForce, Algorithm::Indexed];
        algorithms.map(|algorithm| (device.clone(), BoxOverlap::new().algorithm(algorithm)))
    };
    devices().into_iter().flat_map(with)
}

/// The pairs, in order.
fn pairs<T: Number>(
    (device, search): &(Device, BoxOverlap),
    set1: &Array2<i64>,
    set2: &Array2<i64>,
) -> Pairs {
    let (set1, set2) = (numbers::<T>(set1), numbers::<T>(set2));
    let found = search.overlaps(device, set1.view(), set2.view()).unwrap();
    rows(found.pairs().unwrap())
}

fn rows(pairs: Array2<u32>) -> Pairs {
    pairs.outer_iter().map(|pair| [pair[0], pair[1]]).collect()
}

fn sorted(pairs: impl IntoIterator<Item = [u32; 2]>) -> Pairs {
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_unstable();
    pairs
}

proptest! {
    #![proptest_config(cases(16, 4))]

    #[test]
    fn the_pairs_are_those_of_the_reference([set1, set2] in two_sets()) {
        let expected = reference::overlaps(numbers::<f64>(&set1).view(), numbers::<f64>(&set2).view());
        let expected = rows(expected.unwrap().pairs().unwrap());
        for search in searches() {
            prop_assert_eq!(&pairs::<f32>(&search, &set1, &set2), &expected);
            prop_assert_eq!(&pairs::<f64>(&search, &set1, &set2), &expected);
            prop_assert_eq!(&pairs::<i32>(&search, &set1, &set2), &expected);
        }
    }

    #[test]
    fn swapped_sets_have_the_pairs_swapped([set1, set2] in two_sets()) {
        for search in searches() {
            let swapped = pairs::<f32>(&search, &set2, &set1);
            let back = sorted(swapped.into_iter().map(|[j, i]| [i, j]));
            prop_assert_eq!(back, pairs::<f32>(&search, &set1, &set2));
        }
    }

    /// By whole numbers, which leave all coordinates exact.
    #[test]
    fn moving_both_sets_changes_nothing(
        [set1, set2] in two_sets(),
        by in prop_oneof![-100..100i64, (1i64 << 23) - 50..(1i64 << 23), -(1i64 << 23)..50 - (1i64 << 23)],
        axis in 0..3usize,
    ) {
        let moved = |set: &Array2<i64>| {
            let (mut set, axes) = (set.clone(), set.ncols() / 2);
            let mut along = set.slice_mut(s![.., axis % axes..;axes]);
            along += by;
            set
        };
        let both = (moved(&set1), moved(&set2));
        for search in searches() {
            let expected = pairs::<f32>(&search, &set1, &set2);
            prop_assert_eq!(&pairs::<f32>(&search, &both.0, &both.1), &expected);
            prop_assert_eq!(&pairs::<i32>(&search, &both.0, &both.1), &expected);
        }
    }

    /// Mirrored at 0, where −0.0 comes from.
    #[test]
    fn mirrored_sets_have_the_same_pairs([set1, set2] in two_sets()) {
        let mirrored = |set: &Array2<i64>| {
            let (min, max) = set.view().split_at(Axis(1), set.ncols() / 2);
            let mirrored = concatenate![Axis(1), max, min];
            numbers::<f32>(&mirrored).mapv(|number| -number)
        };
        let (mirror1, mirror2) = (mirrored(&set1), mirrored(&set2));
        for (device, search) in searches() {
            let found = search.overlaps(&device, mirror1.view(), mirror2.view()).unwrap();
            let of_one = search.overlaps(&device, mirror1.view(), numbers::<f32>(&set2).view()).unwrap();
            let expected = pairs::<f32>(&(device.clone(), search), &set1, &set2);
            prop_assert_eq!(rows(found.pairs().unwrap()), expected);
            let expected = reference::overlaps(mirror1.view(), numbers::<f32>(&set2).view()).unwrap();
            prop_assert_eq!(of_one, expected);
        }
    }

    #[test]
    fn rows_in_another_order_have_the_same_pairs(
        (set1, set2, (shuffled1, order1), (shuffled2, order2)) in two_sets().prop_flat_map(|[set1, set2]| {
            let shuffled = (shuffled(&set1), shuffled(&set2));
            (Just(set1), Just(set2), shuffled.0, shuffled.1)
        })
    ) {
        for search in searches() {
            let found = pairs::<f64>(&search, &shuffled1, &shuffled2);
            let back = found.into_iter().map(|[i, j]| [order1[i as usize], order2[j as usize]]);
            prop_assert_eq!(sorted(back), pairs::<f64>(&search, &set1, &set2));
        }
    }

    #[test]
    fn the_parts_of_a_set_have_the_pairs_of_the_whole([set1, set2] in two_sets(), part in 0.0..=1.0) {
        let cut = |set: &Array2<i64>| (set.nrows() as f64 * part) as usize;
        let halves = |set: &Array2<i64>| {
            let rows: Vec<_> = (0..set.nrows()).collect();
            let (first, second) = rows.split_at(cut(set));
            (set.select(Axis(0), first), set.select(Axis(0), second))
        };
        let (first, second) = halves(&set2);
        let (upper, lower) = halves(&set1);
        for search in searches() {
            let expected = pairs::<i32>(&search, &set1, &set2);
            let behind = pairs::<i32>(&search, &set1, &second);
            let behind = behind.into_iter().map(|[i, j]| [i, j + cut(&set2) as u32]);
            let before = pairs::<i32>(&search, &set1, &first);
            prop_assert_eq!(&sorted(before.into_iter().chain(behind)), &expected);

            let below = pairs::<i32>(&search, &lower, &set2);
            let below = below.into_iter().map(|[i, j]| [i + cut(&set1) as u32, j]);
            let above = pairs::<i32>(&search, &upper, &set2);
            prop_assert_eq!(above.into_iter().chain(below).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn self_overlaps_are_the_upper_triangle(set in one_set(), budget in 0..100usize) {
        for search in searches() {
            let all = pairs::<f32>(&search, &set, &set);
            // Each box overlaps itself, and pairs go both ways.
            prop_assert!((0..set.nrows() as u32).all(|i| all.binary_search(&[i, i]).is_ok()));
            prop_assert_eq!(&sorted(all.iter().map(|[i, j]| [*j, *i])), &all);
            let above: Vec<_> = all.into_iter().filter(|[i, j]| i < j).collect();
            let (device, search) = search;
            let set = numbers::<f32>(&set);
            let found = search.self_overlaps(&device, set.view()).unwrap();
            prop_assert_eq!(rows(found.pairs().unwrap()), &above[..]);
            let mut sliced = Vec::new();
            for slice in search.self_slices(&device, set.view(), budget).unwrap() {
                let slice = slice.unwrap();
                let first = slice.rows.start as u32;
                sliced.extend(rows(slice.overlaps.pairs().unwrap()).into_iter().map(|[i, j]| [i + first, j]));
            }
            prop_assert_eq!(sliced, above);
        }
    }
}
